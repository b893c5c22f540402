package io.sluice.flink.lake;

import java.io.File;
import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.util.TestStreamEnvironment;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

/** Paimon's connector as jars of the user: apart from the class path of Flink and of this connector, for the planner and for tasks. */
final class PaimonJars implements AutoCloseable {
  /** Hadoop's classes log through log4j's old interface, which Flink brings. */
  private static final Pattern JARS = Pattern.compile("(paimon-flink|flink-shaded-hadoop|log4j-(1\\.2-api|api|core))-.*\\.jar");

  private final URLClassLoader loader;

  PaimonJars() {
    this(urls());
  }

  private PaimonJars(List<URL> urls) {
    loader = new URLClassLoader(urls.toArray(new URL[0]), PaimonJars.class.getClassLoader());
  }

  /** Only those whose name begins with this. */
  static PaimonJars only(String beginning) {
    return new PaimonJars(urls().stream().filter(url -> new File(url.getPath()).getName().startsWith(beginning)).collect(Collectors.toList()));
  }

  private static List<URL> urls() {
    List<URL> urls = new ArrayList<>();
    for (String folder : System.getProperty("sluice.test.lake").split(File.pathSeparator)) {
      File[] jars = new File(folder).listFiles((within, name) -> JARS.matcher(name).matches());
      if (jars == null) {
        throw new IllegalStateException("There is no folder " + folder + ": bin/setup flink lake; eval \"$(bin/setup --env)\"");
      }
      Arrays.stream(jars).map(PaimonJars::url).forEach(urls::add);
    }
    return urls;
  }

  private static URL url(File jar) {
    try {
      return jar.toURI().toURL();
    } catch (MalformedURLException e) {
      throw new IllegalArgumentException(jar.getPath(), e);
    }
  }

  ClassLoader loader() {
    return loader;
  }

  TableEnvironment batch(MiniCluster cluster) {
    return environment(cluster, EnvironmentSettings.newInstance().inBatchMode());
  }

  TableEnvironment streaming(MiniCluster cluster) {
    return environment(cluster, EnvironmentSettings.newInstance().inStreamingMode());
  }

  private TableEnvironment environment(MiniCluster cluster, EnvironmentSettings.Builder mode) {
    StreamExecutionEnvironment jobs = new TestStreamEnvironment(cluster, new Configuration(), 1, List.of(), List.of(loader.getURLs()));
    return StreamTableEnvironment.create(jobs, mode.withClassLoader(loader).build());
  }

  @Override
  public void close() throws IOException {
    loader.close();
  }
}
