package io.sluice.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.File;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.lang.reflect.InvocationTargetException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One native image and one store in a process, however many class loaders come and go. */
class NativeLoaderTest {
  @TempDir Path temp;

  /** What a job's class loader would be: it has classes of its own of this package, and shares none with ours. */
  private static final class JobLoader implements AutoCloseable {
    final URLClassLoader loader;
    final Class<?> connection;

    JobLoader() throws ReflectiveOperationException, MalformedURLException {
      String[] path = System.getProperty("java.class.path").split(File.pathSeparator);
      URL[] urls = new URL[path.length];
      for (int i = 0; i < path.length; i++) {
        urls[i] = Paths.get(path[i]).toUri().toURL();
      }
      loader = new URLClassLoader(urls, ClassLoader.getPlatformClassLoader());
      connection = loader.loadClass("io.sluice.store.Connection");
    }

    Object open(Path directory) throws ReflectiveOperationException {
      return connection.getMethod("open", Map.class).invoke(null, Map.of("bootstrap.servers", "embedded:" + directory));
    }

    String admin(Object open, String operation, String json) throws ReflectiveOperationException {
      return (String) connection.getMethod("admin", String.class, String.class).invoke(open, operation, json);
    }

    void close(Object open) throws ReflectiveOperationException {
      connection.getMethod("close").invoke(open);
    }

    long liveHandles() throws ReflectiveOperationException {
      return (long) connection.getMethod("liveHandles").invoke(null);
    }

    @Override
    public void close() throws IOException {
      loader.close();
    }
  }

  /** Counts the distinct library files that have code mapped. */
  private static long images() throws IOException {
    try (Stream<String> maps = Files.lines(Paths.get("/proc/self/maps"))) {
      return maps.filter(line -> line.contains("r-xp") && line.contains("/load-")).map(line -> line.split(" +")[4]).distinct().count();
    }
  }

  @Test
  void classLoadersShareOneImageAndOneStore() throws Exception {
    Connection.liveHandles(); // this class's own loader is one of them
    assertThat(images()).isEqualTo(1);
    Path directory = temp.resolve("store");
    try (JobLoader a = new JobLoader();
        JobLoader b = new JobLoader()) {
      assertThat(a.connection).isNotEqualTo(b.connection).isNotEqualTo(Connection.class);
      long before = a.liveHandles();
      Object ofA = a.open(directory);
      assertThat(b.liveHandles()).isEqualTo(before + 1);
      Object ofB = b.open(directory);
      assertThat(Connection.liveHandles()).isEqualTo(before + 2);
      assertThat(images()).isEqualTo(1);

      a.admin(ofA, "create_database", "{\"name\":\"seen_by_both\",\"descriptor\":{},\"ignore_if_exists\":false}");
      assertThat(b.admin(ofB, "list_databases", "{}")).contains("seen_by_both");
      a.close(ofA);
      assertThat(b.admin(ofB, "list_databases", "{}")).contains("seen_by_both");
      b.close(ofB);
      assertThat(Connection.liveHandles()).isEqualTo(before);
    }
  }

  @Test
  void aLoaderThatComesAfterAnotherWasCollectedWorks() throws Exception {
    Connection.liveHandles();
    Path directory = temp.resolve("store");
    WeakReference<ClassLoader> collected = useOnce(directory);
    for (int i = 0; i < 200 && collected.get() != null; i++) {
      System.gc();
      Thread.sleep(20);
    }
    assertThat(collected.get()).as("nothing of ours pins a class loader").isNull();
    assertThat(images()).isEqualTo(1);
    try (JobLoader next = new JobLoader()) {
      Object open = next.open(directory);
      assertThat(next.admin(open, "list_databases", "{}")).contains("left_behind");
      next.close(open);
    }
    assertThat(images()).isEqualTo(1);
  }

  private static WeakReference<ClassLoader> useOnce(Path directory) throws Exception {
    try (JobLoader first = new JobLoader()) {
      Object open = first.open(directory);
      first.admin(open, "create_database", "{\"name\":\"left_behind\",\"descriptor\":{},\"ignore_if_exists\":true}");
      first.close(open);
      return new WeakReference<>(first.loader);
    }
  }

  @Test
  void exceptionsAreThoseOfTheCallingLoader() throws Exception {
    try (JobLoader job = new JobLoader()) {
      assertThatThrownBy(() -> job.open(Path.of("relative")))
          .isInstanceOf(InvocationTargetException.class)
          .cause()
          .satisfies(cause -> assertThat(cause.getClass().getClassLoader()).isEqualTo(job.loader))
          .hasMessageContaining("absolute");
    }
  }

  @Test
  void namesOfPlatforms() {
    assertThat(NativeLoader.platform("Linux", "amd64", false)).isEqualTo("linux-x86_64");
    assertThat(NativeLoader.platform("Linux", "arm64", false)).isEqualTo("linux-aarch64");
    assertThat(NativeLoader.platform("Linux", "amd64", true)).isEqualTo("linux-x86_64-musl");
    assertThat(NativeLoader.platform("Mac OS X", "aarch64", false)).isEqualTo("macos-aarch64");
    assertThat(NativeLoader.platform("Windows 11", "amd64", false)).isEqualTo("windows-x86_64");
    assertThat(NativeLoader.platform("Linux", "riscv64", false)).isEqualTo("linux-riscv64");
  }

  @Test
  void aDirectoryThatForbidsExecutingIsExplained() {
    assertThat(NativeLoader.explainLinkError("/t/x.so: failed to map segment from shared object"))
        .contains("noexec")
        .contains("-Dsluice.native.dir");
  }

  @Test
  void aForeignPlatformAJarWithoutLibraryAndAnOpenDirectoryAreRefusedInOneSentence() throws Exception {
    assertThat(failingStart("-Dos.arch=riscv64")).contains("no native library for linux-riscv64").contains("-Dsluice.native.path");
    assertThat(failingStart("-Dsluice.native.path=" + temp.resolve("missing.so"))).contains("missing.so");
    Path open = Files.createDirectory(temp.resolve("sluice-" + System.getProperty("user.name")));
    Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwxr-xr-x"));
    assertThat(failingStart("-Dsluice.native.dir=" + temp)).contains("0700").contains("-Dsluice.native.dir");
  }

  @Test
  void aLibraryInADirectoryOfTheUsersChoiceIsLeftOnceAndPrivate() throws Exception {
    Path root = temp.resolve("chosen");
    for (int i = 0; i < 2; i++) {
      assertThat(start("-Dsluice.native.dir=" + root)).contains("handles 0");
    }
    Path directory = root.resolve("sluice-" + System.getProperty("user.name"));
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(directory))).isEqualTo("rwx------");
    try (Stream<Path> files = Files.list(directory)) {
      assertThat(files).singleElement().satisfies(file -> assertThat(file.getFileName().toString()).matches("lib-[0-9a-f]{64}\\.so"));
    }
  }

  /** Prints the live handles, or the message of the exception. */
  public static void main(String[] arguments) {
    try {
      System.out.println("handles " + Connection.liveHandles());
    } catch (StoreException e) {
      System.out.println("refused: " + e.getMessage());
    }
  }

  private static String failingStart(String option) throws Exception {
    String output = start(option);
    assertThat(output).startsWith("refused: ");
    return output;
  }

  private static String start(String option) throws Exception {
    String java = Paths.get(System.getProperty("java.home"), "bin", "java").toString();
    Process process =
        new ProcessBuilder(List.of(java, option, "-cp", System.getProperty("java.class.path"), NativeLoaderTest.class.getName()))
            .redirectErrorStream(true)
            .start();
    String output = new String(process.getInputStream().readAllBytes());
    assertThat(process.waitFor()).as(output).isZero();
    return output;
  }
}
