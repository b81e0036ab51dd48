# shellcheck shell=bash disable=SC2034,SC2015,SC2016 # variables of ../cluster and of config/*.in; inner shells' $
# The pause image and a Debian base image, made without any registry, and the import of images into the node.

# buildah with storage of its own: nothing else's images are seen or touched.
buildah_() {
  local run
  run=/tmp/cluster-buildah-$(printf %s "$CACHE" | cksum | cut -d' ' -f1)
  mkdir -p "$CACHE/images" "$run"
  BUILDAH_ISOLATION=chroot TMPDIR=${TMPDIR:-/tmp} \
    command buildah --root "$CACHE/buildah" --runroot "$run" \
    --storage-driver "${CLUSTER_STORAGE_DRIVER:-overlay}" "$@"
}

lock_images() { mkdir -p "$CACHE"; exec 7>"$CACHE/.images.lock"; flock 7; }

archive_of() { echo "$CACHE/images/$(printf %s "$1" | tr '/:' '__').tar"; }

# save IMAGE: write the image's archive, unless it is there already for this image ID.
save() {
  local name=$1 tar id
  tar=$(archive_of "$name")
  id=$(buildah_ images -q --no-trunc "$name")
  if [ ! -f "$tar" ] || [ "$(cat "$tar.id" 2>/dev/null)" != "$id" ]; then
    rm -f "$tar" "$tar.id"
    buildah_ push -q "$name" "docker-archive:$tar.new:$name" >&2
    mv "$tar.new" "$tar"
    echo "$id" >"$tar.id"
  fi
  echo "$tar"
}

has_image() { buildah_ images -q "$1" >/dev/null 2>&1; }

make_pause() {
  local c stamp
  if [ -f "$(archive_of "$PAUSE_IMAGE")" ] && [ "$(cat "$CACHE/images/.pause" 2>/dev/null)" = "$(cat "$BIN/.stamp")" ]; then return; fi
  lock_images
  stamp=$(cat "$BIN/.stamp")
  c=$(buildah_ from scratch)
  buildah_ add -q "$c" "$BIN/pause" /pause >/dev/null
  buildah_ config --entrypoint '["/pause"]' --user 65535:65535 "$c"
  buildah_ commit -q --format docker --rm "$c" "$PAUSE_IMAGE" >/dev/null
  save "$PAUSE_IMAGE" >/dev/null
  echo "$stamp" >"$CACHE/images/.pause"
  exec 7>&-
}

make_base() {
  if has_image "$BASE_IMAGE"; then return; fi
  [ "$(id -u)" = 0 ] || die "base: not root"
  local c dir mirror start=$SECONDS
  # The mirror is the one that this machine's apt uses for the same suite.
  mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' |
    awk -v s="$BASE_SUITE" '$2 == s && !m {m = $1} END {print m}')
  dir=$(mktemp -d "$CACHE/rootfs.XXXXXX")
  say "making $BASE_IMAGE"
  debootstrap --variant=minbase "$BASE_SUITE" "$dir" ${mirror:+"$mirror"} >"$CACHE/debootstrap.log" 2>&1 ||
    { tail -5 "$CACHE/debootstrap.log" >&2; rm -rf --one-file-system "$dir"; die "debootstrap failed"; }
  rm -rf "$dir"/var/cache/apt/* "$dir"/var/lib/apt/lists/* "$dir"/var/log/* \
    "$dir"/usr/share/{doc,man,info,locale}/* "$dir"/var/cache/debconf/*-old
  : >"$dir/etc/resolv.conf"
  : >"$dir/etc/hostname"
  printf 'Dpkg::Use-Pty "0";\nAPT::Install-Recommends "false";\nAPT::Keep-Downloaded-Packages "false";\n' \
    >"$dir/etc/apt/apt.conf.d/90image"
  c=$(buildah_ from scratch)
  buildah_ add -q "$c" "$dir" / >/dev/null
  buildah_ config --cmd bash --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$c"
  buildah_ commit -q --format docker --rm "$c" "$BASE_IMAGE" >/dev/null
  rm -rf --one-file-system "$dir"
  say "$BASE_IMAGE made in $((SECONDS - start)) s"
}

do_base() {
  do_deps
  lock_images
  make_base
  save "$BASE_IMAGE"
  exec 7>&-
}

do_import() {
  local t
  alive containerd || die "import: the cluster's container runtime is not up"
  for t; do ctr_ images import "$t" >&2; done
}
