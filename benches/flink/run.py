#!/usr/bin/env python3
"""Flink SQL jobs over the embedded engine: seconds and CPU seconds per million rows.

    benches/flink/run.py [CASE...]        cases: generator log log-none upsert scan scan-2 join

Every case runs twice in a Flink SQL client of its own, with few and with many rows; the figures are the differences, so
the client's start, planning and part of the warm-up cancel out. A scan is over too soon for that: it reads the same MANY rows
once and AGAIN times more, each time as a job of its own. Two subtasks, rows of eight columns (100 bytes), four buckets.
Set FEW and MANY (rows, default 2000000 and 6000000) and AGAIN (default 5) for other sizes.
"""
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FEW, MANY = int(os.environ.get("FEW", 2_000_000)), int(os.environ.get("MANY", 6_000_000))
AGAIN = int(os.environ.get("AGAIN", 5))
COLUMNS = "id BIGINT, c1 INT, c2 INT, c3 BIGINT, s1 STRING, s2 STRING, s3 STRING, s4 STRING"
LENGTHS = ", ".join(f"'fields.s{i}.length' = '{n}'" for i, n in ((1, 16), (2, 20), (3, 20), (4, 20)))
KEYS = "'fields.id.min' = '0', 'fields.id.max' = '499999'"


def generator(name, rows, options, extra=""):
    return (
        f"CREATE TEMPORARY TABLE {name} ({COLUMNS}{extra}) WITH ('connector' = 'datagen', 'number-of-rows' = '{rows}', "
        f"'rows-per-second' = '1000000000', {options}, {LENGTHS});"
    )


def fill(table, rows, with_options="", key=""):
    options = KEYS if key else "'fields.id.kind' = 'random'"
    return [
        f"CREATE TABLE IF NOT EXISTS {table} ({COLUMNS}{key}) WITH ('bucket.num' = '4'{with_options});",
        generator("source", rows, options),
        f"INSERT INTO {table} SELECT * FROM source;",
    ]


BLACKHOLE = f"CREATE TEMPORARY TABLE nowhere ({COLUMNS}) WITH ('connector' = 'blackhole');"
PRIMARY_KEY = ", PRIMARY KEY (id) NOT ENFORCED"


def case_generator(rows):
    return [], [BLACKHOLE, generator("source", rows, "'fields.id.kind' = 'random'"), "INSERT INTO nowhere SELECT * FROM source;"]


def case_log(rows):
    return [], fill("log", rows)


def case_log_none(rows):
    return [], fill("log", rows, ", 'table.log.arrow.compression.type' = 'NONE'")


def case_upsert(rows):
    return [], fill("keyed", rows, key=PRIMARY_KEY)


def scan(columns, names):
    nowhere = f"CREATE TEMPORARY TABLE nowhere ({columns}) WITH ('connector' = 'blackhole');"
    return ["SET 'execution.runtime-mode' = 'batch';", nowhere], f"INSERT INTO nowhere SELECT {names} FROM log;"


SCANS = {"scan": scan(COLUMNS, "*"), "scan-2": scan("id BIGINT, c1 INT", "id, c1")}


def case_join(rows):
    probes = generator("probes", rows, KEYS, ", asked AS PROCTIME()")
    nowhere = "CREATE TEMPORARY TABLE nowhere (id BIGINT, s1 STRING) WITH ('connector' = 'blackhole');"
    join = "INSERT INTO nowhere SELECT p.id, k.s1 FROM probes AS p JOIN keyed FOR SYSTEM_TIME AS OF p.asked AS k ON p.id = k.id;"
    return fill("keyed", 1_500_000, key=PRIMARY_KEY), [probes, nowhere, join]


def client(store, statements):
    """Runs statements in one client; returns seconds and CPU seconds of the process, start included."""
    head = [
        f"CREATE CATALOG c WITH ('type' = 'fluss', 'bootstrap.servers' = 'embedded:{store}');",
        "USE CATALOG c;",
        "SET 'parallelism.default' = '2';",
        "SET 'table.dml-sync' = 'true';",
    ]
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write("\n".join(head + statements) + "\n")
        script.flush()
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        command = [ROOT / "bin/sql-client", "--", "-f", script.name]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode or "[ERROR]" in done.stdout:
        sys.exit(f"the client failed:\n{done.stdout[-3000:]}\n{done.stderr[-1000:]}")
    return time.monotonic() - started, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(case, rows):
    with tempfile.TemporaryDirectory(prefix="sluice-bench") as store:
        prepare, run = case(rows)
        if prepare:
            client(store, prepare)
        return client(store, run)


def measure_growing(case):
    (few_wall, few_cpu), (many_wall, many_cpu) = measure(case, FEW), measure(case, MANY)
    return MANY - FEW, many_wall - few_wall, many_cpu - few_cpu


def measure_repeated(before, statement):
    with tempfile.TemporaryDirectory(prefix="sluice-bench") as store:
        client(store, fill("log", MANY))
        once_wall, once_cpu = client(store, [*before, statement])
        more_wall, more_cpu = client(store, [*before, *[statement] * (1 + AGAIN)])
    return MANY * AGAIN, more_wall - once_wall, more_cpu - once_cpu


def main():
    cases = {name[5:].replace("_", "-"): f for name, f in globals().items() if name.startswith("case_")}
    known = [*cases, *SCANS]
    wanted = sys.argv[1:] or known
    unknown = [name for name in wanted if name not in known]
    if unknown:
        sys.exit(f"no case {', '.join(unknown)}; the cases are {', '.join(known)}")
    print(f"{'case':<10} {'rows/s':>12} {'CPU s per million rows':>24}   ({FEW:,} to {MANY:,} rows)")
    for name in wanted:
        rows, wall, cpu = measure_repeated(*SCANS[name]) if name in SCANS else measure_growing(cases[name])
        speed = f"{rows / wall:,.0f}" if wall > 1 else "too short"
        print(f"{name:<10} {speed:>12} {cpu / rows * 1e6:>24.2f}", flush=True)


if __name__ == "__main__":
    main()
