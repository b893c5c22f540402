package io.sluice.flink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** A statement that must fail, and what its user reads then. */
public final class Refusal {
  private Refusal() {}

  /**
   * Checks what the SQL client would show for a statement, which is the innermost cause of the failure.
   *
   * @param type class of that cause
   * @param parts what its message contains
   */
  public static void assertRefused(FlinkSession session, String statement, Class<? extends Throwable> type, String... parts) {
    assertThatThrownBy(() -> session.run(statement))
        .as(statement)
        .extracting(Refusal::innermost)
        .satisfies(
            cause -> {
              assertThat(cause).isInstanceOf(type);
              assertThat(cause.getMessage()).contains(parts);
            });
  }

  private static Throwable innermost(Throwable error) {
    return error.getCause() == null ? error : innermost(error.getCause());
  }
}
