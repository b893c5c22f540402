#!/usr/bin/env bash
# Paimon tables of every kind, written by us and read by pypaimon and by Paimon's Java; closes with `N passed, N failed`.
#
#   tests/lake/run.sh [DIRECTORY]    leaves the warehouses there and beside it (default: temporary ones)
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
: "${SLUICE_PAIMON:?run bin/setup, then: eval \"\$(bin/setup --env)\"}"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/sluice-lake.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
warehouse=${1:-$scratch/warehouse}
mkdir -p "$warehouse"

cd "$root"
SLUICE_LAKE_WAREHOUSE=$warehouse cargo test --quiet --locked --workspace --test judged
passed=0 failed=0
judge() { # name, command...
  local name=$1 out=$scratch/$1.log p f; shift
  timeout --kill-after=10 300 "$@" 2>&1 | tee "$out" || true
  read -r p f <<<"$(sed -n 's/^\([0-9][0-9]*\) passed, \([0-9][0-9]*\) failed$/\1 \2/p' "$out" | tail -1)"
  # A judge that fell silent has not agreed.
  passed=$((passed + ${p:-0})) failed=$((failed + ${f:-1}))
  echo "$name: ${p:-0} tables read right, ${f:-all} not"
}
judge pypaimon "$SLUICE_PAIMON/python/bin/python" tests/lake/judge.py "$warehouse"
jars="$SLUICE_PAIMON/jars/*:$(printf '%s:' "$FLINK_HOME"/lib/log4j-*.jar)"
"$JAVA_HOME/bin/javac" -d "$scratch/classes" -cp "$jars" tests/lake/Judge.java tests/lake/Compact.java
judge java "$JAVA_HOME/bin/java" -cp "$scratch/classes:$jars" Judge "$warehouse"

# We compact what we wrote; it reads the same.
SLUICE_LAKE_WAREHOUSE=$warehouse cargo test --quiet --locked --workspace --test judged -- --ignored --exact tables_that_we_compact
judge pypaimon-after-our-compaction "$SLUICE_PAIMON/python/bin/python" tests/lake/judge.py "$warehouse"
judge java-after-our-compaction "$JAVA_HOME/bin/java" -cp "$scratch/classes:$jars" Judge "$warehouse"

# Java compacts what we wrote; we read that and bring a round on top; all judge again.
"$JAVA_HOME/bin/java" -cp "$scratch/classes:$jars" Compact "$warehouse"
SLUICE_LAKE_WAREHOUSE=$warehouse cargo test --quiet --locked --workspace --test judged -- --ignored --exact tables_that_java_has_compacted
judge pypaimon-after-compaction "$SLUICE_PAIMON/python/bin/python" tests/lake/judge.py "$warehouse"
judge java-after-compaction "$JAVA_HOME/bin/java" -cp "$scratch/classes:$jars" Judge "$warehouse"

# The same for tables that a store has tiered, against what the store reads itself; it goes on after the compaction.
stored=$warehouse-of-a-store
mkdir -p "$stored"
SLUICE_LAKE_WAREHOUSE=$stored cargo test --quiet --locked --workspace --test lakehouse -- --exact judged::a_stores_lake_tables_hold_what_it_reads_itself
judge pypaimon-of-a-store "$SLUICE_PAIMON/python/bin/python" tests/lake/judge.py "$stored"
judge java-of-a-store "$JAVA_HOME/bin/java" -cp "$scratch/classes:$jars" Judge "$stored"
"$JAVA_HOME/bin/java" -cp "$scratch/classes:$jars" Compact "$stored"
SLUICE_LAKE_WAREHOUSE=$stored cargo test --quiet --locked --workspace --test lakehouse -- --ignored --exact judged::a_store_goes_on_with_lake_tables_that_java_has_compacted
judge pypaimon-of-a-store-after-compaction "$SLUICE_PAIMON/python/bin/python" tests/lake/judge.py "$stored"
judge java-of-a-store-after-compaction "$JAVA_HOME/bin/java" -cp "$scratch/classes:$jars" Judge "$stored"
SLUICE_LAKE_WAREHOUSE=$stored cargo test --quiet --locked --workspace --test lakehouse -- --ignored --exact judged::a_store_compacts_its_lake_tables_itself
judge pypaimon-of-a-store-after-its-compaction "$SLUICE_PAIMON/python/bin/python" tests/lake/judge.py "$stored"
judge java-of-a-store-after-its-compaction "$JAVA_HOME/bin/java" -cp "$scratch/classes:$jars" Judge "$stored"
SLUICE_LAKE_WAREHOUSE=$stored cargo test --quiet --locked --workspace --test lakehouse -- --ignored --exact judged::old_snapshots_of_a_stores_lake_tables_go
judge pypaimon-of-a-store-after-expiry "$SLUICE_PAIMON/python/bin/python" tests/lake/judge.py "$stored"
judge java-of-a-store-after-expiry "$JAVA_HOME/bin/java" -cp "$scratch/classes:$jars" Judge "$stored"

# And in a bucket of an S3 server.
mkfifo "$scratch/until"
"$SLUICE_PAIMON/python/bin/python" tests/lake/s3.py <"$scratch/until" >"$scratch/endpoint" 2>"$scratch/s3.log" &
exec 8>"$scratch/until"
for _ in $(seq 100); do [[ -s $scratch/endpoint ]] && break; sleep 0.2; done
SLUICE_S3=$(<"$scratch/endpoint")
[[ -n $SLUICE_S3 ]] || { cat "$scratch/s3.log"; echo "the S3 server did not start"; failed=$((failed + 1)); }
export SLUICE_S3
bucket() { # the tests of a bucket that are left out elsewhere
  local out=$scratch/bucket.log p f
  cargo test --quiet --locked --workspace --test lakehouse -- --ignored in_a_bucket 2>&1 | tee "$out" || true
  read -r p f <<<"$(sed -n 's/^test result: .* \([0-9][0-9]*\) passed; \([0-9][0-9]*\) failed.*/\1 \2/p' "$out" | tail -1)"
  passed=$((passed + ${p:-0})) failed=$((failed + ${f:-1}))
}
bucket
bucketed=$warehouse-in-a-bucket
mkdir -p "$bucketed"
SLUICE_LAKE_WAREHOUSE=$bucketed SLUICE_LAKE_BUCKET=$SLUICE_S3 cargo test --quiet --locked --workspace --test lakehouse -- --exact judged::a_stores_lake_tables_hold_what_it_reads_itself
judge pypaimon-in-a-bucket "$SLUICE_PAIMON/python/bin/python" tests/lake/judge.py "$bucketed" "warehouse=s3://lake/$(basename "$bucketed")" \
  "fs.s3.endpoint=$SLUICE_S3" fs.s3.accessKeyId=tests fs.s3.accessKeySecret=tests-secret fs.s3.region=us-east-1
exec 8>&-
echo "$passed passed, $failed failed"
((failed == 0 && passed > 0))
