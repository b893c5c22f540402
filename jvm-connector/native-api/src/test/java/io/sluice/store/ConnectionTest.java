package io.sluice.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.util.Map;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Opening, closing and failing: nothing leaks and nothing takes the JVM down. */
class ConnectionTest {
  @TempDir Path temp;

  private Connection open() {
    return Connection.open(Map.of("bootstrap.servers", "embedded:" + temp.resolve("store")));
  }

  private static void assertKind(ThrowingCallable call, ErrorKind kind, String part) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(StoreException.class, e -> assertThat(e.kind()).isEqualTo(kind))
        .hasMessageContaining(part);
  }

  @Test
  void openedAndClosedAThousandTimesLeavesNothing() {
    long handles = Connection.liveHandles();
    open().close();
    long bytes = Connection.nativeBytes();
    for (int i = 0; i < 1000; i++) {
      open().close();
    }
    assertThat(Connection.liveHandles()).isEqualTo(handles);
    assertThat(Connection.nativeBytes()).isLessThan(bytes + (1 << 20));
  }

  @Test
  void useAfterCloseIsAnException() {
    Connection connection = open();
    connection.close();
    connection.close();
    assertKind(() -> connection.admin("list_databases", "{}"), ErrorKind.CLOSED, "closed");
    assertKind(() -> connection.writer("{}"), ErrorKind.CLOSED, "closed");
    assertKind(() -> NativeConnection.admin(12345L << 32 | 7, "list_databases", "{}"), ErrorKind.CLOSED, "closed");
    NativeConnection.close(12345L << 32 | 7);
  }

  @Test
  void errorsAndPanicsBecomeExceptions() {
    for (int i = 0; i < 3; i++) {
      assertKind(() -> NativeConnection.fail(false), ErrorKind.INTERNAL, "asked for");
      assertKind(() -> NativeConnection.fail(true), ErrorKind.INTERNAL, "connection.rs:");
    }
    try (Connection connection = open()) {
      assertThat(connection.admin("list_databases", "{}")).startsWith("[");
    }
  }

  @Test
  void addressesThatCannotBeOpenedAreRefused() {
    assertKind(() -> Connection.open(Map.of()), ErrorKind.INVALID, "bootstrap.servers");
    assertKind(() -> Connection.open(Map.of("bootstrap.servers", "a")), ErrorKind.INVALID, "'a' is not host:port");
    assertThatThrownBy(() -> Connection.open(Map.of("bootstrap.servers", "a")))
        .isInstanceOfSatisfying(StoreException.class, e -> assertThat(e.subject()).isEqualTo(Subject.OPTION));
    // Nobody may listen on this port.
    assertKind(() -> Connection.open(Map.of("bootstrap.servers", "127.0.0.1:1")), ErrorKind.IO, "cannot connect to 127.0.0.1:1");
    long handles = Connection.liveHandles();
    assertThat(handles).isEqualTo(Connection.liveHandles());
  }

  @Test
  void clientOptionsAreAccepted() {
    Map<String, String> options =
        Map.of("type", "fluss", "bootstrap.servers", "embedded:" + temp.resolve("store"), "client.security.protocol", "sasl", "default-database", "x\"\\\n");
    Connection.open(options).close();
  }

  @Test
  void textCrossesUnharmed() {
    String name = "a \"quoted\" \\ \u00e4 \u20ac \ud83d\ude00 \u0000 end";
    try (Connection connection = open()) {
      assertKind(() -> connection.admin(name, "{}"), ErrorKind.INVALID, name);
    }
    assertThat(Json.object(Map.of("k", "a\"\\\n\u0001"))).isEqualTo("{\"k\":\"a\\\"\\\\\\u000a\\u0001\"}");
  }

  @Test
  void aForgottenConnectionIsClosedByTheCleaner() throws InterruptedException {
    long handles = Connection.liveHandles();
    open().admin("list_databases", "{}");
    for (int i = 0; i < 200 && Connection.liveHandles() > handles; i++) {
      System.gc();
      Thread.sleep(20);
    }
    assertThat(Connection.liveHandles()).isEqualTo(handles);
  }
}
