# Says which versions the control plane has and where its binaries are. Sourced by the other scripts here.

KUBERNETES_VERSION=v1.37.2
ETCD_VERSION=v3.7.2
KWOK_VERSION=v0.8.0

CONTROL_PLANE_SOURCES=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
WINDLASS_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/windlass
# The versions are part of the path, so that a checkout with other versions builds its own and never runs these.
CONTROL_PLANE_CACHE=$WINDLASS_CACHE/control-plane/kubernetes-$KUBERNETES_VERSION-etcd-$ETCD_VERSION-kwok-$KWOK_VERSION
STAGES=$CONTROL_PLANE_CACHE/stages
# The name holds a checksum of the source, since that has no version of its own.
PREPARE=$CONTROL_PLANE_CACHE/prepare-$(cksum <"$CONTROL_PLANE_SOURCES/etcd/prepare/main.go" | cut -d' ' -f1)

# Prints the path of a binary: the one of KUBEBUILDER_ASSETS where it has one, else the one that build.sh makes.
binary() {
  if [ -n "${KUBEBUILDER_ASSETS:-}" ] && [ -x "$KUBEBUILDER_ASSETS/$1" ]; then
    echo "$KUBEBUILDER_ASSETS/$1"
  else
    echo "$CONTROL_PLANE_CACHE/$1"
  fi
}
