#!/usr/bin/env bash
# Starts the one development cluster of this machine, unless it is running, and prints the line that selects it.
#
# USE_EXISTING_CLUSTER=true selects the cluster of the current kubeconfig instead and starts nothing. That is never done
# silently, so that nothing here can touch somebody's real cluster by accident.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/locations.sh"
CLUSTER=$WINDLASS_CACHE/cluster

if [ "${USE_EXISTING_CLUSTER:-}" = true ]; then
  kubeconfig=${KUBECONFIG:-$HOME/.kube/config}
  # KUBECONFIG may be a list of files, of which some need not be there; kubectl itself reports a bad one.
  case $kubeconfig in
    *:*) ;;
    *) [ -f "$kubeconfig" ] || { echo "USE_EXISTING_CLUSTER is true and there is no kubeconfig at $kubeconfig" >&2; exit 1; } ;;
  esac
  echo "export KUBECONFIG=$kubeconfig"
  exit
fi

running() {
  [ -f "$CLUSTER/run.pid" ] && ps -p "$(cat "$CLUSTER/run.pid")" -o args= 2>/dev/null | grep -qF "run.sh --dir $CLUSTER"
}

if ! running; then
  "$CONTROL_PLANE_SOURCES/build.sh"
  mkdir -p "$CLUSTER"
  rm -f "$CLUSTER"/{lifeline,run.out}
  mkfifo "$CLUSTER/lifeline"
  # Opened for reading and writing: run.sh itself holds the other end of its standard input, which so never ends.
  nohup setsid "$CONTROL_PLANE_SOURCES/run.sh" --dir "$CLUSTER" <>"$CLUSTER/lifeline" \
    >"$CLUSTER/run.out" 2>"$CLUSTER/run.log" &
  run=$!
  echo "$run" >"$CLUSTER/run.pid"
  until grep -q '^ready ' "$CLUSTER/run.out"; do
    kill -0 "$run" 2>/dev/null || { cat "$CLUSTER/run.log" >&2; exit 1; }
    sleep 0.1
  done
fi
echo "export KUBECONFIG=$CLUSTER/kubeconfig"
