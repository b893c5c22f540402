package io.sluice.flink.datastream;

import java.util.LinkedHashMap;
import java.util.Map;

import io.sluice.flink.ConnectorOptions;
import io.sluice.flink.StoreTable;
import io.sluice.flink.catalog.StoredTables;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.util.StringUtils;

/** What source and sink must both be told of their table. */
final class TableAddress {
  private final Configuration options = new Configuration();
  private String bootstrapServers;
  private String database;
  private String table;

  void setBootstrapServers(String servers) {
    bootstrapServers = servers;
  }

  void setDatabase(String name) {
    database = name;
  }

  void setTable(String name) {
    table = name;
  }

  void setOption(String key, String value) {
    options.setString(key, value);
  }

  /** All options given so far. */
  Configuration options() {
    return options;
  }

  /** Finds the table. */
  StoreTable find() {
    required(bootstrapServers, "Bootstrap servers");
    required(database, "Database");
    required(table, "Table name");
    ConnectorOptions.checkValues(options.toMap());
    Map<String, String> connection = new LinkedHashMap<>();
    options.toMap().forEach((key, value) -> {
      if (key.startsWith(ConnectorOptions.CLIENT_PREFIX)) {
        connection.put(key, value);
      }
    });
    connection.put(ConnectorOptions.BOOTSTRAP_SERVERS.key(), bootstrapServers);
    return StoredTables.find(connection, database, table, options.toMap());
  }

  /** Refuses what is missing. */
  static void required(Object value, String what) {
    if (value == null || value instanceof String && StringUtils.isNullOrWhitespaceOnly((String) value)) {
      throw new IllegalArgumentException(what + " is required but not provided.");
    }
  }
}
