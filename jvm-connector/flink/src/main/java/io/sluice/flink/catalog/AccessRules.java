package io.sluice.flink.catalog;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;

import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.flink.table.api.ValidationException;

/**
 * Rules of access as the procedures write them: a resource {@code cluster}, {@code cluster.database} or {@code cluster.database.table}, the
 * permission {@code ALLOW}, a principal {@code User:alice}, an operation, a host. In filters each may be {@code ANY}.
 */
final class AccessRules {
  static final String ANY = "ANY";
  /** Every host. */
  static final String EVERY = "*";

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String CLUSTER = "cluster";
  private static final String CLUSTER_NAME = "fluss-cluster";
  private static final List<String> PERMISSIONS = List.of("ALLOW");
  private static final List<String> OPERATIONS = List.of("ALL", "READ", "WRITE", "CREATE", "DROP", "ALTER", "DESCRIBE");
  private static final String[] KINDS = {"CLUSTER", "DATABASE", "TABLE"};

  private AccessRules() {}

  /** Returns the rule of these words. */
  static JsonNode rule(String resource, String permission, String principal, String operation, String host) {
    for (String word : new String[] {resource, permission, principal, operation, host}) {
      if (isAny(word)) {
        throw new ValidationException("Wildcard 'ANY' can only be used for filtering, not for adding ACL entries.");
      }
    }
    constant("permission", permission, PERMISSIONS);
    String[] who = principal(principal);
    String[] thing = resource(resource);
    ObjectNode rule = JSON.createObjectNode();
    rule.putObject("resource").put("kind", thing[0]).put("name", thing[1]);
    return rule.put("principal_type", who[0])
        .put("principal", who[1])
        .put("host", host)
        .put("operation", constant("operation", operation, OPERATIONS));
  }

  /** Returns the filter of these words; those that are null or ANY may be anything. */
  static JsonNode filter(String resource, String permission, String principal, String operation, String host) {
    ObjectNode filter = JSON.createObjectNode();
    if (!isAny(resource)) {
      String[] thing = resource(resource);
      filter.put("resource_kind", thing[0]).put("resource", thing[1]);
    }
    if (!isAny(permission)) {
      constant("permission", permission, PERMISSIONS);
    }
    if (!isAny(principal)) {
      String[] who = principal(principal);
      filter.put("principal_type", who[0]).put("principal", who[1]);
    }
    if (!isAny(operation)) {
      filter.put("operation", constant("operation", operation, OPERATIONS));
    }
    return isAny(host) ? filter : filter.put("host", host);
  }

  /** Returns a rule as a line of {@code list_acl}. */
  static String line(JsonNode rule) {
    JsonNode thing = rule.path("resource");
    String name = thing.path("name").asText();
    String resource = "CLUSTER".equals(thing.path("kind").asText()) ? CLUSTER : CLUSTER + "." + name;
    return String.format(
        "resource=\"%s\";permission=\"ALLOW\";principal=\"%s:%s\";operation=\"%s\";host=\"%s\"",
        resource,
        rule.path("principal_type").asText(),
        rule.path("principal").asText(),
        rule.path("operation").asText(),
        rule.path("host").asText());
  }

  private static boolean isAny(String word) {
    return word == null || ANY.equalsIgnoreCase(word);
  }

  /** Kind and name. */
  private static String[] resource(String text) {
    String[] parts = text == null ? new String[0] : text.split("\\.", -1);
    boolean whole = parts.length >= 1 && parts.length <= KINDS.length && CLUSTER.equalsIgnoreCase(parts[0]);
    if (!whole || Arrays.stream(parts).anyMatch(String::isEmpty)) {
      throw new ValidationException(
          String.format("'%s': resource must be in format cluster, cluster.${database} or cluster.${database}.${table}.", text));
    }
    String name = parts.length == 1 ? CLUSTER_NAME : text.substring(parts[0].length() + 1);
    return new String[] {KINDS[parts.length - 1], name};
  }

  /** Type and name. */
  private static String[] principal(String text) {
    if ("ALL".equalsIgnoreCase(text)) {
      return new String[] {EVERY, EVERY};
    }
    String[] parts = text == null ? new String[0] : text.split(":", 2);
    if (parts.length != 2 || parts[0].isEmpty() || parts[1].isEmpty()) {
      throw new ValidationException(
          String.format("'%s': principal must be in format PrincipalType:PrincipalName, for example User:alice.", text));
    }
    return parts;
  }

  private static String constant(String what, String text, List<String> known) {
    String upper = text == null ? "" : text.toUpperCase(Locale.ROOT);
    if (!known.contains(upper)) {
      throw new ValidationException(String.format("No enum constant for the %s '%s'; there are %s.", what, text, String.join(", ", known)));
    }
    return upper;
  }
}
