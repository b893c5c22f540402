# Sourced by the other scripts: telling what goes on. They set `log` to the file that takes a long step's output.
# shellcheck disable=SC2154
# shellcheck shell=bash

say() { printf '%s\n' "$*"; }
fail() { printf '\n%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }
clock() { local s=$1; if ((s < 60)); then echo "${s}s"; else echo "$((s / 60))m$((s % 60))s"; fi; }
step_head() { printf '%s' "$1"; }

# long TITLE COUNTER COMMAND...: runs it with its output in $log, and shows every second (or, without a terminal, every
# half minute) how long it has run and what COUNTER prints. On failure shows the end of the log and ends the script.
long() {
  local title=$1 counter=$2 started=$SECONDS every=30 shown=0 code=0 pid now; shift 2
  [[ -t 1 ]] && every=1
  step_head "$title"; say " ..."
  "$@" >"$log" 2>&1 &
  pid=$!
  # shellcheck disable=SC2064
  trap "kill $pid 2>/dev/null || true" EXIT
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.3
    now=$((SECONDS - started))
    ((now - shown >= every)) || continue
    shown=$now
    if [[ -t 1 ]]; then printf '\r\033[K      %s  %s' "$(clock "$now")" "$("$counter")"; else say "      $(clock "$now")  $("$counter")"; fi
  done
  wait "$pid" || code=$?
  trap - EXIT
  [[ -t 1 ]] && printf '\r\033[K'
  if ((code != 0)); then
    tail -25 "$log" >&2
    fail "\"$title\" failed (exit $code). The lines above are the end of $log."
  fi
  step_head "$title"; say ": done in $(clock $((SECONDS - started)))"
}
