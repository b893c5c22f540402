#!/usr/bin/env python3
"""A batch question that one of 20 partitions answers, against the same question over all of them.

    benches/flink/prune.py

Each partition has PER_PARTITION rows (default 1000000) of eight columns (100 bytes). Three clients ask REPEATS times (default 3): nothing of the
table, all partitions, one partition. What the first takes is the cost of starting and is taken off the others; the ratio of these is printed.
"""
import os
import sys
import tempfile

import run

PARTITIONS = 20
PER_PARTITION = int(os.environ.get("PER_PARTITION", 1_000_000))
REPEATS = int(os.environ.get("REPEATS", 3))
BATCH = "SET 'execution.runtime-mode' = 'batch';"


def fill():
    rows = PARTITIONS * PER_PARTITION
    part = f", 'fields.part.kind' = 'random', 'fields.part.min' = '0', 'fields.part.max' = '{PARTITIONS - 1}'"
    source = run.generator("source", rows, "'fields.id.kind' = 'random'" + part, ", part INT")
    table = f"CREATE TABLE parts ({run.COLUMNS}, part INT) PARTITIONED BY (part) WITH ('bucket.num' = '2');"
    return [BATCH, table, source, "INSERT INTO parts SELECT * FROM source;"]


def asked(table, condition):
    nowhere = "CREATE TEMPORARY TABLE nowhere (c1 INT, s1 STRING) WITH ('connector' = 'blackhole');"
    return [BATCH, nowhere] + [f"INSERT INTO nowhere SELECT c1, s1 FROM {table} WHERE {condition};"] * REPEATS


def main():
    with tempfile.TemporaryDirectory(prefix="sluice-bench") as store:
        run.client(store, fill())
        start, _ = run.client(store, asked("(VALUES (1, 'a')) AS t (c1, s1)", "c1 > 0"))
        whole, _ = run.client(store, asked("parts", "part >= 0"))
        one, _ = run.client(store, asked("parts", "part = 7"))
    print(f"{PARTITIONS} partitions of {PER_PARTITION:,} rows, {REPEATS} times: all {whole - start:.2f} s, one {one - start:.2f} s above {start:.2f} s of start-up")
    print(f"pruning {PARTITIONS - 1} of {PARTITIONS} partitions is {(whole - start) / max(one - start, 1e-9):.1f} times faster")


if __name__ == "__main__":
    sys.exit(main())
