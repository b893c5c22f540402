package io.sluice.flink;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import io.sluice.store.Connection;

/**
 * Where the stores of tests are. Each is embedded in this process, unless the environment's {@code SLUICE_TEST_SERVER} names the
 * server's binary: then each directory gets a server process of its own, and the same tests run over the network.
 */
public final class StoreAddress {
  private static final String BINARY = System.getenv("SLUICE_TEST_SERVER");
  private static final Pattern READY = Pattern.compile("ready at (\\S+:\\d+)");
  private static final Map<Path, Server> SERVERS = new ConcurrentHashMap<>();

  static {
    Runtime.getRuntime().addShutdownHook(new Thread(() -> SERVERS.values().forEach(server -> server.process.destroyForcibly())));
  }

  private StoreAddress() {}

  /** What {@code bootstrap.servers} is for the store in a directory. */
  public static String of(Path directory) {
    return of(directory, Map.of());
  }

  /** The same for a store with these settings, some of which may be the client's. */
  static String of(Path directory, Map<String, String> settings) {
    if (BINARY == null) {
      return "embedded:" + directory;
    }
    return SERVERS.compute(directory, (d, server) -> server == null ? new Server(d, settings) : server.with(settings)).address;
  }

  /** Which of these settings belong into {@code CREATE CATALOG}: a server has those of its store already. */
  static Map<String, String> ofCatalog(Map<String, String> settings) {
    Map<String, String> options = new LinkedHashMap<>(settings);
    options.keySet().removeIf(key -> BINARY != null && !key.startsWith(ConnectorOptions.CLIENT_PREFIX) && !key.startsWith("paimon."));
    return options;
  }

  /** Waits until nobody has the store in a directory open. */
  static void close(Path directory) throws InterruptedException {
    if (BINARY == null) {
      // The last handle is gone before its store is closed; whoever opens the store then waits for that.
      Connection.open(Map.of("bootstrap.servers", "embedded:" + directory)).close();
      return;
    }
    Server server = SERVERS.remove(directory);
    if (server != null) {
      server.stop();
    }
  }

  /** A server process over one directory. */
  private static final class Server {
    private final Path directory;
    private final Map<String, String> settings;
    private final Process process;
    private final String address;

    Server(Path directory, Map<String, String> settings) {
      this.directory = directory;
      this.settings = Map.copyOf(settings);
      List<String> command = new ArrayList<>(List.of(BINARY, "server", "-D", "data.dir=" + directory, "-D", "bind.listeners=FLUSS://127.0.0.1:0"));
      settings.forEach(
          (key, value) -> {
            if (!key.startsWith(ConnectorOptions.CLIENT_PREFIX) && !key.startsWith("paimon.")) {
              command.addAll(List.of("-D", key + "=" + value));
            }
          });
      try {
        process = new ProcessBuilder(command).redirectError(Redirect.INHERIT).start();
        // Only this line is ever printed there.
        String line = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8)).readLine();
        Matcher ready = READY.matcher(line == null ? "" : line);
        if (!ready.find()) {
          process.destroyForcibly();
          throw new IllegalStateException("the server over " + directory + " did not become ready: " + line);
        }
        address = ready.group(1);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    /** A server with these settings: this one, if they are none or its own. */
    Server with(Map<String, String> others) {
      if (others.isEmpty() || others.equals(settings)) {
        return this;
      }
      try {
        stop();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      return new Server(directory, others);
    }

    void stop() throws InterruptedException {
      process.destroy();
      boolean ended = process.waitFor(60, TimeUnit.SECONDS);
      // A test may have removed the directory before.
      if (!ended || process.exitValue() != 0 && Files.exists(directory)) {
        throw new IllegalStateException("the server did not end well: " + process);
      }
    }
  }
}
