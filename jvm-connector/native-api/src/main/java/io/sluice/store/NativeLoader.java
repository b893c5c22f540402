package io.sluice.store;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Locale;
import java.util.UUID;
import java.util.stream.Stream;

/**
 * Loads the native library so that a process has one image of it, however many class loaders ask. The JVM refuses one path to a second
 * class loader, and two copies of the file would be two engines, which could open one directory twice. So the file lies once in a private
 * directory, named by its content, and each class loader loads a hard link of its own: the system maps one file once.
 */
final class NativeLoader {
  /** System property: a library to load instead of the one in the jar. */
  static final String PATH_PROPERTY = "sluice.native.path";
  /** System property: the directory to unpack into instead of {@code java.io.tmpdir}. */
  static final String DIRECTORY_PROPERTY = "sluice.native.dir";

  private static final String PRIVATE = "rwx------";

  private static boolean loaded;

  private NativeLoader() {}

  /**
   * Loads the library unless this class loader has it already.
   *
   * @throws StoreException UNSUPPORTED when there is none for this system or it does not load; IO when it cannot be unpacked
   */
  static synchronized void load() {
    if (loaded) {
      return;
    }
    String explicit = System.getProperty(PATH_PROPERTY);
    try {
      if (explicit != null) {
        System.load(Paths.get(explicit).toAbsolutePath().toString());
      } else {
        loadFromJar();
      }
    } catch (IOException e) {
      throw new StoreException(
          ErrorKind.IO,
          Subject.FILE,
          "cannot unpack the native library: " + e + "; name a directory of yours with -D" + DIRECTORY_PROPERTY,
          e);
    } catch (UnsatisfiedLinkError e) {
      throw new StoreException(ErrorKind.UNSUPPORTED, Subject.FILE, explainLinkError(e.getMessage()), e);
    }
    requireSameVersion();
    loaded = true;
  }

  /** Returns the name under which the jar keeps the library for a system. */
  static String platform(String osName, String osArch, boolean musl) {
    String os = osName.toLowerCase(Locale.ROOT);
    String arch = osArch.toLowerCase(Locale.ROOT);
    String system = os.startsWith("linux") ? "linux" : os.startsWith("mac") ? "macos" : os.startsWith("windows") ? "windows" : os.replace(' ', '_');
    String processor =
        arch.equals("amd64") || arch.equals("x86_64") ? "x86_64" : arch.equals("aarch64") || arch.equals("arm64") ? "aarch64" : arch;
    return system + "-" + processor + (system.equals("linux") && musl ? "-musl" : "");
  }

  /** Says what to do about the system's reason for not loading. */
  static String explainLinkError(String reason) {
    if (reason != null && reason.contains("failed to map segment")) {
      return "cannot load the native library because its directory forbids executing (noexec): " + reason
          + "; name a directory that allows it with -D" + DIRECTORY_PROPERTY;
    }
    return "cannot load the native library: " + reason;
  }

  private static void requireSameVersion() {
    int found = NativeConnection.abiVersion();
    if (found != Connection.ABI_VERSION) {
      throw new StoreException(
          ErrorKind.UNSUPPORTED,
          Subject.FILE,
          "the native library speaks version " + found + " of the calls, these classes speak " + Connection.ABI_VERSION
              + "; take both from one build",
          null);
    }
  }

  private static boolean isMusl() {
    try (Stream<String> maps = Files.lines(Paths.get("/proc/self/maps"))) {
      return maps.anyMatch(line -> line.contains("/ld-musl-"));
    } catch (IOException | RuntimeException e) {
      return false;
    }
  }

  private static void loadFromJar() throws IOException {
    byte[] library = readFromJar(platform(System.getProperty("os.name"), System.getProperty("os.arch"), isMusl()));
    String root = System.getProperty(DIRECTORY_PROPERTY, System.getProperty("java.io.tmpdir"));
    Path directory = privateDirectory(Paths.get(root));
    Path base = directory.resolve("lib-" + sha256(library) + ".so");
    if (!Files.exists(base) || !Arrays.equals(Files.readAllBytes(base), library)) {
      unpack(library, directory, base);
    }
    Path own = directory.resolve("load-" + UUID.randomUUID() + ".so");
    try {
      linkOrCopy(base, own);
      System.load(own.toAbsolutePath().toString());
    } finally {
      Files.deleteIfExists(own); // the mapping outlives the name; the base file stays for the next one
    }
  }

  private static byte[] readFromJar(String platform) throws IOException {
    String resource = "/native/" + platform + "/" + System.mapLibraryName("sluice_jni");
    try (InputStream in = NativeLoader.class.getResourceAsStream(resource)) {
      if (in == null) {
        throw new StoreException(
            ErrorKind.UNSUPPORTED,
            Subject.FILE,
            "this jar has no native library for " + platform + " (linux-x86_64 with glibc is built); build libsluice_jni there and name it with -D"
                + PATH_PROPERTY,
            null);
      }
      return in.readAllBytes();
    }
  }

  /** Returns a directory that no other user can write to: else somebody could slip us a library. */
  private static Path privateDirectory(Path root) throws IOException {
    Files.createDirectories(root);
    Path directory = root.resolve("sluice-" + System.getProperty("user.name").replaceAll("[^A-Za-z0-9._-]", "_"));
    try {
      Files.createDirectory(directory, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(PRIVATE)));
    } catch (FileAlreadyExistsException e) {
      // judged below, whoever made it
    }
    Object owner = Files.getAttribute(directory, "unix:uid", LinkOption.NOFOLLOW_LINKS);
    Object self = Files.getAttribute(Paths.get("/proc/self"), "unix:uid");
    String permissions = PosixFilePermissions.toString(Files.getPosixFilePermissions(directory, LinkOption.NOFOLLOW_LINKS));
    if (!Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS) || !owner.equals(self) || !permissions.equals(PRIVATE)) {
      throw new IOException(directory + " is not a directory of this user alone (mode 0700)");
    }
    return directory;
  }

  private static void unpack(byte[] library, Path directory, Path base) throws IOException {
    Path unfinished = Files.createTempFile(directory, "new-", ".tmp");
    try {
      Files.write(unfinished, library);
      Files.move(unfinished, base, StandardCopyOption.ATOMIC_MOVE);
    } finally {
      Files.deleteIfExists(unfinished);
    }
  }

  private static void linkOrCopy(Path base, Path own) throws IOException {
    try {
      Files.createLink(own, base);
    } catch (UnsupportedOperationException | FileSystemException e) {
      Files.copy(base, own); // a file system without hard links: this class loader gets an engine of its own
    }
  }

  private static String sha256(byte[] bytes) {
    try {
      StringBuilder hex = new StringBuilder();
      for (byte b : MessageDigest.getInstance("SHA-256").digest(bytes)) {
        hex.append(String.format("%02x", b));
      }
      return hex.toString();
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }
}
