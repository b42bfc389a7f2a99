#!/usr/bin/env bash
# Stops the development cluster that up.sh started, with all that is in it; says so when there is none.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/locations.sh"
CLUSTER=$WINDLASS_CACHE/cluster

if [ "${USE_EXISTING_CLUSTER:-}" = true ]; then
  echo "USE_EXISTING_CLUSTER is true: that cluster was not started from here and is left alone" >&2
  exit
fi
# The process is looked at before it is ended: after a restart of the machine its number may be somebody else's.
run=$(cat "$CLUSTER/run.pid" 2>/dev/null || true)
if [ -n "$run" ] && ps -p "$run" -o args= 2>/dev/null | grep -qF "run.sh --dir $CLUSTER"; then
  kill -TERM "$run"
  while kill -0 "$run" 2>/dev/null; do sleep 0.1; done
  echo "the cluster in $CLUSTER is stopped" >&2
else
  echo "no cluster is running in $CLUSTER" >&2
fi
rm -f "$CLUSTER/run.pid" "$CLUSTER/lifeline"
