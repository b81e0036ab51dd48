# shellcheck shell=bash disable=SC2034,SC2015,SC2016 # variables of ../cluster and of config/*.in; inner shells' $
# Keys, certificates and kubeconfigs, and files made from config/*.in.

new_ca() { # NAME
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 -subj "/CN=$1" \
    -keyout "$PKI/$1.key" -out "$PKI/$1.crt" \
    -addext basicConstraints=critical,CA:true -addext keyUsage=critical,keyCertSign,cRLSign,digitalSignature 2>/dev/null
}

new_cert() { # NAME CA SUBJECT [SUBJECT-ALTERNATIVE-NAMES]
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "$3" \
    -keyout "$PKI/$1.key" -out "$PKI/$1.csr" 2>/dev/null
  openssl x509 -req -in "$PKI/$1.csr" -CA "$PKI/$2.crt" -CAkey "$PKI/$2.key" -set_serial "0x$(openssl rand -hex 12)" \
    -days 3650 -out "$PKI/$1.crt" -extfile <(
      echo "basicConstraints=CA:false"
      echo "keyUsage=digitalSignature"
      echo "extendedKeyUsage=clientAuth${4:+,serverAuth}"
      if [ -n "${4:-}" ]; then echo "subjectAltName=$4"; fi
    ) 2>/dev/null
  rm -f "$PKI/$1.csr"
}

new_kubeconfig() { # NAME FILE
  cat >"$2" <<E
apiVersion: v1
kind: Config
current-context: cluster
clusters:
- name: cluster
  cluster: {server: "https://127.0.0.1:$API_PORT", certificate-authority-data: $(base64 -w0 "$PKI/ca.crt")}
users:
- name: $1
  user: {client-certificate-data: $(base64 -w0 "$PKI/$1.crt"), client-key-data: $(base64 -w0 "$PKI/$1.key")}
contexts:
- name: cluster
  context: {cluster: cluster, user: $1}
E
  chmod 600 "$2"
}

make_pki() {
  local n
  mkdir -p "$PKI"
  new_ca ca
  new_ca front-proxy-ca
  openssl ecparam -name prime256v1 -genkey -noout -out "$PKI/sa.key" 2>/dev/null
  openssl ec -in "$PKI/sa.key" -pubout -out "$PKI/sa.pub" 2>/dev/null
  new_cert apiserver ca /CN=kube-apiserver "DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local,DNS:localhost,IP:127.0.0.1,IP:$SERVICE_IP,IP:$NODE_IP"
  new_cert admin ca /O=system:masters/CN=cluster-admin
  new_cert apiserver-kubelet-client ca /CN=kube-apiserver-kubelet-client
  new_cert front-proxy-client front-proxy-ca /CN=front-proxy-client
  new_cert kube-controller-manager ca /CN=system:kube-controller-manager
  new_cert kube-scheduler ca /CN=system:kube-scheduler
  new_cert kubelet ca "/O=system:nodes/CN=system:node:$NODE" "DNS:$NODE,IP:$NODE_IP,IP:127.0.0.1"
  new_cert kube-proxy ca /CN=system:kube-proxy
  new_cert coredns ca /CN=system:coredns
  for n in kube-controller-manager kube-scheduler kubelet kube-proxy coredns; do
    new_kubeconfig "$n" "$PKI/$n.kubeconfig"
  done
  new_kubeconfig admin "$STATE/kubeconfig"
}

# render TEMPLATE: the file with each @NAME@ replaced by that variable.
render() {
  local text name
  text=$(cat "$HERE/config/$1.in")
  for name in $(grep -o '@[A-Z_]*@' "$HERE/config/$1.in" | sort -u | tr -d @); do
    text=${text//@$name@/${!name}}
  done
  printf '%s\n' "$text"
}
