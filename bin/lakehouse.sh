#!/usr/bin/env bash
# Submits the job that brings rows into the lake to a running Flink cluster (docs/lake.md).
#
#   bin/lakehouse.sh -D flink.rest.address=localhost -D flink.rest.port=8081 [-D KEY=VALUE]...
#
#   flink.KEY                 KEY of Flink's configuration, for this job: rest.address, rest.port, parallelism.default, ...
#   fluss.bootstrap.servers   the server as host:port (default localhost:9123); other fluss.KEY go to the connection
#   database                  which databases: a regular expression for the whole name (default: all)
#
# FLINK_HOME: the Flink to submit with (default: the one of bin/setup).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/bin/progress.sh"
case ${1:-} in -h | --help) sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit ;; esac

cluster=() job=()
while (($#)); do
  case $1 in
    -D) [[ $# -ge 2 ]] || fail "-D needs KEY=VALUE after it."; option=$2; shift 2 ;;
    -D*) option=${1#-D}; shift ;;
    *) fail "'$1' is not an option; options are -D KEY=VALUE." ;;
  esac
  [[ $option = ?*=* ]] || fail "'-D $option' is not an option; options are -D KEY=VALUE."
  case $option in
    flink.*) cluster+=("-D${option#flink.}") ;;
    *) job+=(-D "$option") ;;
  esac
done
[[ " ${cluster[*]-}" = *" -Drest.address="* ]] || fail "where Flink runs is missing: -D flink.rest.address=HOST."

home=${FLINK_HOME:-}
environment=$("$root/bin/setup" --env)
eval "$environment"
FLINK_HOME=${home:-$FLINK_HOME}
[[ -x $FLINK_HOME/bin/flink ]] || fail "there is no Flink in $FLINK_HOME; bin/setup flink fetches it, or set FLINK_HOME."
jar=$root/build/libs/sluice-flink-1.20.jar
[[ -s $jar ]] || "$root/bin/build"
exec "$FLINK_HOME/bin/flink" run --target remote "${cluster[@]}" --detached --class io.sluice.flink.tiering.TieringJob "$jar" "${job[@]}"
