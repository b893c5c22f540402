"""An Apache Fluss on this machine: fetched once, started on ports of its own, ended with the run."""
import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import time

VERSION = "0.9.1-incubating"
LOG4J = "2.25.4"
HOST = "127.0.0.1"
ZOOKEEPER, COORDINATOR, TABLET = 12181, 19123, 19124
BOOTSTRAP = f"{HOST}:{COORDINATOR}"
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
SERVER = [f"org.apache.fluss:fluss-server:{VERSION}"] + [
    f"org.apache.logging.log4j:{name}:{LOG4J}" for name in ("log4j-api", "log4j-core", "log4j-slf4j-impl")
]
CONNECTOR = [f"org.apache.fluss:fluss-flink-1.20:{VERSION}"]
LOGGING = """rootLogger.level=WARN
rootLogger.appenderRef.out.ref=Out
appender.out.name=Out
appender.out.type=Console
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d %p %c %m%n
"""


def fetch(cache):
    """Jars of server and connector, in folders of the cache; returns both folders."""
    home = pathlib.Path(cache) / f"fluss-{VERSION}"
    for folder, artifacts in (("server", SERVER), ("connector", CONNECTOR)):
        for artifact in artifacts:
            _, name, version = artifact.split(":")
            if not (home / folder / f"{name}-{version}.jar").exists():
                print(f"fetching {artifact} ...", flush=True)
                subprocess.run(["mvn", "-q", "-B", COPY, f"-Dartifact={artifact}", f"-DoutputDirectory={home / folder}"], check=True)
    return home / "server", home / "connector"


def wait_for(port, process, log):
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection((HOST, port), timeout=1):
            return
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise SystemExit(f"Fluss did not open port {port}; its output is in {log}")


class Cluster:
    """One ZooKeeper, one coordinator, one tablet server, with the settings they ship with and one replica."""

    def __init__(self, jars, java, directory):
        self.jars, self.java, self.directory = jars, java, pathlib.Path(directory)
        self.processes = {}

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes.values()):
            process.terminate()
        for process in self.processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=20)
            process.kill()

    def pids(self):
        return [p.pid for p in self.processes.values()]

    def settings(self, name, lines):
        folder = self.directory / name
        folder.mkdir()
        (folder / "server.yaml").write_text("\n".join(lines) + "\n")
        return folder

    def spawn(self, name, port, main, *arguments):
        log = self.directory / f"{name}.out"
        command = [
            self.java, "-XX:+UseG1GC", "--add-opens=java.base/java.nio=org.apache.arrow.memory.core,ALL-UNNAMED",
            f"-Dlog4j.configurationFile=file:{self.directory / 'log4j.properties'}",
            "-cp", ":".join(map(str, sorted(self.jars.glob("*.jar")))), main, *map(str, arguments),
        ]
        environment = dict(os.environ, FLUSS_PLUGINS_DIR=str(self.directory / "plugins"))
        with open(log, "w") as out:
            process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, env=environment)
        self.processes[name] = process
        wait_for(port, process, log)

    def start(self):
        shutil.rmtree(self.directory, ignore_errors=True)
        (self.directory / "plugins").mkdir(parents=True)
        (self.directory / "log4j.properties").write_text(LOGGING)
        zookeeper = self.directory / "zookeeper.properties"
        zookeeper.write_text(
            f"dataDir={self.directory}/zk\nclientPort={ZOOKEEPER}\nclientPortAddress={HOST}\nmaxClientCnxns=0\nadmin.enableServer=false\n"
        )
        common = [f"zookeeper.address: {HOST}:{ZOOKEEPER}", "default.replication.factor: 1", f"remote.data.dir: {self.directory}/remote"]
        self.spawn("zookeeper", ZOOKEEPER, "org.apache.fluss.shaded.zookeeper3.org.apache.zookeeper.server.quorum.QuorumPeerMain", zookeeper)
        folder = self.settings("coordinator", [*common, f"bind.listeners: FLUSS://{BOOTSTRAP}"])
        self.spawn("coordinator", COORDINATOR, "org.apache.fluss.server.coordinator.CoordinatorServer", "--configDir", folder)
        lines = [*common, f"bind.listeners: FLUSS://{HOST}:{TABLET}", "tablet-server.id: 0", f"data.dir: {self.directory}/data"]
        folder = self.settings("tablet", lines)
        self.spawn("tablet", TABLET, "org.apache.fluss.server.tablet.TabletServer", "--configDir", folder)
