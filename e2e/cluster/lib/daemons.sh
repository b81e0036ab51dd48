# shellcheck shell=bash disable=SC2034,SC2015,SC2016 # variables of ../cluster and of config/*.in; inner shells' $
# Processes that were started are known by PID and start time; nothing is ever found by name.

lock_state() { mkdir -p "$CACHE"; exec 9>"$CACHE/.lock-$ID"; flock 9; }

start_time() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

# alive NAME: the process that we recorded under NAME still runs (same PID and start time).
alive() {
  local pid born
  [ -f "$STATE/pids/$1" ] || return 1
  read -r pid born <"$STATE/pids/$1" || return 1
  [ -n "$born" ] && [ "$(start_time "$pid")" = "$born" ] && ! grep -q '^State:.*Z' "/proc/$pid/status" 2>/dev/null
}

cgroup_dirs() {
  if [ -f /sys/fs/cgroup/cgroup.controllers ]; then echo "/sys/fs/cgroup$CGROUP"; return; fi
  local m
  while read -r m; do echo "$m$CGROUP"; done < <(awk '$3 == "cgroup" || $3 == "cgroup2" {print $2}' /proc/mounts)
}

make_cgroups() {
  local d e p
  for d in $(cgroup_dirs); do
    mkdir -p "$d/daemons" 2>/dev/null || continue
    p=${d%"$CGROUP"}
    if [ -f "$p/cpuset.cpus" ]; then
      for e in "$d" "$d/daemons"; do
        cat "$p/cpuset.cpus" >"$e/cpuset.cpus" 2>/dev/null || true
        cat "$p/cpuset.mems" >"$e/cpuset.mems" 2>/dev/null || true
      done
    fi
  done
}

# The cgroup that all we start is in: what it holds at the end is ours, nothing else is.
track_dir() {
  if [ -f /sys/fs/cgroup/cgroup.controllers ]; then echo "/sys/fs/cgroup$CGROUP"; else echo "/sys/fs/cgroup/pids$CGROUP"; fi
}

# spawn NAME COMMAND...: start a daemon, record its PID and start time. The daemons
# speak to each other only, so no proxy of the machine's must come between.
spawn() {
  local name=$1 pid track
  shift
  printf '%q ' "$@" >"$STATE/commands/$name"
  track=$(track_dir)/daemons/cgroup.procs
  setsid bash -c 'unset {http,https,all}_proxy {HTTP,HTTPS,ALL}_PROXY; if [ -w "$0" ]; then echo $$ >"$0"; fi; exec "$@"' "$track" "$@" \
    </dev/null >>"$STATE/logs/$name.log" 2>&1 7>&- 8>&- 9>&- &
  pid=$!
  disown "$pid"
  echo "$pid $(start_time "$pid")" >"$STATE/pids/$name"
}

# stop NAME [SECONDS]: end a recorded process; kill it when it does not end in time.
stop() {
  local pid i
  if alive "$1"; then
    read -r pid _ <"$STATE/pids/$1"
    kill -TERM "$pid" 2>/dev/null || true
    for ((i = 0; i < ${2:-10} * 20; i++)); do
      alive "$1" || break
      sleep 0.05
    done
    if alive "$1"; then kill -KILL "$pid" 2>/dev/null || true; sleep 0.1; fi
  fi
  rm -f "$STATE/pids/$1"
}

# wait_for SECONDS WHAT COMMAND...: until the command succeeds; a dead daemon ends the wait.
wait_for() {
  local end=$((SECONDS + $1)) what=$2 f
  shift 2
  until "$@" >/dev/null 2>&1; do
    for f in "$STATE"/pids/*; do
      alive "${f##*/}" || { tail -5 "$STATE/logs/${f##*/}.log" >&2; die "${f##*/} ended; see $STATE/logs"; }
    done
    [ $SECONDS -lt $end ] || die "no $what in time; see $STATE/logs"
    sleep 0.1
  done
}
