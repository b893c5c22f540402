package io.sluice.flink.catalog;

import java.util.List;
import java.util.Map;

import io.sluice.flink.ConnectorOptions;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.JsonNodeFactory;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.catalog.ResolvedSchema;
import org.apache.flink.table.catalog.TableChange;
import org.apache.flink.table.factories.FactoryUtil;

/** The changes of an ALTER TABLE as the store takes them: options set and taken back, columns added at the end. */
final class TableChanges {
  private TableChanges() {}

  /**
   * Returns the changes as JSON.
   *
   * @param schema all columns and the watermark as they shall be
   * @param stored the custom properties as the store has them
   * @throws UnsupportedOperationException for a change that tables of this catalog cannot make
   */
  static ArrayNode toJson(List<TableChange> changes, ResolvedSchema schema, Map<String, String> stored) {
    ArrayNode json = JsonNodeFactory.instance.arrayNode();
    boolean virtualParts = false;
    for (TableChange change : changes) {
      if (change instanceof TableChange.SetOption) {
        TableChange.SetOption option = (TableChange.SetOption) change;
        ConnectorOptions.checkValues(Map.of(option.getKey(), option.getValue()));
        requireFree(option.getKey());
        set(json, option.getKey(), option.getValue());
      } else if (change instanceof TableChange.ResetOption) {
        String key = ((TableChange.ResetOption) change).getKey();
        requireFree(key);
        reset(json, key);
      } else if (change instanceof TableChange.AddColumn) {
        addColumn(json, (TableChange.AddColumn) change);
      } else if (isWatermark(change)) {
        virtualParts = true;
      } else {
        throw refused(change);
      }
    }
    if (virtualParts) {
      replaceVirtualParts(json, SchemaProperties.of(schema), stored);
    }
    return json;
  }

  private static void requireFree(String key) {
    if (SchemaProperties.owns(key)) {
      throw new ValidationException(String.format("Option '%s' is reserved for the table's schema.", key));
    }
    if (key.equals(FactoryUtil.CONNECTOR.key())) {
      throw new UnsupportedOperationException("Option 'connector' is not supported to alter: this catalog only supports fluss tables.");
    }
  }

  private static boolean isWatermark(TableChange change) {
    return change instanceof TableChange.AddWatermark
        || change instanceof TableChange.ModifyWatermark
        || change instanceof TableChange.DropWatermark;
  }

  private static void addColumn(ArrayNode json, TableChange.AddColumn change) {
    String name = change.getColumn().getName();
    if (!change.getColumn().isPhysical()) {
      throw new UnsupportedOperationException(
          String.format("Unsupported flink table change: column '%s' is computed, and only a physical column can be added.", name));
    }
    if (change.getPosition() != null) {
      throw new UnsupportedOperationException(
          String.format("Only support addColumn column at last: add '%s' without FIRST or AFTER.", name));
    }
    json.addObject().putObject("add_column").set("column", TableDescriptors.columnToJson(change.getColumn()));
  }

  private static void replaceVirtualParts(ArrayNode json, Map<String, String> wanted, Map<String, String> stored) {
    wanted.forEach(
        (key, value) -> {
          if (!value.equals(stored.get(key))) {
            set(json, key, value);
          }
        });
    stored.keySet().stream().filter(key -> SchemaProperties.owns(key) && !wanted.containsKey(key)).forEach(key -> reset(json, key));
  }

  private static void set(ArrayNode json, String key, String value) {
    json.addObject().putObject("set").put("key", key).put("value", value);
  }

  private static void reset(ArrayNode json, String key) {
    json.addObject().putObject("reset").put("key", key);
  }

  private static UnsupportedOperationException refused(TableChange change) {
    if (change instanceof TableChange.DropColumn) {
      return notYet("Dropping", ((TableChange.DropColumn) change).getColumnName());
    }
    if (change instanceof TableChange.ModifyColumn) {
      return notYet(verb((TableChange.ModifyColumn) change), ((TableChange.ModifyColumn) change).getOldColumn().getName());
    }
    return new UnsupportedOperationException(
        String.format(
            "Unsupported flink table change %s: only options, the watermark and new columns can change.",
            change.getClass().getSimpleName()));
  }

  private static String verb(TableChange.ModifyColumn change) {
    if (change instanceof TableChange.ModifyColumnName) {
      return "Renaming";
    }
    if (change instanceof TableChange.ModifyPhysicalColumnType) {
      return "Changing the type of";
    }
    if (change instanceof TableChange.ModifyColumnPosition) {
      return "Moving";
    }
    return change instanceof TableChange.ModifyColumnComment ? "Changing the comment of" : "Changing";
  }

  private static UnsupportedOperationException notYet(String verb, String column) {
    return new UnsupportedOperationException(
        String.format("%s column '%s' is not supported yet: columns can only be added, at the end of the table.", verb, column));
  }
}
