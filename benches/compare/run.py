#!/usr/bin/env python3
"""Flink SQL jobs, side by side: Sluice embedded in Flink, and Flink with an Apache Fluss 0.9.1 cluster, in one run on one machine.

    benches/compare/run.py [--runs N] [--scale F] [CASE...]       cases: generator log upsert scan scan-2 join

Both sides run in the same Flink SQL client (1.20.3, its cluster inside, two subtasks) on tables of eight columns (100 bytes a row) and four
buckets, in turns, after one run each to warm up. CPU is that of the client and, for Fluss, of its three processes too. Sluice syncs what it
acknowledges to the disk, Fluss (one replica, its own defaults) leaves that to the operating system. Fluss's timers are tuned where they would
rule: fetch wait 10 ms, lookup batch timeout 1 ms. Needs bin/quickstart or bin/build once before. Results: a table, and benches/compare/results/.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import time

import peer
from session import Session

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benches/compare/results"
COLUMNS = "id BIGINT, c1 INT, c2 INT, c3 BIGINT, s1 STRING, s2 STRING, s3 STRING, s4 STRING"
LENGTHS = ", ".join(f"'fields.s{i}.length' = '{n}'" for i, n in ((1, 16), (2, 20), (3, 20), (4, 20)))
KEYS = "'fields.{0}.min' = '0', 'fields.{0}.max' = '499999'"
HINT = "/*+ OPTIONS({}) */"


def datagen(name, columns, rows, options):
    return (
        f"CREATE TEMPORARY TABLE {name} ({columns}) WITH ('connector' = 'datagen', 'number-of-rows' = '{rows}', "
        f"'rows-per-second' = '1000000000', {options})"
    )


def blackhole(name, columns):
    return f"CREATE TEMPORARY TABLE {name} ({columns}) WITH ('connector' = 'blackhole')"


class Side:
    """One of the two systems."""

    def __init__(self, name, bootstrap, lib, pids, scan_hint="", join_hint=""):
        self.name, self.bootstrap, self.lib, self.pids = name, bootstrap, lib, pids
        self.scan_hint, self.join_hint = scan_hint, join_hint

    def session(self, flink, case):
        session = Session(ROOT, flink, self.lib, RESULTS / f"{self.name}-{case}.out", self.pids)
        session.run(f"CREATE CATALOG c WITH ('type' = 'fluss', 'bootstrap.servers' = '{self.bootstrap}')", "USE CATALOG c")
        return session


class Case:
    """`rows` at full scale; `first` statements once a session; `run(session, side, name, rows)` gives seconds and CPU seconds."""

    def __init__(self, rows, first, run, ends_session=False):
        self.rows, self.first, self.run, self.ends_session = rows, first, run, ends_session


def table(name, key=""):
    return [f"DROP TABLE IF EXISTS {name}", f"CREATE TABLE {name} ({COLUMNS}{key}) WITH ('bucket.num' = '4')"]


def run_generator(session, _, name, __):
    return session.bounded(name, "INSERT INTO nowhere SELECT * FROM source")


def run_log(session, _, name, __):
    session.run(*table("events"))
    return session.bounded(name, "INSERT INTO events SELECT * FROM source")


def run_upsert(session, _, name, __):
    session.run(*table("latest", ", PRIMARY KEY (id) NOT ENFORCED"))
    return session.bounded(name, "INSERT INTO latest SELECT * FROM source")


def scan_of(columns):
    def run(session, side, name, rows):
        options = ", ".join(filter(None, ["'scan.startup.mode' = 'earliest'", side.scan_hint]))
        return session.unbounded(name, f"INSERT INTO nowhere SELECT {columns} FROM events {HINT.format(options)}", rows)

    return run


def run_join(session, side, name, _):
    hint = HINT.format(side.join_hint) if side.join_hint else ""
    join = f"SELECT p.k, p.v, d.c1, d.s1, d.s4 FROM probe AS p LEFT JOIN latest {hint} FOR SYSTEM_TIME AS OF p.pt AS d ON p.k = d.id"
    return session.bounded(name, f"INSERT INTO nowhere {join}")


def random_rows(rows):
    return datagen("source", COLUMNS, rows, f"'fields.id.kind' = 'random', {LENGTHS}")


CASES = {
    "generator": Case(5_000_000, lambda n: [random_rows(n), blackhole("nowhere", COLUMNS)], run_generator),
    "log": Case(5_000_000, lambda n: [random_rows(n)], run_log),
    "scan": Case(5_000_000, lambda _: [blackhole("nowhere", COLUMNS)], scan_of("*"), ends_session=True),
    "scan-2": Case(5_000_000, lambda _: [blackhole("nowhere", "id BIGINT, c1 INT")], scan_of("id, c1"), ends_session=True),
    "upsert": Case(2_000_000, lambda n: [datagen("source", COLUMNS, n, f"{KEYS.format('id')}, {LENGTHS}")], run_upsert),
    "join": Case(
        1_000_000,
        lambda n: [
            datagen("probe", "k BIGINT, v INT, pt AS PROCTIME()", n, KEYS.format("k")),
            blackhole("nowhere", "k BIGINT, v INT, c1 INT, s1 STRING, s4 STRING"),
        ],
        run_join,
    ),
}
# Cases that read what another one wrote.
NEEDS = {"scan": "log", "scan-2": "log", "join": "upsert"}


def measure(side, flink, case_name, runs, scale):
    """(seconds, CPU seconds) of each run but the first."""
    case = CASES[case_name]
    rows = int(case.rows * scale)
    found, session = [], None
    for run in range(runs + 1):
        if session is None:
            session = side.session(flink, case_name)
            session.run(*case.first(rows))
        seconds, cpu = case.run(session, side, f"{case_name}-{run}", rows)
        found.append((seconds, cpu))
        note = " (warm-up)" if run == 0 else ""
        print(f"  {side.name:<7} {case_name:<10} {rows / seconds:>12,.0f} rows/s {cpu / rows * 1e6:>8.2f} CPU s/M{note}", flush=True)
        if case.ends_session:
            session.__exit__()
            session = None
    if session:
        session.__exit__()
    return found[1:]


def middle(found, rows):
    """Median rows/s and CPU seconds per million rows."""
    return rows / statistics.median(s for s, _ in found), statistics.median(c for _, c in found) / rows * 1e6


def environment():
    lines = subprocess.run([ROOT / "bin/setup", "--env"], capture_output=True, text=True, check=True).stdout.splitlines()
    return dict(line.removeprefix("export ").split("=", 1) for line in lines)


def lay_out(flink, connector):
    """Flink's own jars and the peer's connector, as links."""
    lib = RESULTS / "fluss-lib"
    shutil.rmtree(lib, ignore_errors=True)
    lib.mkdir(parents=True)
    for jar in [*(flink / "lib").glob("*.jar"), *connector.glob("*.jar")]:
        (lib / jar.name).symlink_to(jar)
    return lib


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", choices=[[], *CASES])
    parser.add_argument("--runs", type=int, default=3, help="counted runs of each case and side (default: 3)")
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of the rows (default: 1)")
    asked = parser.parse_args()
    wanted = [c for c in CASES if not asked.cases or c in asked.cases or c in {NEEDS.get(a) for a in asked.cases}]
    values = environment()
    flink, java = pathlib.Path(values["FLINK_HOME"]), pathlib.Path(values["JAVA_HOME"]) / "bin/java"
    os.environ["JAVA_HOME"] = values["JAVA_HOME"]
    RESULTS.mkdir(parents=True, exist_ok=True)
    server, connector = peer.fetch(values["SLUICE_CACHE"])
    store = RESULTS / "store"
    shutil.rmtree(store, ignore_errors=True)
    rates = {}
    with peer.Cluster(server, java, RESULTS / "fluss") as cluster:
        sides = [
            Side("sluice", f"embedded:{store}", ROOT / "build/flink-lib", []),
            Side(
                "fluss", peer.BOOTSTRAP, lay_out(flink, connector), cluster.pids(),
                "'client.scanner.log.fetch.wait-max-time' = '10ms'", "'client.lookup.batch-timeout' = '1ms'",
            ),
        ]
        for case in wanted:
            print(f"{case}, {int(CASES[case].rows * asked.scale):,} rows, load {os.getloadavg()[0]:.1f}", flush=True)
            rates[case] = {s.name: middle(measure(s, flink, case, asked.runs, asked.scale), CASES[case].rows * asked.scale) for s in sides}
    print("\n| case | Sluice rows/s | Fluss rows/s | times | Sluice CPU s/M | Fluss CPU s/M |\n|---|---|---|---|---|---|")
    for case, by_side in rates.items():
        (ours, our_cpu), (theirs, their_cpu) = by_side["sluice"], by_side["fluss"]
        print(f"| {case} | {ours:,.0f} | {theirs:,.0f} | {ours / theirs:.2f} | {our_cpu:.2f} | {their_cpu:.2f} |")
    (RESULTS / f"{time.strftime('%Y%m%d-%H%M%S')}.json").write_text(json.dumps(rates, indent=1))


if __name__ == "__main__":
    main()
