# shellcheck shell=bash disable=SC2034,SC2015,SC2016 # variables of ../cluster and of config/*.in; inner shells' $
# Bringing the node up.

start_control_plane() {
  local mode=$1 bind=127.0.0.1 reconciler=none
  if [ "$mode" = full ]; then bind=0.0.0.0 reconciler=lease; fi
  # fsync off: the data does not outlive the cluster.
  spawn etcd "$BIN/etcd" --name default --data-dir "$STATE/etcd" --unsafe-no-fsync --log-level warn \
    --listen-client-urls "http://127.0.0.1:$ETCD_PORT" --advertise-client-urls "http://127.0.0.1:$ETCD_PORT" \
    --listen-peer-urls "http://127.0.0.1:$ETCD_PEER_PORT" --initial-advertise-peer-urls "http://127.0.0.1:$ETCD_PEER_PORT" \
    --initial-cluster "default=http://127.0.0.1:$ETCD_PEER_PORT" --quota-backend-bytes 4294967296
  wait_for 20 "etcd" bash -c "exec 3<>/dev/tcp/127.0.0.1/$ETCD_PORT"
  # shellcheck disable=SC2086
  spawn kube-apiserver "$BIN/kube-apiserver" --etcd-servers "http://127.0.0.1:$ETCD_PORT" \
    --bind-address $bind --secure-port "$API_PORT" --advertise-address "$NODE_IP" --endpoint-reconciler-type $reconciler \
    --tls-cert-file "$PKI/apiserver.crt" --tls-private-key-file "$PKI/apiserver.key" --client-ca-file "$PKI/ca.crt" \
    --authorization-mode Node,RBAC --enable-admission-plugins NodeRestriction --allow-privileged \
    --service-cluster-ip-range "$SERVICE_CIDR" \
    --service-account-issuer https://kubernetes.default.svc.cluster.local \
    --service-account-key-file "$PKI/sa.pub" --service-account-signing-key-file "$PKI/sa.key" \
    --kubelet-certificate-authority "$PKI/ca.crt" --kubelet-preferred-address-types InternalIP \
    --kubelet-client-certificate "$PKI/apiserver-kubelet-client.crt" --kubelet-client-key "$PKI/apiserver-kubelet-client.key" \
    --requestheader-client-ca-file "$PKI/front-proxy-ca.crt" --requestheader-allowed-names front-proxy-client \
    --requestheader-username-headers X-Remote-User --requestheader-group-headers X-Remote-Group \
    --requestheader-extra-headers-prefix X-Remote-Extra- \
    --proxy-client-cert-file "$PKI/front-proxy-client.crt" --proxy-client-key-file "$PKI/front-proxy-client.key" \
    --event-ttl 24h --shutdown-delay-duration 0s --profiling=false ${CLUSTER_APISERVER_ARGS:-}
}

start_controllers() {
  # shellcheck disable=SC2086
  spawn kube-controller-manager "$BIN/kube-controller-manager" --kubeconfig "$PKI/kube-controller-manager.kubeconfig" \
    --bind-address 127.0.0.1 --secure-port $KCM_PORT --leader-elect=false --use-service-account-credentials \
    --root-ca-file "$PKI/ca.crt" --service-account-private-key-file "$PKI/sa.key" \
    --cluster-signing-cert-file "$PKI/ca.crt" --cluster-signing-key-file "$PKI/ca.key" \
    --cluster-cidr "$POD_CIDR" --service-cluster-ip-range "$SERVICE_CIDR" --allocate-node-cidrs=false \
    --flex-volume-plugin-dir "$STATE/volume-plugins" --kube-api-qps 200 --kube-api-burst 400 ${CLUSTER_CONTROLLER_MANAGER_ARGS:-}
}

start_scheduler() {
  # shellcheck disable=SC2086
  spawn kube-scheduler "$BIN/kube-scheduler" --kubeconfig "$PKI/kube-scheduler.kubeconfig" \
    --authentication-kubeconfig "$PKI/kube-scheduler.kubeconfig" --authorization-kubeconfig "$PKI/kube-scheduler.kubeconfig" \
    --bind-address 127.0.0.1 --secure-port $SCHEDULER_PORT --leader-elect=false \
    --kube-api-qps 200 --kube-api-burst 400 ${CLUSTER_SCHEDULER_ARGS:-}
}

start_containerd() {
  mkdir -p "$STATE/containerd" "$STATE/cni/net.d"
  render containerd.toml >"$STATE/containerd/config.toml"
  render cni.conflist >"$STATE/cni/net.d/10-cluster.conflist"
  spawn containerd containerd --config "$STATE/containerd/config.toml"
}

# Folders that any user may write, as volumes for claims of the class "standard". All go with the node.
make_volumes() {
  local VOLUME
  for VOLUME in {1..10}; do
    mkdir -p "$STATE/volumes/$VOLUME"
    chmod 777 "$STATE/volumes/$VOLUME"
    render volume.yaml
  done | kubectl apply -f - >/dev/null
}

start_node() {
  mkdir -p "$STATE/kubelet" "$STATE/volume-plugins" "$STATE/pod-logs" "$STATE/dns"
  cp /etc/resolv.conf "$STATE/resolv.conf" 2>/dev/null || : >"$STATE/resolv.conf"
  render kubelet.yaml >"$STATE/kubelet.yaml"
  render kube-proxy.yaml >"$STATE/kube-proxy.yaml"
  render Corefile >"$STATE/dns/Corefile"
  # shellcheck disable=SC2086
  spawn kubelet "$BIN/kubelet" --config "$STATE/kubelet.yaml" --kubeconfig "$PKI/kubelet.kubeconfig" \
    --root-dir "$STATE/kubelet" --cert-dir "$STATE/kubelet/pki" --hostname-override "$NODE" --node-ip "$NODE_IP" \
    ${CLUSTER_KUBELET_ARGS:-}
  spawn kube-proxy "$BIN/kube-proxy" --config "$STATE/kube-proxy.yaml"
  spawn coredns "$BIN/coredns" -conf "$STATE/dns/Corefile"
}

api_ready() { kubectl get --raw /readyz; }
node_ready() { [ "$(kubectl get node "$NODE" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}')" = True ]; }
dns_ready() { bash -c "exec 3<>/dev/tcp/127.0.0.1/$DNS_READY_PORT; printf 'GET /ready HTTP/1.0\r\n\r\n' >&3; head -1 <&3 | grep -q 200"; }
proxy_ready() { # (no "| grep -q" under pipefail: it fails when grep ends first)
  local rules
  rules=$(nft list map ip kube-proxy service-ips) && [[ $rules == *"$SERVICE_IP . tcp"* && $rules == *"$DNS_IP . udp"* ]]
}
account_ready() { kubectl get serviceaccount default -n default; }
do_up() {
  local mode=full controllers=no want port start=$SECONDS
  while [ $# -gt 0 ]; do
    case $1 in
      --control-plane-only) mode=control-plane ;;
      --controllers) controllers=yes ;;
      *) die "up: unknown argument $1" ;;
    esac
    shift
  done
  if [ "$mode" = full ]; then controllers=yes; fi
  want="$mode controllers=$controllers offset=$OFFSET"
  if [ "$mode" = full ]; then
    [ "$(id -u)" = 0 ] || die "up: not root (only --control-plane-only runs without)"
    do_deps
  fi
  have openssl || die "up: openssl is missing"
  do_build
  start=$SECONDS
  lock_state
  if [ -f "$STATE/mode" ]; then
    if [ "$(cat "$STATE/mode")" = "$want" ] && [ -f "$STATE/up" ] && all_alive; then
      say "already up"
      echo "$STATE/kubeconfig"
      return
    fi
    say "clearing what is left of an earlier cluster"
    take_down
  fi
  if [ "$mode" = full ] && ip link show "$BRIDGE" >/dev/null 2>&1; then
    die "up: interface $BRIDGE is there: another cluster is up on this machine (other CLUSTER_STATE?)"
  fi
  for port in "$API_PORT" "$ETCD_PORT" "$ETCD_PEER_PORT"; do
    if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
      die "up: port $port is in use: another cluster? Set CLUSTER_PORT_OFFSET (now $OFFSET)"
    fi
  done
  mkdir -p "$STATE"
  chmod 700 "$STATE"
  echo "$want" >"$STATE/mode"
  mkdir -p "$STATE/logs" "$STATE/pids" "$STATE/commands"
  make_cgroups
  if [ "$mode" = full ]; then
    make_pause
    make_network
    start_containerd
  fi
  make_pki
  start_control_plane $mode
  if [ "$mode" = full ]; then
    wait_for 30 "container runtime" ctr_ version
    do_import "$(archive_of "$PAUSE_IMAGE")" 2>/dev/null
  fi
  wait_for 60 "API server" api_ready
  if [ $controllers = yes ]; then start_controllers; fi
  if [ "$mode" = full ]; then
    start_scheduler
    render addons.yaml | kubectl apply -f - >/dev/null
    make_volumes
    start_node
  fi
  if [ $controllers = yes ]; then wait_for 60 "default service account" account_ready; fi
  if [ "$mode" = full ]; then
    wait_for 60 "Ready node" node_ready
    wait_for 30 "service proxy" proxy_ready
    wait_for 30 "DNS" dns_ready
  fi
  touch "$STATE/up"
  say "up in $((SECONDS - start)) s"
  echo "$STATE/kubeconfig"
}
