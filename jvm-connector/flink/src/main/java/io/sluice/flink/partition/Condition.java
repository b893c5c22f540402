package io.sluice.flink.partition;

import java.io.Serializable;
import java.util.List;
import java.util.Objects;
import java.util.regex.Pattern;

import javax.annotation.Nullable;

/** A condition on the values of a partition, true, false or (null) unknown as SQL has it. Values that did not parse are null. */
interface Condition extends Serializable {

  @Nullable
  Boolean holds(List<Comparable<?>> values);

  /** How two values are compared. */
  enum Comparison {
    EQUAL,
    NOT_EQUAL,
    LESS,
    LESS_OR_EQUAL,
    GREATER,
    GREATER_OR_EQUAL;

    /** The same with its sides exchanged. */
    Comparison exchanged() {
      switch (this) {
        case LESS:
          return GREATER;
        case LESS_OR_EQUAL:
          return GREATER_OR_EQUAL;
        case GREATER:
          return LESS;
        case GREATER_OR_EQUAL:
          return LESS_OR_EQUAL;
        default:
          return this;
      }
    }

    boolean holds(Comparable<?> left, Comparable<?> right) {
      if (left instanceof Double && right instanceof Double) {
        return holds(((Double) left).doubleValue(), ((Double) right).doubleValue());
      }
      return holds(compare(left, right));
    }

    @SuppressWarnings({"unchecked", "rawtypes"}) // both come from ValueText for one type
    private static int compare(Comparable left, Comparable right) {
      return left.compareTo(right);
    }

    private boolean holds(int order) {
      switch (this) {
        case EQUAL:
          return order == 0;
        case NOT_EQUAL:
          return order != 0;
        case LESS:
          return order < 0;
        case LESS_OR_EQUAL:
          return order <= 0;
        case GREATER:
          return order > 0;
        default:
          return order >= 0;
      }
    }

    /** NaN differs from everything, and zero equals minus zero. */
    private boolean holds(double left, double right) {
      switch (this) {
        case EQUAL:
          return left == right;
        case NOT_EQUAL:
          return left != right;
        case LESS:
          return left < right;
        case LESS_OR_EQUAL:
          return left <= right;
        case GREATER:
          return left > right;
        default:
          return left >= right;
      }
    }
  }

  /** A column against a constant. */
  static Condition compare(int column, Comparison comparison, Comparable<?> constant) {
    Serializable kept = (Serializable) constant;
    return values -> {
      Comparable<?> value = values.get(column);
      return value == null ? null : (Boolean) comparison.holds(value, (Comparable<?>) kept);
    };
  }

  /** A column against another. */
  static Condition compareColumns(int left, Comparison comparison, int right) {
    return values -> {
      Comparable<?> a = values.get(left);
      Comparable<?> b = values.get(right);
      return a == null || b == null ? null : (Boolean) comparison.holds(a, b);
    };
  }

  /** A BOOLEAN column by itself. */
  static Condition column(int column) {
    return values -> (Boolean) values.get(column);
  }

  /** A text against a pattern. */
  static Condition like(int column, Pattern pattern) {
    return values -> {
      Comparable<?> value = values.get(column);
      return value == null ? null : (Boolean) pattern.matcher((String) value).matches();
    };
  }

  /** The same whatever the values. */
  static Condition constant(@Nullable Boolean truth) {
    return values -> truth;
  }

  static Condition not(Condition inner) {
    return values -> {
      Boolean truth = inner.holds(values);
      return truth == null ? null : (Boolean) !truth;
    };
  }

  /** Whether a condition has a certain truth, {@code null} for unknown; never unknown itself. */
  static Condition is(Condition inner, @Nullable Boolean wanted) {
    return values -> Objects.equals(inner.holds(values), wanted);
  }

  /** All of some conditions, or any of them. */
  static Condition join(boolean all, List<Condition> parts) {
    Condition[] kept = parts.toArray(new Condition[0]);
    return values -> {
      Boolean truth = all;
      for (Condition part : kept) {
        Boolean one = part.holds(values);
        if (one == null) {
          truth = null;
        } else if (one != all) {
          return one;
        }
      }
      return truth;
    };
  }
}
