package io.sluice.flink.tiering;

import java.io.Serializable;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

import io.sluice.flink.ConnectorOptions;

/** What a tiering job is started with: {@code -D KEY=VALUE} again and again. */
public final class TieringSettings implements Serializable {
  private static final long serialVersionUID = 1L;

  /** Which databases the job works on: a regular expression for the whole name. */
  static final String DATABASE = "database";

  /** Prefix of the options of the connection. */
  static final String STORE_PREFIX = "fluss.";

  /** Prefix of the store's options about the lake, which need no other prefix. */
  static final String LAKE_PREFIX = "datalake.";

  private static final String SERVERS_DEFAULT = "localhost:9123";
  private static final String EMBEDDED = "embedded:";

  private final Map<String, String> connection;
  private final String databases;

  /** @param connection what a connection to the store is opened with */
  public TieringSettings(Map<String, String> connection, String databases) {
    this.connection = new LinkedHashMap<>(connection);
    this.databases = databases;
  }

  /**
   * Reads a command line.
   *
   * @throws IllegalArgumentException for what is none of the options, or no option at all
   */
  public static TieringSettings parse(String... arguments) {
    Map<String, String> connection = new LinkedHashMap<>();
    connection.put(ConnectorOptions.BOOTSTRAP_SERVERS.key(), SERVERS_DEFAULT);
    String databases = ".*";
    for (int i = 0; i < arguments.length; i++) {
      if (!arguments[i].startsWith("-D")) {
        throw new IllegalArgumentException("'" + arguments[i] + "' is not an option; options are -D KEY=VALUE.");
      }
      String option = arguments[i].equals("-D") && i + 1 < arguments.length ? arguments[++i] : arguments[i].substring(2);
      int equals = option.indexOf('=');
      if (equals < 1) {
        throw new IllegalArgumentException("'-D " + option + "' is not an option; options are -D KEY=VALUE.");
      }
      String key = option.substring(0, equals).trim();
      String value = option.substring(equals + 1).trim();
      if (key.equals(DATABASE)) {
        databases = checked(value);
      } else if (key.startsWith(STORE_PREFIX)) {
        connection.put(key.substring(STORE_PREFIX.length()), value);
      } else if (key.startsWith(LAKE_PREFIX)) {
        connection.put(key, value);
      } else {
        throw new IllegalArgumentException("There is no option '" + key + "'; there are " + DATABASE + ", " + STORE_PREFIX
            + "bootstrap.servers and other " + STORE_PREFIX + "* for the connection, and " + LAKE_PREFIX + "* for an embedded store.");
      }
    }
    return new TieringSettings(connection, databases);
  }

  private static String checked(String databases) {
    try {
      return Pattern.compile(databases).pattern();
    } catch (PatternSyntaxException e) {
      throw new IllegalArgumentException("Option '" + DATABASE + "' is not a regular expression: " + e.getMessage(), e);
    }
  }

  /** What a connection is opened with. */
  Map<String, String> connection() {
    return connection;
  }

  /** Which databases are tiered. */
  Pattern databases() {
    return Pattern.compile(databases);
  }

  /** Whether the store runs in the processes of the job. */
  boolean isEmbedded() {
    return servers().trim().startsWith(EMBEDDED);
  }

  /** Where the store is. */
  String servers() {
    return connection.getOrDefault(ConnectorOptions.BOOTSTRAP_SERVERS.key(), "");
  }
}
