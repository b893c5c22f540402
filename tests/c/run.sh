#!/usr/bin/env bash
# Builds the C smoke test against the shared library and runs it, under valgrind too where that is installed.
#
#   tests/c/run.sh [PROFILE]     PROFILE of the library: release (default) or dev
#
# The last line is "N passed, N failed".
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
profile=${1:-release}
target=${CARGO_TARGET_DIR:-$root/target}
folder=$profile; [[ $profile = dev ]] && folder=debug
library=$target/$folder
out=$root/tests/c/build

cd "$root"
cargo build --quiet --package sluice-jni --lib --profile "$profile" --locked
mkdir -p "$out"
gcc -std=c11 -O1 -g -Wall -Wextra -Werror -I native/jni/include tests/c/smoke.c -o "$out/smoke" \
  -L "$library" -lsluice_jni -lpthread -Wl,-rpath,"$library"

store=$(mktemp -d)
trap 'rm -rf "$store"' EXIT

# Only the two doors may be seen from outside: anything else could meet the same name in another library of the process.
others=$(nm -D --defined-only "$library/libsluice_jni.so" | awk '{print $3}' | grep -vE '^(Java_io_sluice_store_|JNI_OnLoad$|sluice_)' || true)
if [[ -n $others ]]; then
  echo "exported besides Java_*, JNI_* and sluice_*: $(echo $others | cut -c1-200)"
  echo "0 passed, 1 failed"
  exit 1
fi
if ! readelf -d "$library/libsluice_jni.so" | grep -q NODELETE; then
  echo "the library is not linked with -z nodelete"
  echo "0 passed, 1 failed"
  exit 1
fi

if command -v valgrind >/dev/null; then
  # The process keeps one-time allocations of the Rust runtime and RocksDB; only memory that nobody points at counts.
  if ! valgrind --quiet --error-exitcode=9 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite \
    "$out/smoke" "$store/valgrind" >"$out/valgrind.out" 2>&1; then
    tail -60 "$out/valgrind.out"
    echo "0 passed, 1 failed"
    exit 1
  fi
  echo "under valgrind: $(tail -1 "$out/valgrind.out")"
fi
"$out/smoke" "$store/plain"
