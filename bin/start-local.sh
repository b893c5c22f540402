#!/usr/bin/env bash
# Starts `sluice server` in the background and returns when it is ready.
#
#   bin/start-local.sh [-D KEY=VALUE]...   with conf/server.yaml; -D wins over it
#
# Its output goes to build/server.log, its process id to build/server.pid; bin/stop-local.sh ends it.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/bin/progress.sh"
case ${1:-} in -h | --help) sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit ;; esac
cd "$root"
pid_file=build/server.pid server_log=build/server.log
mkdir -p build
if [[ -s $pid_file ]] && kill -0 "$(<"$pid_file")" 2>/dev/null; then
  fail "a server runs already (process $(<"$pid_file")); bin/stop-local.sh ends it."
fi
eval "$(bin/setup --env)"
binary=$CARGO_TARGET_DIR/release/sluice
log=build/server-build.log
nothing_counted() { :; }
if [[ ! -x $binary || -n $(find Cargo.toml Cargo.lock native -newer "$binary" -name '*.[rt]*' -print -quit) ]]; then
  long "building the server (the first time about 5 minutes)" nothing_counted gradle --no-daemon --console=plain cargoBuild
  touch "$binary"
fi
"$binary" server --config conf/server.yaml "$@" >"$server_log" 2>&1 &
pid=$!
echo "$pid" >"$pid_file"
for _ in $(seq 300); do
  grep -q 'is ready' "$server_log" && { head -2 "$server_log"; exit 0; }
  kill -0 "$pid" 2>/dev/null || break
  sleep 0.1
done
tail -5 "$server_log" >&2
rm -f "$pid_file"
kill "$pid" 2>/dev/null || true
fail "the server did not become ready; its output is above."
