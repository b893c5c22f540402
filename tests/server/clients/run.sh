#!/usr/bin/env bash
# Clients that were written by others, against the server binary: pyfluss, the Java client, Fluss's own Flink connector.
#
#   tests/server/clients/run.sh BINARY [pyfluss|java|flink]...
#
# Needs `bin/setup clients` and the environment of `bin/setup --env`. The last line is `N passed, N failed`.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
binary=$1; shift
suites=("$@"); ((${#suites[@]})) || suites=(pyfluss java flink)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/sluice-clients.XXXXXX")
passed=0 failed=0 server=

stop() { # SIGTERM must end the server, and end it well
  [[ -n $server ]] || return 0
  kill "$server" 2>/dev/null || true
  local code=0; wait "$server" || code=$?
  server=
  if ((code == 0)); then echo "ok      the server ended with 0"; passed=$((passed + 1)); else echo "FAILED  the server ended with $code"; failed=$((failed + 1)); fi
}
# shellcheck disable=SC2154
trap 'code=$?; [[ -z $server ]] || kill -9 "$server" 2>/dev/null || true; ((code == 0)) && rm -rf "$scratch" || echo "kept: $scratch"' EXIT

user=alice password=a-secret-of-alice
"$binary" server -D "data.dir=$scratch/store" -D bind.listeners=FLUSS://127.0.0.1:0,CLIENT://127.0.0.1:0 -D security.protocol.map=CLIENT:SASL \
  -D "security.sasl.plain.jaas.config=org.apache.fluss.security.auth.sasl.plain.PlainLoginModule required user_$user=\"$password\";" \
  >"$scratch/server.log" 2>&1 &
server=$!
for _ in $(seq 100); do grep -q 'is ready' "$scratch/server.log" && break; sleep 0.1; done
address=$(sed -n 's/.*is ready at \([^ ]*\).*/\1/p' "$scratch/server.log")
asking=$(sed -n 's/.* and \([^ ]*\) (CLIENT SASL).*/\1/p' "$scratch/server.log")
[[ -n $address && -n $asking ]] || { cat "$scratch/server.log"; echo "0 passed, 1 failed"; exit 1; }
echo "the server is at $address"

add() { # log of a suite that counts by itself
  local counts; counts=$(sed -n 's/^\([0-9][0-9]*\) passed, \([0-9][0-9]*\) failed$/\1 \2/p' "$1" | tail -1)
  local p f; read -r p f <<<"${counts:-0 1}"
  passed=$((passed + p)) failed=$((failed + f))
}

for suite in "${suites[@]}"; do
  log=$scratch/$suite.log
  case $suite in
    pyfluss) timeout 300 "$SLUICE_CLIENTS/python/bin/python" "$here/programs.py" "$address" "$asking" "$user" "$password" 2>&1 | tee "$log" || true ;;
    java)
      timeout 300 "$JAVA_HOME/bin/java" -Xmx512m --add-opens=java.base/java.nio=ALL-UNNAMED -cp "$SLUICE_CLIENTS/fluss-client.jar" \
        "$here/JavaClient.java" "$address" "$asking" "$user" "$password" 2>&1 | grep -v '^SLF4J' | tee "$log" || true ;;
    flink) timeout 400 python3 "$here/flink.py" "$address" "$scratch" 2>&1 | tee "$log" || true ;;
    *) echo "there is no suite \"$suite\""; exit 2 ;;
  esac
  add "$log"
done
stop
if grep -q "$password" "$scratch/server.log"; then echo "FAILED  the server's output holds a password"; failed=$((failed + 1)); else echo "ok      no password in the server's output"; passed=$((passed + 1)); fi
echo "$passed passed, $failed failed"
((failed == 0))
