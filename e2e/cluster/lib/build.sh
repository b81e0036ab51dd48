# shellcheck shell=bash disable=SC2034,SC2015,SC2016 # variables of ../cluster and of config/*.in; inner shells' $
# The Kubernetes programs, compiled from the modules of go.mod, and the Debian packages that a node needs.

declare -A PACKAGE=(
  [containerd]=containerd [runc]=runc [buildah]=buildah [debootstrap]=debootstrap
  [busybox]=busybox-static [nft]=nftables [iptables]=iptables [ip]=iproute2 [openssl]=openssl [flock]=util-linux
)

do_deps() {
  local c missing=()
  for c in "${!PACKAGE[@]}"; do have "$c" || missing+=("${PACKAGE[$c]}"); done
  [ -x "$CNI_BIN/ptp" ] || missing+=(containernetworking-plugins)
  if [ ${#missing[@]} -eq 0 ]; then return; fi
  [ "$(id -u)" = 0 ] || die "not root; missing packages: ${missing[*]}"
  say "installing ${missing[*]}"
  apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

module_version() { awk -v m="$1" '$1 == m && $2 ~ /^v/ {print $2; exit}' "$HERE/go.mod"; }

go_build() { # DIR GO-BUILD-ARGS...
  have go || die "Go is not installed"
  (
    cd "$1" || exit
    shift
    CGO_ENABLED=0 GOFLAGS=-mod=readonly GOWORK=off go build -p "$(nproc)" -trimpath -buildvcs=false "$@"
  ) >&2
}

stamp_of() { { cd "$HERE" && cat "$@" && go env GOVERSION GOARCH; } | sha256sum | cut -c1-16; }

# What the programs say of their version.
linker_flags() {
  local k8s helm minor x
  k8s=$(module_version k8s.io/kubernetes)
  helm=$(module_version helm.sh/helm/v3)
  minor=${k8s#v1.}
  minor=${minor%%.*}
  x="-X k8s.io/component-base/version.gitVersion=$k8s"
  x+=" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=$minor"
  x+=" -X k8s.io/component-base/version.gitTreeState=clean"
  x+=" -X k8s.io/client-go/pkg/version.gitVersion=$k8s"
  x+=" -X helm.sh/helm/v3/internal/version.version=$helm"
  x+=" -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=$minor"
  x+=" -X helm.sh/helm/v3/pkg/lint/rules.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/lint/rules.k8sVersionMinor=$minor"
  echo "-s -w $x"
}

lock_build() {
  mkdir -p "$BIN"
  exec 8>"$CACHE/.build.lock"
  flock 8
}

do_build() {
  local stamp start=$SECONDS
  if ! have go && [ -f "$BIN/.stamp" ]; then
    say "Go is not installed: the programs in $BIN are taken as they are"
    return
  fi
  have go || die "Go is not installed"
  lock_build
  stamp=$(stamp_of go.mod go.sum coredns/main.go pause/main.go podsweep/main.go)
  if [ "$(cat "$BIN/.stamp" 2>/dev/null)" = "$stamp" ]; then exec 8>&-; return; fi
  say "building Kubernetes $(module_version k8s.io/kubernetes) (many minutes when nothing is cached)"
  rm -f "$BIN/.stamp"
  go_build "$HERE" -ldflags "$(linker_flags)" -o "$BIN/" \
    k8s.io/kubernetes/cmd/{kube-apiserver,kube-controller-manager,kube-scheduler,kubelet,kube-proxy,kubectl} \
    go.etcd.io/etcd/server/v3 helm.sh/helm/v3/cmd/helm ./coredns ./pause ./podsweep
  mv "$BIN/server" "$BIN/etcd"
  echo "$stamp" >"$BIN/.stamp"
  say "built in $((SECONDS - start)) s: $(du -sh "$BIN" | cut -f1) in $BIN"
  exec 8>&-
}

# Helm alone, for checks of the chart that need no cluster.
do_helm() {
  lock_build
  if [ ! -x "$BIN/helm" ]; then
    go_build "$HERE" -ldflags "$(linker_flags)" -o "$BIN/" helm.sh/helm/v3/cmd/helm
  fi
  exec 8>&-
  echo "$BIN/helm"
}
