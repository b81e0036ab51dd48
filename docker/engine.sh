# shellcheck shell=bash
# Building images with what the machine has: buildah or docker (ENGINE; the first of them that is there).

if [ -z "${ENGINE:-}" ]; then
  for ENGINE in buildah docker none; do if command -v "$ENGINE" >/dev/null; then break; fi; done
fi
case $ENGINE in
  buildah) ;;
  docker)
    docker info >/dev/null 2>&1 || { echo "docker's daemon does not answer; start it, or apt-get install buildah" >&2; exit 1; }
    ;;
  *) echo "neither buildah nor docker is here: apt-get install buildah" >&2; exit 1 ;;
esac

# Storage of its own: images of other projects are neither seen nor touched.
buildah_() {
  command buildah --root "${XDG_CACHE_HOME:-$HOME/.cache}/tensorfleet/buildah" --runroot "/tmp/tensorfleet-buildah-$(id -u)" \
    --storage-driver "${STORAGE_DRIVER:-overlay}" "$@"
}

# bake DOCKERFILE CONTEXT REFERENCE ARCHIVE [BUILD-ARGUMENT...]: an image, and its archive. Nothing is pulled. Files have no
# times of their own (1970), and no layer comes from a cache, which would not look at times: the same content gives the same layer.
bake() {
  local file=$1 context=$2 reference=$3 archive=$4 arguments=() argument
  shift 4
  for argument; do arguments+=(--build-arg "$argument"); done
  rm -f "$archive"
  if [ "$ENGINE" = buildah ]; then
    buildah_ bud -q --pull-never --layers --no-cache --format docker --isolation chroot --timestamp 0 \
      -f "$file" -t "$reference" "${arguments[@]}" "$context" >/dev/null
    buildah_ push -q "$reference" "docker-archive:$archive:$reference"
  else
    SOURCE_DATE_EPOCH=0 docker buildx build -q --no-cache --provenance=false --output "type=docker,rewrite-timestamp=true" \
      -f "$file" -t "$reference" "${arguments[@]}" "$context" >/dev/null
    docker save -o "$archive" "$reference"
  fi
}
