#!/usr/bin/env bash
# Builds what is missing of the local control plane from source with Go: etcd, the Kubernetes binaries, kwok.
#
# The first run takes about a quarter of an hour on two cores; later ones find everything there and end at once.
# Everything goes to ${XDG_CACHE_HOME:-~/.cache}/windlass/control-plane. Binaries in KUBEBUILDER_ASSETS are used first.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/locations.sh"

say() { echo "control plane: $*" >&2; }

# build NAME MODULE PACKAGE EXPECTED [LDFLAGS]
build() {
  local name=$1 module=$2 package=$3 expected=$4 flags=${5:-} target began
  target=$(binary "$name")
  [ -x "$target" ] && return
  if ! command -v go >/dev/null; then
    say "$name has to be built and Go is not installed: install Go 1.26 or newer and run this again"
    exit 1
  fi
  say "building $name, takes about $expected on two cores"
  began=$SECONDS
  # Built under another name and moved, so that an interrupted build never leaves half a binary that looks whole.
  (cd "$CONTROL_PLANE_SOURCES/$module" &&
    CGO_ENABLED=0 go build -buildvcs=false -trimpath -ldflags "-s -w $flags" -o "$target.partial" "$package")
  mv "$target.partial" "$target"
  say "built $name in $((SECONDS - began)) s"
}

copy_stages() {
  [ -d "$STAGES" ] && return
  local kwok
  kwok=$(cd "$CONTROL_PLANE_SOURCES/kwok" && go mod download && go list -m -f '{{.Dir}}' sigs.k8s.io/kwok)
  rm -rf "$STAGES.partial"
  mkdir "$STAGES.partial"
  cp "$kwok"/kustomize/stage/node/fast/node-initialize.yaml \
    "$kwok"/kustomize/stage/node/heartbeat-with-lease/node-heartbeat-with-lease.yaml \
    "$kwok"/kustomize/stage/pod/fast/pod-{ready,complete,delete}.yaml "$STAGES.partial"
  # The module cache is read-only; a cache folder that cannot be deleted would be a nuisance.
  chmod u+w "$STAGES.partial"/*
  mv "$STAGES.partial" "$STAGES"
}

everything() {
  # Without these a client sees Kubernetes v0.0.0.
  local version=k8s.io/component-base/version minor
  minor=${KUBERNETES_VERSION#v1.}
  minor=${minor%%.*}
  local kubernetes="-X $version.gitVersion=$KUBERNETES_VERSION -X $version.gitMajor=1 -X $version.gitMinor=$minor"
  build "$(basename "$PREPARE")" etcd ./prepare "2 s"
  build etcd etcd . "1 min"
  build kube-apiserver kubernetes k8s.io/kubernetes/cmd/kube-apiserver "10 min" "$kubernetes"
  build kwok kwok sigs.k8s.io/kwok/cmd/kwok "2 min"
  copy_stages
  build kubectl kubernetes k8s.io/kubernetes/cmd/kubectl "1 min" "$kubernetes"
  build kube-controller-manager kubernetes k8s.io/kubernetes/cmd/kube-controller-manager "3 min" "$kubernetes"
  build kube-scheduler kubernetes k8s.io/kubernetes/cmd/kube-scheduler "1 min" "$kubernetes"
}

mkdir -p "$CONTROL_PLANE_CACHE"
# Two runs at once would compile everything twice; the second waits and then finds the first one's binaries.
if command -v flock >/dev/null; then
  exec 9>"$CONTROL_PLANE_CACHE/lock"
  flock --nonblock 9 || { say "waiting for another build that is under way"; flock 9; }
fi
everything
