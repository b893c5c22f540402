"""One Flink SQL client with its cluster inside, fed through its standard input; its jobs are watched through Flink's REST interface."""
import contextlib
import json
import os
import pathlib
import subprocess
import time
import urllib.error
import urllib.request

PATIENCE = 600
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pids):
    """User and system seconds of processes that are alive."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            total += int(fields[11]) + int(fields[12])
    return total / TICKS


def listening(pid):
    """TCP ports on which a process listens."""
    inodes = set()
    for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            inodes.add(os.readlink(link))
    ports = set()
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
                ports.add(int(fields[1].rsplit(":", 1)[1], 16))
    return ports


def get(port, path, method="GET"):
    request = urllib.request.Request(f"http://localhost:{port}{path}", method=method)
    with urllib.request.urlopen(request, timeout=10) as answer:
        text = answer.read()
    return json.loads(text) if text else None


class Session:
    """Statements go in with `run`; `job` waits for one job of a name."""

    def __init__(self, root, flink, lib, log, pids=()):
        environment = dict(
            os.environ, FLINK_CONF_DIR=str(root / "conf/flink"), FLINK_LIB_DIR=str(lib), FLINK_LOG_DIR=str(log.parent), JVM_ARGS="-Xmx3g"
        )
        self.log = log
        self.out = open(log, "w")
        self.process = subprocess.Popen(
            [flink / "bin/sql-client.sh"], stdin=subprocess.PIPE, stdout=self.out, stderr=subprocess.STDOUT, text=True, env=environment
        )
        self.others = list(pids)
        self.run("SET 'parallelism.default' = '2'", "SET 'table.dml-sync' = 'true'", "SET 'metrics.fetcher.update-interval' = '100'")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=20)
        self.process.kill()
        self.out.close()

    def run(self, *statements):
        for statement in statements:
            self.process.stdin.write(statement + ";\n")
        self.process.stdin.flush()

    def cpu(self):
        return cpu_seconds([self.process.pid, *self.others])

    def check(self):
        text = self.log.read_text(errors="replace")
        if "[ERROR]" in text or self.process.poll() is not None:
            at = max(text.find("[ERROR]"), 0)
            raise SystemExit(f"the SQL client failed:\n{text[at:at + 3000]}")

    def find(self, name):
        """Port and id of a running job."""
        for port in listening(self.process.pid):
            with contextlib.suppress(OSError, ValueError, urllib.error.URLError, KeyError, TypeError):
                for job in get(port, "/jobs/overview")["jobs"]:
                    if job["name"] == name and job["state"] == "RUNNING":
                        return port, job["jid"]
        return None

    def start(self, name, statement):
        self.run(f"SET 'pipeline.name' = '{name}'", statement)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if found := self.find(name):
                return found
            self.check()
            time.sleep(0.05)
        raise SystemExit(f"no job {name} began within {PATIENCE} s")

    def bounded(self, name, statement):
        """Runs a job to its end; seconds and CPU seconds."""
        port, job = self.start(name, statement)
        cpu = self.cpu()
        started = get(port, f"/jobs/{job}")["timestamps"]["RUNNING"] / 1e3
        ended = None
        while ended is None:
            try:
                state = get(port, f"/jobs/{job}")
                ended = state["end-time"] / 1e3 if state["state"] == "FINISHED" else None
            except (OSError, ValueError):
                ended = time.time()  # the job's cluster ends with it
            time.sleep(0.03)
        cpu = self.cpu() - cpu
        self.check()
        return ended - started, cpu

    def unbounded(self, name, statement, rows):
        """Runs a streaming job until its source gave so many rows, then cancels it; seconds and CPU seconds. Ends the session's use."""
        port, job = self.start(name, statement)
        cpu = self.cpu()
        state = get(port, f"/jobs/{job}")
        base = f"/jobs/{job}/vertices/{state['vertices'][0]['id']}/subtasks/metrics"
        metric, seen, deadline = None, 0, time.monotonic() + PATIENCE
        while seen < rows:
            if time.monotonic() > deadline:
                raise SystemExit(f"{name} gave {seen} of {rows} rows within {PATIENCE} s")
            if metric is None:
                names = [m["id"] for m in get(port, base)]
                metric = next((m for m in names if m.startswith("Source__") and m.endswith(".numRecordsOut") and "Writer" not in m), None)
            else:
                seen = sum(m["sum"] for m in get(port, f"{base}?agg=sum&get={metric}"))
            time.sleep(0.05)
        ended, cpu = time.time(), self.cpu() - cpu
        with contextlib.suppress(OSError, ValueError):
            get(port, f"/jobs/{job}?mode=cancel", "PATCH")
        return ended - state["timestamps"]["RUNNING"] / 1e3, cpu
