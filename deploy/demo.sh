#!/usr/bin/env bash
# Plays the whole product once on a control plane: builds host and guests, starts a cluster, installs everything,
# prints what happens, and cleans up. KEEP=1 uses the development cluster of `make cluster` and leaves it running.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "${USE_EXISTING_CLUSTER:-}" = true ]; then
  echo "the demo kills its host and counts what is written: it only runs on a cluster of its own, without USE_EXISTING_CLUSTER" >&2
  exit 1
fi
target=${CARGO_TARGET_DIR:-target}

echo "building the host and the guests (about 10 min the first time, seconds after that)"
cargo build --locked --quiet --workspace --bins

if [ "${KEEP:-}" = 1 ]; then
  if kill -0 "$(cat "${XDG_CACHE_HOME:-$HOME/.cache}/windlass/cluster/run.pid" 2>/dev/null)" 2>/dev/null; then
    echo "a development cluster runs already, and the demo needs an empty one: end it with make cluster-down" >&2
    exit 1
  fi
  line=$(deploy/control-plane/up.sh)
  WINDLASS_DEMO_CLUSTER=${XDG_CACHE_HOME:-$HOME/.cache}/windlass/cluster "$target/debug/windlass-demo" "$target/debug/windlass"
  echo
  echo "the cluster goes on, the host has ended; select the cluster, run a host on it, and end it at last with"
  echo "  $line"
  echo "  make run"
  echo "  make cluster-down"
else
  exec "$target/debug/windlass-demo" "$target/debug/windlass"
fi
