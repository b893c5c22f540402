#!/usr/bin/env python3
"""Apache Fluss's own Java client, unchanged, against two servers in one run on one machine: `sluice server` and an Apache Fluss 0.9.1.

    benches/compare/clients.py [--runs N] [--scale F] [CASE...]    cases: append scan scan-2 upsert lookup lookup-1 visible visible-busy

Rows of eight columns (100 bytes) in four buckets; upserts and lookups go over 500,000 keys. Each case is one process of the client; one run warms up.
CPU is that of the server's processes. Sluice syncs what it acknowledges to the disk, Fluss (one replica) leaves that to the operating system.
Cases that Fluss's timers rule are run with the client's defaults and tuned: fetch wait 10 ms, batch timeouts of lookups and
writers 1 ms, for both servers alike.
Needs `bin/build` and `bin/setup clients` once before. Results: a table, and benches/compare/results/.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import time

import peer
from run import RESULTS, environment
from session import cpu_seconds

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TUNED = ["client.scanner.log.fetch.wait-max-time=10ms", "client.lookup.batch-timeout=1ms", "client.writer.batch-timeout=1ms"]
# Rows at full scale, and whether the client's timers matter. The last ones make anew the table that others read.
CASES = {
    "append": (2_000_000, False),
    "scan": (2_000_000, True),
    "scan-2": (2_000_000, True),
    "upsert": (2_000_000, False),
    "lookup": (200_000, True),
    "lookup-1": (100, True),
    "visible": (100, True),
    "visible-busy": (100, True),
}
NEEDS = {"scan": "append", "scan-2": "append", "lookup": "upsert", "lookup-1": "upsert"}
# Single steps, some of which wait for timers of half a second: one counted run, as long at any scale.
STEPS = {"lookup-1", "visible", "visible-busy"}


class Sluice:
    """The server binary with the settings it ships with, over an empty directory."""

    def __init__(self, binary, directory):
        self.directory = pathlib.Path(directory)
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        log = self.directory / "server.log"
        with open(log, "w") as out:
            command = [binary, "server", "-D", f"data.dir={self.directory}/data", "-D", "bind.listeners=FLUSS://127.0.0.1:0", "-D", "http.listener="]
            self.process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        for _ in range(200):
            if found := re.search(r"is ready at (\S+)", log.read_text()):
                self.address = found.group(1)
                return
            time.sleep(0.05)
        raise SystemExit(f"sluice server did not become ready; its output is in {log}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=30)


def measure(java, jar, address, pids, case, rows, runs, settings):
    """(seconds, rows, server CPU seconds, [p50, p99] or none) of each run but the first."""
    command = [java, "-Xmx2g", "--add-opens=java.base/java.nio=ALL-UNNAMED", "-cp", jar, HERE / "ClientBench.java", address, case, str(rows), str(runs), *settings]
    found = []
    with open(RESULTS / "client.err", "w") as err, subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=err, text=True) as client:
        before = 0
        for line in client.stdout:
            words = line.split()
            if words[:1] == ["begin"]:
                before = cpu_seconds(pids)
            elif words[:1] == ["end"]:
                found.append((float(words[1]), int(words[2]), cpu_seconds(pids) - before, [float(w) for w in words[3:]]))
    if len(found) != runs + 1:
        raise SystemExit(f"{case} against {address} failed; what the client said is in {RESULTS}/client.err")
    return found[1:]


def summed_up(found):
    rate = statistics.median(rows / seconds for seconds, rows, _, _ in found)
    cpu = statistics.median(cpu / rows * 1e6 for _, rows, cpu, _ in found)
    late = [statistics.median(run[3][i] for run in found) for i in range(len(found[0][3]))]
    return {"rows_per_s": rate, "cpu_s_per_million": cpu, "p50_p99_ms": late}


def shown(case, ours, theirs):
    if case.startswith("visible"):
        return [f"p50 {s['p50_p99_ms'][0]:.1f} ms, p99 {s['p50_p99_ms'][1]:.1f} ms" for s in (ours, theirs)] + [f"{theirs['p50_p99_ms'][0] / ours['p50_p99_ms'][0]:.0f}", "", ""]
    rates = [f"{s['rows_per_s']:,.0f}/s" for s in (ours, theirs)]
    return rates + [f"{ours['rows_per_s'] / theirs['rows_per_s']:.2f}"] + [f"{s['cpu_s_per_million']:.2f}" for s in (ours, theirs)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", choices=[[], *CASES])
    parser.add_argument("--runs", type=int, default=3, help="counted runs of each case and server (default: 3)")
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of the rows (default: 1)")
    asked = parser.parse_args()
    wanted = [c for c in CASES if not asked.cases or c in asked.cases or c in {NEEDS.get(a) for a in asked.cases}]
    values = environment()
    java, jar = pathlib.Path(values["JAVA_HOME"]) / "bin/java", pathlib.Path(values["SLUICE_CLIENTS"]) / "fluss-client.jar"
    binary = pathlib.Path(values["CARGO_TARGET_DIR"]) / "release/sluice"
    RESULTS.mkdir(parents=True, exist_ok=True)
    server, _ = peer.fetch(values["SLUICE_CACHE"])
    rates = {}
    with peer.Cluster(server, java, RESULTS / "fluss") as fluss, Sluice(binary, RESULTS / "sluice") as sluice:
        sides = {"sluice": (sluice.address, [sluice.process.pid]), "fluss": (peer.BOOTSTRAP, fluss.pids())}
        for case in wanted:
            full, timed = CASES[case]
            rows, runs = (full, 1) if case in STEPS else (int(full * asked.scale), asked.runs)
            for tuning, settings in (("", []), ("tuned", TUNED))[: 2 if timed else 1]:
                name = f"{case} {tuning}".strip()
                print(f"{name}, {rows:,} rows, load {os.getloadavg()[0]:.1f}", flush=True)
                rates[name] = {}
                for side, (address, pids) in sides.items():
                    rates[name][side] = summed_up(measure(java, jar, address, pids, case, rows, runs, settings))
                    print(f"  {side:<7} {rates[name][side]}", flush=True)
    print("\n| case | Sluice | Fluss | times | server's CPU s/M | Fluss's |\n|---|---|---|---|---|---|")
    for name, by_side in rates.items():
        print(f"| {name} | {' | '.join(shown(name, by_side['sluice'], by_side['fluss']))} |")
    (RESULTS / f"clients-{time.strftime('%Y%m%d-%H%M%S')}.json").write_text(json.dumps(rates, indent=1))


if __name__ == "__main__":
    main()
