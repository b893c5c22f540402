package io.sluice.flink.catalog;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.apache.flink.table.api.ValidationException;
import org.junit.jupiter.api.Test;

/** The words of the procedures about rules of access. */
final class AccessRulesTest {
  private static String rule(String resource, String permission, String principal, String operation, String host) {
    return AccessRules.rule(resource, permission, principal, operation, host).toString();
  }

  private static String filter(String resource, String permission, String principal, String operation, String host) {
    return AccessRules.filter(resource, permission, principal, operation, host).toString();
  }

  @Test
  void wordsBecomeRules() {
    assertThat(rule("cluster.d.t", "ALLOW", "User:alice", "READ", "*"))
        .isEqualTo(
            "{\"resource\":{\"kind\":\"TABLE\",\"name\":\"d.t\"},\"principal_type\":\"User\",\"principal\":\"alice\",\"host\":\"*\","
                + "\"operation\":\"READ\"}");
    assertThat(rule("CLUSTER", "allow", "ALL", "describe", "10.0.0.1"))
        .contains("\"kind\":\"CLUSTER\",\"name\":\"fluss-cluster\"", "\"principal\":\"*\"", "\"operation\":\"DESCRIBE\"", "10.0.0.1");
    assertThat(rule("Cluster.Db", "ALLOW", "User:a:b", "ALL", "*")).contains("\"kind\":\"DATABASE\",\"name\":\"Db\"", "\"principal\":\"a:b\"");
  }

  @Test
  void filtersLeaveOutWhatMayBeAnything() {
    assertThat(filter("ANY", "ANY", "any", "ANY", "ANY")).isEqualTo("{}");
    assertThat(filter("cluster.d", null, null, null, null)).isEqualTo("{\"resource_kind\":\"DATABASE\",\"resource\":\"d\"}");
    assertThat(filter("ANY", "ALLOW", "User:a", "write", "*"))
        .isEqualTo("{\"principal_type\":\"User\",\"principal\":\"a\",\"operation\":\"WRITE\",\"host\":\"*\"}");
  }

  @Test
  void rulesComeBackAsLines() {
    assertThat(AccessRules.line(AccessRules.rule("cluster.d.t", "ALLOW", "User:alice", "READ", "*")))
        .isEqualTo("resource=\"cluster.d.t\";permission=\"ALLOW\";principal=\"User:alice\";operation=\"READ\";host=\"*\"");
    assertThat(AccessRules.line(AccessRules.rule("cluster", "ALLOW", "User:a", "ALL", "h"))).startsWith("resource=\"cluster\";");
  }

  @Test
  void mistakesAreNamed() {
    refused(() -> rule("ANY", "ALLOW", "User:a", "READ", "*"), "can only be used for filtering");
    refused(() -> rule("cluster", "ALLOW", "User:a", "ANY", "*"), "can only be used for filtering");
    refused(() -> rule("cluster", "DENY", "User:a", "READ", "*"), "No enum constant", "DENY");
    refused(() -> rule("cluster", "ALLOW", "User:a", "DELETE", "*"), "No enum constant", "DELETE", "DESCRIBE");
    refused(() -> rule("cluster", "ALLOW", "alice", "READ", "*"), "PrincipalType:PrincipalName");
    refused(() -> rule("d.t", "ALLOW", "User:a", "READ", "*"), "cluster.${database}");
    refused(() -> rule("cluster.d.t.x", "ALLOW", "User:a", "READ", "*"), "cluster.${database}");
    refused(() -> filter("cluster..t", null, null, null, null), "cluster.${database}");
  }

  private static void refused(Runnable words, String... parts) {
    assertThatThrownBy(words::run).isInstanceOf(ValidationException.class).hasMessageContainingAll(parts);
  }
}
