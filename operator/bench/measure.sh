#!/usr/bin/env bash
# Measures the operator, and training-operator beside it, against a real kube-apiserver and etcd on this machine: each
# row on a cluster of its own. Prints one line a row; README.md in this folder says what they mean.
#
#   operator/bench/measure.sh [PHASE...]     all phases unless named: idle calls plain burst large latency fair takeover
#                                            reference
#
# Needs build/bin with -DTENSORFLEET_BENCH=ON. REFERENCE names training-operator's program; without it that phase is
# left out, aloud. PORT_OFFSET moves all ports.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
bin=$PWD/build/bin
offset=${PORT_OFFSET:-300}
health=$((18081 + offset)) metrics=$((18080 + offset))
export CLUSTER_STATE=/tmp/operator-bench-$offset CLUSTER_PORT_OFFSET=$offset
cluster=$PWD/e2e/cluster/cluster
operator=0
children=()

say() { printf '%-10s %s\n' "$phase" "$*"; }
bench() { timeout 900 "$bin/operator-bench" --kubeconfig "$KUBECONFIG" "$@" | while read -r line; do say "$line"; done; }
kubectl() { command "$kubectl" --request-timeout=20s "$@"; }

stop() {
  local pid
  for pid in "${children[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${children[@]}"; do timeout 20 tail --pid="$pid" -f /dev/null || kill -9 "$pid" 2>/dev/null || true; done
  children=()
}
trap 'stop; "$cluster" down >/dev/null 2>&1 || true' EXIT

# A fresh API server with the TFJob resource.
fresh() {
  stop
  "$cluster" down >/dev/null 2>&1 || true
  KUBECONFIG=$("$cluster" up --control-plane-only --controllers 2>/dev/null)
  export KUBECONFIG
  kubectl=$("$cluster" env | sed -n 's/^export PATH=\([^:]*\):.*/\1/p')/kubectl
  kubectl apply -f deploy/crd/tfjob.yaml >/dev/null
  kubectl wait --for=condition=Established --timeout=30s crd/tfjobs.kubeflow.org >/dev/null
  sleep 3
}

# start NAME PROGRAM ARGS...: waits until it is ready, says how long that took and its size.
start() {
  local name=$1 begin port=$health
  shift
  begin=$(date +%s%N)
  "$@" >"$CLUSTER_STATE/$name.log" 2>&1 &
  operator=$!
  children+=("$operator")
  until curl -fs -o /dev/null "http://127.0.0.1:$port/readyz"; do
    kill -0 "$operator" || { tail -5 "$CLUSTER_STATE/$name.log"; exit 1; }
    sleep 0.005
  done
  say "$name: ready after $((($(date +%s%N) - begin) / 1000000)) ms, resident $(resident) MiB"
}
ours() {
  start tensorfleet "$bin/tensorfleet-operator" --kubeconfig "$KUBECONFIG" --metrics-bind-address="127.0.0.1:$metrics" \
    --health-probe-bind-address="127.0.0.1:$health" "$@"
}
# training-operator outside a cluster: what its Deployment mounts is put there by hand, and no request reaches its webhook.
reference() {
  local certs=/tmp/k8s-webhook-server/serving-certs file
  kubectl create namespace kubeflow >/dev/null
  kubectl -n kubeflow create secret generic training-operator-webhook-cert >/dev/null
  kubectl apply -f - >/dev/null <<Y
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: validator.training-operator.kubeflow.org}
webhooks: []
Y
  rm -rf "$certs"
  mkdir -p "$certs"
  (
    for _ in $(seq 300); do
      if [ -n "$(kubectl -n kubeflow get secret training-operator-webhook-cert -o 'jsonpath={.data.tls\.crt}')" ]; then
        for file in ca.crt ca.key tls.crt tls.key; do
          kubectl -n kubeflow get secret training-operator-webhook-cert -o "jsonpath={.data.${file/./\\.}}" | base64 -d >"$certs/$file"
        done
        break
      fi
      sleep 0.2
    done
  ) &
  start reference "$REFERENCE" --kubeconfig "$KUBECONFIG" --enable-scheme=tfjob --metrics-bind-address="127.0.0.1:$metrics" \
    --health-probe-bind-address="127.0.0.1:$health" --webhook-server-port=$((19443 + offset)) "$@"
}

resident() { awk '/^VmRSS/ {printf "%.1f", $2 / 1024}' "/proc/$operator/status"; }
ticks() { sed 's/.*) //' "/proc/$operator/stat" | awk '{print $12 + $13}'; }
idle() {
  sleep 10
  local before after
  before=$(ticks)
  sleep 30
  after=$(ticks)
  say "$1: idle, resident $(resident) MiB, $(awk "BEGIN {print ($after - $before) / 30}") % of a processor"
}

# Requests about pods, services and TFJobs that the API server has answered, but for those of operator-bench itself: the
# creation of TFJobs and the kubelet's writes of pods' status.
requests() {
  kubectl get --raw /metrics | awk '
    /^apiserver_request_total\{/ && /resource="(pods|services|tfjobs)"/ && /verb="(POST|PUT|PATCH|APPLY|DELETE|GET)"/ {
      if (/resource="tfjobs"/ && /subresource=""/ && /verb="POST"/) next
      if (/resource="pods"/ && /subresource="status"/) next
      sum += $NF
    }
    END {print sum + 0}'
}
calls() { # NAME
  local jobs=20 zero created finished
  zero=$(requests)
  bench burst $jobs
  sleep 5
  created=$(requests)
  bench finish
  sleep 5
  finished=$(requests)
  say "$1: requests for a job of 5 replicas, events apart: $(awk "BEGIN {print ($created - $zero) / $jobs}") until created," \
    "$(awk "BEGIN {print ($finished - $zero) / $jobs}") until finished"
}

phase_idle() { fresh; ours; idle tensorfleet; }
phase_calls() { fresh; ours; calls tensorfleet; }
phase_plain() { fresh; bench plain 1000; }
phase_burst() { fresh; ours; bench burst 1000 "$operator"; }
phase_large() {
  fresh
  ours
  bench burst 2000 "$operator"
  sleep 40
  say "tensorfleet: resident $(resident) MiB with 10,000 pods and 10,000 services, a while later"
}
phase_latency() {
  local finished
  fresh
  for finished in 10 1000 10000; do
    bench finished $finished 2>/dev/null
    ours
    sleep 5
    bench latency 100
    say "tensorfleet: with $finished finished jobs: resident $(resident) MiB"
    stop
  done
}
phase_fair() { fresh; ours; bench fair 1000 "$operator"; }
phase_takeover() {
  local leader signal
  for signal in 15 9; do
    fresh
    kubectl create namespace tensorfleet-system >/dev/null # of the lease
    ours --leader-elect
    leader=$operator
    health=$((health + 10)) metrics=$((metrics + 10))
    ours --leader-elect
    sleep 3
    bench takeover $signal "$leader"
    health=$((health - 10)) metrics=$((metrics - 10))
  done
}
phase_reference() {
  if [ ! -x "${REFERENCE:-}" ]; then
    say "left out: REFERENCE does not name training-operator's program"
    return
  fi
  fresh
  reference
  idle reference
  calls reference
  fresh # names are used once
  reference
  bench burst 100 "$operator"
  fresh
  reference --controller-threads=8 --kube-api-qps=10000 --kube-api-burst=10000
  bench burst 1000 "$operator"
  sleep 30
  say "reference: resident $(resident) MiB with 5,000 pods and 5,000 services, a while later"
  local finished
  for finished in 100 1000; do
    fresh
    bench finished $finished 2>/dev/null
    reference --controller-threads=8 --kube-api-qps=10000 --kube-api-burst=10000
    sleep 5
    bench latency 100
  done
}

phase=machine
say "$(nproc) processors, load average $(cut -d' ' -f1-3 /proc/loadavg), commit $(git rev-parse --short HEAD)"
if [ $# = 0 ]; then set -- idle calls plain burst large latency fair takeover reference; fi
for phase; do
  "phase_$phase"
  say "load average $(cut -d' ' -f1-3 /proc/loadavg)"
done
