#!/usr/bin/env bash
# Plays the whole product once on a control plane: builds host and guests, starts a cluster, installs everything,
# prints what happens, and cleans up. KEEP=1 uses the development cluster of `make cluster` and leaves it running.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}

echo "building the host and the guests (about 10 min the first time, seconds after that)"
cargo build --locked --quiet --workspace --bins

if [ "${KEEP:-}" = 1 ]; then
  deploy/control-plane/down.sh >/dev/null 2>&1 || true
  line=$(deploy/control-plane/up.sh)
  WINDLASS_DEMO_CLUSTER=${XDG_CACHE_HOME:-$HOME/.cache}/windlass/cluster "$target/debug/windlass-demo" "$target/debug/windlass"
  echo
  echo "the cluster goes on; look at it with"
  echo "  $line"
  echo "and end it with make cluster-down"
else
  exec "$target/debug/windlass-demo" "$target/debug/windlass"
fi
