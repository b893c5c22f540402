#!/usr/bin/env bash
# Ends the server that bin/start-local.sh started: it answers what it has taken, closes its store and exits.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/bin/progress.sh"
pid_file=$root/build/server.pid
[[ -s $pid_file ]] || { say "no server was started here"; exit 0; }
pid=$(<"$pid_file")
if kill "$pid" 2>/dev/null; then
  for _ in $(seq 300); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  if kill -0 "$pid" 2>/dev/null; then fail "process $pid does not end; see build/server.log"; fi
  say "the server has ended"
else
  say "the server had ended before"
fi
rm -f "$pid_file"
