# Sourced by bin/quickstart: a Flink cluster on this machine, one JobManager and one TaskManager, each a process of its own.
# shellcheck shell=bash
# shellcheck disable=SC2154

flink_pids=()

free_ports() { # N: so many ports that nobody listens on
  python3 -c '
import socket, sys
held = [socket.socket() for _ in range(int(sys.argv[1]))]
for s in held: s.bind(("localhost", 0))
print(*(s.getsockname()[1] for s in held))' "$1"
}

# flink_start DIRECTORY: starts it with its configuration and output in there, and returns when it has slots for jobs.
flink_start() {
  local directory=$1 rest rpc started=$SECONDS
  rm -rf "$directory"
  mkdir -p "$directory/conf"
  cp "$root"/conf/flink/*.properties "$directory/conf/"
  read -r rest rpc <<<"$(free_ports 2)"
  { sed 's/target: local$/target: remote/' "$root/conf/flink/config.yaml"; cat "$root/conf/flink/cluster.yaml"; printf 'rest.port: %d\njobmanager.rpc.port: %d\n' "$rest" "$rpc"; } \
    >"$directory/conf/config.yaml"
  local service
  for service in jobmanager taskmanager; do
    env -u JVM_ARGS FLINK_CONF_DIR="$directory/conf" FLINK_LIB_DIR="$root/build/flink-lib" FLINK_LOG_DIR="$directory" FLINK_PID_DIR="$directory" \
      "$FLINK_HOME/bin/$service.sh" start-foreground >"$directory/$service.out" 2>&1 </dev/null &
    flink_pids+=($!)
  done
  say "Flink's JobManager (process ${flink_pids[0]}, http://localhost:$rest) and TaskManager (process ${flink_pids[1]}) are starting ..."
  while ! flink_slots "$rest"; do
    local pid
    for pid in "${flink_pids[@]}"; do
      kill -0 "$pid" 2>/dev/null || { tail -n 15 "$directory"/*.out >&2; fail "a process of the Flink cluster ended at its start; its output is above and in $directory."; }
    done
    ((SECONDS - started < 120)) || { tail -n 15 "$directory"/*.out >&2; fail "the Flink cluster has no slots after two minutes; the end of its output is above, the rest in $directory."; }
    sleep 0.5
  done
  say "Flink is ready after $(clock $((SECONDS - started)))."
}

flink_slots() { # PORT: whether jobs can run
  python3 -c '
import json, sys, urllib.request
try: told = json.load(urllib.request.urlopen(f"http://localhost:{sys.argv[1]}/overview", timeout=5))
except OSError: sys.exit(1)
sys.exit(told["slots-total"] == 0)' "$1"
}

flink_stop() {
  local pid
  ((${#flink_pids[@]})) || return 0
  kill "${flink_pids[@]}" 2>/dev/null || true
  for pid in "${flink_pids[@]}"; do
    for _ in $(seq 200); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
    kill -9 "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  flink_pids=()
  say "Flink has ended."
}
