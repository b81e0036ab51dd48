# shellcheck shell=bash disable=SC2034,SC2015,SC2016 # variables of ../cluster and of config/*.in; inner shells' $
# Ending what was started, and what there is.

all_alive() {
  local f
  for f in "$STATE"/pids/*; do
    if [ ! -e "$f" ] || ! alive "${f##*/}"; then return 1; fi
  done
}

sweep_mounts() {
  local m
  # Mount points are octal-escaped in the table; deepest first.
  awk -v s="$STATE/" 'index($5, s) == 1 {print $5}' /proc/self/mountinfo | sort -r | while read -r m; do
    umount -l "$(printf '%b' "${m//\\/\\0}")" 2>/dev/null || true
  done
}

take_down() {
  local d p i link track
  if alive kubelet; then stop kubelet; fi
  if alive containerd && [ -x "$BIN/podsweep" ]; then
    timeout 60 "$BIN/podsweep" "unix://$CONTAINERD_SOCK" >&2 || say "podsweep failed; the rest is ended by cgroup"
  fi
  for d in "${DAEMONS[@]}"; do stop "$d"; done
  # Whatever is left in our own cgroup (shims, containers) was started by us.
  track=$(track_dir)
  if [ -d "$track" ]; then
    for ((i = 0; i < 50; i++)); do
      p=$(find "$track" -name cgroup.procs -exec cat {} + 2>/dev/null || true)
      [ -n "$p" ] || break
      # shellcheck disable=SC2086
      kill -KILL $p 2>/dev/null || true
      sleep 0.1
    done
  fi
  for d in $(cgroup_dirs); do
    if [ -d "$d" ]; then find "$d" -depth -type d -exec rmdir {} \; 2>/dev/null || true; fi
  done
  sweep_mounts
  drop_network
  if [ -d /var/log/containers ]; then
    for link in /var/log/containers/*.log; do
      case $(readlink "$link" 2>/dev/null || true) in "$STATE"/*) rm -f "$link" ;; esac
    done
  fi
  rm -rf --one-file-system "$STATE"
}

do_down() {
  lock_state
  if [ ! -d "$STATE" ]; then say "not up"; return; fi
  # Only a folder that `up` made is ever removed.
  [ -f "$STATE/mode" ] || die "down: $STATE is not a cluster's state folder"
  take_down
  say "down"
}

do_restart() {
  [ $# -eq 1 ] && [ -f "$STATE/commands/$1" ] ||
    die "usage: cluster restart DAEMON, one of: ${DAEMONS[*]}"
  lock_state
  local words
  eval "words=($(cat "$STATE/commands/$1"))"
  stop "$1" 2
  spawn "$1" "${words[@]}"
  wait_for 60 "API server" api_ready
}

do_status() {
  local d f rc=0
  if [ ! -f "$STATE/mode" ]; then echo "down"; return 3; fi
  echo "mode        $(cat "$STATE/mode")"
  echo "kubeconfig  $STATE/kubeconfig"
  echo "logs        $STATE/logs"
  for f in "$STATE"/pids/*; do
    [ -e "$f" ] || continue
    d=${f##*/}
    if alive "$d"; then echo "running     $d ($(cut -d' ' -f1 "$f"))"; else echo "ended       $d"; rc=1; fi
  done
  if [ ! -f "$STATE/up" ]; then echo "not fully up"; rc=1; fi
  if api_ready >/dev/null 2>&1; then kubectl version 2>/dev/null | sed 's/^/            /'; kubectl get nodes 2>/dev/null | sed -n 1,5p; else echo "API server not ready"; rc=1; fi
  return $rc
}
