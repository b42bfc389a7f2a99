#!/usr/bin/env bash
# Runs a control plane of its own in the foreground: etcd, kube-apiserver, controller manager, scheduler and kwok.
#
# Usage: run.sh --dir DIRECTORY [--only-api] [--temporary] [--admission-plugin NAME]
#
# Prints one line on standard output once everything works: `ready KUBECONFIG=<path of the admin's kubeconfig>`.
# Everything it started ends when it gets SIGTERM or SIGINT and when its standard input ends: a test holds the other end
# of a pipe, so that nothing survives the test, however that dies. Each run begins with an empty cluster.
#
# In DIRECTORY: kubeconfig, audit.log, logs/<component>.log, kubectl (a link to the one in use), pki/ and data/.
# With --only-api there is no controller manager, scheduler or kwok: objects are stored and watched, and nothing acts
# on them. --admission-plugin turns one on that is off by default. With --temporary the directory is removed at the end,
# unless a component failed: then the logs stay.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/locations.sh"

SECONDS_TO_START=90
NODE=node-1

declare -A NAME_OF=()

say() { echo "control plane: $*" >&2; }

# Ends everything. Killed rather than asked: the data is thrown away, and kube-apiserver would wait for open watches.
stop() {
  trap '' TERM INT
  trap - EXIT
  # Bash would report each killed process.
  {
    kill -KILL "${!NAME_OF[@]}" || true
    wait || true
  } 2>/dev/null
  rm -rf "$DIRECTORY/data"
  if [ $TEMPORARY = yes ] && [ "$1" = 0 ]; then rm -rf "$DIRECTORY"; fi
  exit "$1"
}

# Fails with the end of the log of the component that is to blame.
fail() {
  local component=$1
  shift
  say "$*"
  if [ -s "$DIRECTORY/logs/$component.log" ]; then
    say "the end of $DIRECTORY/logs/$component.log:"
    tail -n 15 "$DIRECTORY/logs/$component.log" >&2
  fi
  stop 1
}

# start NAME COMMAND...: in the background, with a log of its own.
start() {
  local name=$1
  shift
  # Where the system can do it, the kernel ends the component with this script, also when that is killed outright.
  local with_parent=()
  if command -v setpriv >/dev/null; then with_parent=(setpriv --pdeathsig KILL); fi
  "${with_parent[@]}" "$@" >"$DIRECTORY/logs/$name.log" 2>&1 </dev/null &
  NAME_OF[$!]=$name
}

# Called when a process has ended that should not have.
ended() {
  local name=${NAME_OF[$1]:-unknown}
  unset "NAME_OF[$1]"
  if [ "$name" = lifeline ]; then
    say "standard input ended: stopping"
    stop 0
  fi
  fail "$name" "$name has ended by itself"
}

# await COMPONENT WHAT COMMAND...: until the command succeeds; watches over all processes meanwhile.
await() {
  local component=$1 what=$2 process
  shift 2
  until "$@" >/dev/null 2>&1; do
    for process in "${!NAME_OF[@]}"; do
      kill -0 "$process" 2>/dev/null || ended "$process"
    done
    [ "$SECONDS" -lt "$SECONDS_TO_START" ] || fail "$component" "$what has not come true within $SECONDS_TO_START s"
    sleep 0.1
  done
}

# api METHOD PATH [BODY]: one request as admin. curl, since starting kubectl takes longer than the request.
api() {
  local body=()
  if [ $# -gt 2 ]; then body=(--header "Content-Type: application/json" --data "$3"); fi
  curl --config "$DIRECTORY/pki/curl" --request "$1" "${body[@]}" "https://127.0.0.1:$API_SERVER_PORT$2"
}

node_is_ready() {
  api GET "/api/v1/nodes/$NODE" | tr -d ' \n' | grep -q '"type":"Ready","status":"True"'
}

# write_kubeconfig PATH TOKEN: with the authority inside, so that the file works wherever it is copied.
write_kubeconfig() {
  (
    umask 077
    cat >"$1" <<KUBECONFIG
apiVersion: v1
kind: Config
clusters:
- name: windlass
  cluster:
    server: https://127.0.0.1:$API_SERVER_PORT
    certificate-authority-data: $(base64 <"$DIRECTORY/pki/ca.crt" | tr -d '\n')
users:
- name: windlass
  user: {token: $2}
contexts:
- name: windlass
  context: {cluster: windlass, user: windlass}
current-context: windlass
KUBECONFIG
  )
}

start_api_server() {
  local etcd=http://127.0.0.1:$ETCD_CLIENT_PORT peer=http://127.0.0.1:$ETCD_PEER_PORT pki=$DIRECTORY/pki
  # No fsync: the data does not outlive this run, and a slow disk would slow every write down.
  start etcd "$(binary etcd)" --data-dir="$DIRECTORY/data" --unsafe-no-fsync --log-level=warn \
    --listen-client-urls="$etcd" --advertise-client-urls="$etcd" \
    --listen-peer-urls="$peer" --initial-advertise-peer-urls="$peer" --initial-cluster="default=$peer"
  # TaintNodesByCondition is off since nothing here takes its taints away again, see start_controllers.
  start kube-apiserver "$(binary kube-apiserver)" --etcd-servers="$etcd" \
    --bind-address=127.0.0.1 --advertise-address=127.0.0.1 --secure-port="$API_SERVER_PORT" \
    --cert-dir="$pki" --tls-cert-file="$pki/serving.crt" --tls-private-key-file="$pki/serving.key" \
    --token-auth-file="$pki/tokens.csv" --authorization-mode=RBAC \
    --service-account-issuer=https://kubernetes.default.svc \
    --service-account-key-file="$pki/service-accounts.pub" \
    --service-account-signing-key-file="$pki/service-accounts.key" \
    --service-cluster-ip-range=10.96.0.0/16 --endpoint-reconciler-type=none --profiling=false \
    --enable-admission-plugins="$ADMISSION_PLUGIN" --disable-admission-plugins=TaintNodesByCondition \
    --audit-policy-file="$CONTROL_PLANE_SOURCES/audit-policy.yaml" \
    --audit-log-path="$DIRECTORY/audit.log" --audit-log-maxsize=2000
  await kube-apiserver "the API server's /readyz" api GET /readyz
}

start_controllers() {
  # Off: what only complains here, and the node lifecycle, which would evict every pod when a busy machine delays
  # kwok's heartbeat.
  local off=-kube-apiserver-serving-clustertrustbundle-publisher-controller,-node-ipam-controller
  off+=,-node-lifecycle-controller
  start kube-controller-manager "$(binary kube-controller-manager)" \
    --kubeconfig="$DIRECTORY/pki/controller-manager.kubeconfig" --controllers="*,$off" \
    --service-account-private-key-file="$DIRECTORY/pki/service-accounts.key" \
    --root-ca-file="$DIRECTORY/pki/ca.crt" --use-service-account-credentials --leader-elect=false \
    --kube-api-qps=200 --kube-api-burst=400 --profiling=false \
    --bind-address=127.0.0.1 --secure-port="$CONTROLLER_MANAGER_PORT" --cert-dir="$DIRECTORY/pki"
  start kube-scheduler "$(binary kube-scheduler)" --kubeconfig="$DIRECTORY/pki/scheduler.kubeconfig" \
    --leader-elect=false --kube-api-qps=200 --kube-api-burst=400 --profiling=false \
    --bind-address=127.0.0.1 --secure-port="$SCHEDULER_PORT" --cert-dir="$DIRECTORY/pki"
  local stages=() stage
  for stage in "$STAGES"/*.yaml; do stages+=(--config "$stage"); done
  start kwok "$(binary kwok)" --kubeconfig="$DIRECTORY/pki/kwok.kubeconfig" --manage-all-nodes=true \
    "${stages[@]}" --node-lease-duration-seconds=40 --node-port="$KWOK_NODE_PORT" \
    --server-address="127.0.0.1:$KWOK_SERVER_PORT"
  local room='{"cpu": "256", "memory": "1Ti", "pods": "20000"}'
  await kube-apiserver "a node that can be created" api POST /api/v1/nodes '{"apiVersion": "v1", "kind": "Node",
    "metadata": {"name": "'$NODE'", "labels": {"type": "kwok", "kubernetes.io/hostname": "'$NODE'"}},
    "status": {"allocatable": '"$room"', "capacity": '"$room"'}}'
  await kube-controller-manager "the default ServiceAccount" api GET /api/v1/namespaces/default/serviceaccounts/default
  await kwok "the node's being Ready" node_is_ready
}

DIRECTORY=
ONLY_API=no
TEMPORARY=no
ADMISSION_PLUGIN=
USAGE='usage: run.sh --dir DIRECTORY [--only-api] [--temporary] [--admission-plugin NAME]'
while [ $# -gt 0 ]; do
  case $1 in
    --dir) DIRECTORY=${2:?--dir needs a directory}; shift ;;
    --only-api) ONLY_API=yes ;;
    --temporary) TEMPORARY=yes ;;
    --admission-plugin) ADMISSION_PLUGIN=${2:?--admission-plugin needs a name}; shift ;;
    *) echo "$USAGE" >&2; exit 2 ;;
  esac
  shift
done
[ -n "$DIRECTORY" ] || { echo "$USAGE" >&2; exit 2; }
if [ "${BASH_VERSINFO[0]}${BASH_VERSINFO[1]}" -lt 51 ]; then say "needs bash 5.1 or newer, this is $BASH_VERSION"; exit 1; fi
for component in "$PREPARE" "$(binary etcd)" "$(binary kube-apiserver)"; do
  [ -x "$component" ] || { say "$component is missing: run deploy/control-plane/build.sh first"; exit 1; }
done

mkdir -p "$DIRECTORY"
DIRECTORY=$(cd "$DIRECTORY" && pwd)
rm -rf "$DIRECTORY"/{data,logs,pki,audit.log,kubeconfig}
mkdir -p "$DIRECTORY/logs"
ln -sf "$(binary kubectl)" "$DIRECTORY/kubectl"
trap 'say "stopping"; stop 0' TERM INT
trap 'stop 1' EXIT

# The lifeline ends when standard input does. Descriptor 3, since bash gives background jobs an empty standard input.
exec 3<&0
cat <&3 >/dev/null &
NAME_OF[$!]=lifeline
exec 3<&-

prepared=$("$PREPARE" "$DIRECTORY/pki") || fail prepare "keys and ports could not be prepared"
eval "$prepared"
cat >"$DIRECTORY/pki/curl" <<CURL
silent
fail
max-time = 10
cacert = "$DIRECTORY/pki/ca.crt"
header = "Authorization: Bearer $ADMIN_TOKEN"
CURL
write_kubeconfig "$DIRECTORY/kubeconfig" "$ADMIN_TOKEN"
write_kubeconfig "$DIRECTORY/pki/controller-manager.kubeconfig" "$CONTROLLER_MANAGER_TOKEN"
write_kubeconfig "$DIRECTORY/pki/scheduler.kubeconfig" "$SCHEDULER_TOKEN"
write_kubeconfig "$DIRECTORY/pki/kwok.kubeconfig" "$KWOK_TOKEN"

start_api_server
[ $ONLY_API = yes ] || start_controllers
say "ready after $SECONDS s"
echo "ready KUBECONFIG=$DIRECTORY/kubeconfig"

finished=
while :; do
  wait -n -p finished "${!NAME_OF[@]}" || true
  # Empty when a trapped signal interrupted the wait.
  [ -z "$finished" ] || ended "$finished"
done
