# shellcheck shell=bash disable=SC2034,SC2015,SC2016 # variables of ../cluster and of config/*.in; inner shells' $
# The machine's network and kernel settings: what is changed, and how it is put back.

SYSCTLS=(net.ipv4.ip_forward vm.overcommit_memory vm.panic_on_oom kernel.panic kernel.panic_on_oops
  kernel.keys.root_maxkeys kernel.keys.root_maxbytes)

make_network() {
  local s
  # The kubelet changes the kernel's settings too: all are put back by `down`.
  for s in "${SYSCTLS[@]}"; do
    if [ -r "/proc/sys/${s//.//}" ]; then echo "$s $(cat "/proc/sys/${s//.//}")"; fi
  done >"$STATE/sysctls"
  echo 1 >/proc/sys/net/ipv4/ip_forward
  ip link add "$BRIDGE" type bridge
  nft list tables >"$STATE/network"
  ip addr add "$NODE_IP/32" dev "$BRIDGE"
  ip link set "$BRIDGE" up
  # Addresses of no pod and no service end here, never on the machine's network.
  ip route add "$POD_CIDR" dev "$BRIDGE" src "$NODE_IP"
  ip route add "$SERVICE_CIDR" dev "$BRIDGE" src "$NODE_IP"
  # Pods reach the cluster only; what is outside reaches neither pods nor our ports.
  nft -f - <<E
table inet $NFT_TABLE {
  chain forward {
    type filter hook forward priority -10; policy accept;
    ct state established,related accept
    ip saddr $POD_CIDR ip daddr != { $POD_CIDR, $SERVICE_CIDR, $NODE_IP } reject with icmp type admin-prohibited
    ip daddr { $POD_CIDR, $SERVICE_CIDR } iifname != { "veth*", "$BRIDGE" } reject with icmp type admin-prohibited
  }
  chain input {
    type filter hook input priority -10; policy accept;
    iifname { "lo", "veth*", "$BRIDGE" } accept
    tcp dport { $API_PORT, $KUBELET_PORT } drop
  }
}
E
}

drop_network() {
  local t chain
  [ -f "$STATE/network" ] || return 0
  ip link del "$BRIDGE" 2>/dev/null || true
  for t in "inet $NFT_TABLE" "ip kube-proxy" "ip6 kube-proxy"; do
    # shellcheck disable=SC2086
    nft delete table $t 2>/dev/null || true
  done
  # hostPort rules of the portmap plug-in
  if have iptables-save && [[ $(iptables-save -t nat 2>/dev/null) == *CNI-* ]]; then
    iptables -t nat -S | sed -n 's/^-A \(.* CNI-.*\)/-D \1/p; s/^-A \(CNI-.*\)/-D \1/p' | sort -u |
      while read -r chain; do eval "iptables -t nat $chain" 2>/dev/null || true; done
    iptables -t nat -S | sed -n 's/^-N \(CNI-.*\)/\1/p' |
      while read -r chain; do iptables -t nat -F "$chain" && iptables -t nat -X "$chain"; done || true
  fi
  # Tables that iptables made for those rules
  for t in "ip nat" "ip6 nat"; do
    # shellcheck disable=SC2086
    if ! grep -qx "table $t" "$STATE/network" && ! grep -qvE '^(table.*|\s*chain.*|\s*type.*|\s*\}|\s*)$' <<<"$(nft list table $t 2>/dev/null)"; then
      nft delete table $t 2>/dev/null || true
    fi
  done
  while read -r t chain; do echo "$chain" >"/proc/sys/${t//.//}" 2>/dev/null || true; done <"$STATE/sysctls"
  rm -f "$STATE/network" "$STATE/sysctls"
}
