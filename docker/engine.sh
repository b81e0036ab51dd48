# shellcheck shell=bash
# Building images with what the machine has: buildah or docker (ENGINE; the first of them that is there).

if [ -z "${ENGINE:-}" ]; then
  for ENGINE in buildah docker none; do if command -v "$ENGINE" >/dev/null; then break; fi; done
fi
case $ENGINE in
  buildah | docker) ;;
  *) echo "neither buildah nor docker is here: apt-get install buildah" >&2; exit 1 ;;
esac

# Storage of its own: images of other projects are neither seen nor touched.
buildah_() {
  command buildah --root "${XDG_CACHE_HOME:-$HOME/.cache}/tensorfleet/buildah" --runroot "/tmp/tensorfleet-buildah-$(id -u)" \
    --storage-driver "${STORAGE_DRIVER:-overlay}" "$@"
}

# bake DOCKERFILE CONTEXT REFERENCE ARCHIVE [BUILD-ARGUMENT...]: an image, and its archive. Nothing is pulled; all times
# are SOURCE_DATE_EPOCH, so that the same content gives the same image.
bake() {
  local file=$1 context=$2 reference=$3 archive=$4 arguments=() argument fresh=()
  shift 4
  for argument; do arguments+=(--build-arg "$argument"); done
  rm -f "$archive"
  if [ "${CACHE:-}" = no ]; then fresh=(--no-cache); fi
  if [ "$ENGINE" = buildah ]; then
    buildah_ bud -q --pull-never --layers "${fresh[@]}" --format docker --isolation chroot --timestamp "$SOURCE_DATE_EPOCH" \
      -f "$file" -t "$reference" "${arguments[@]}" "$context" >/dev/null
    buildah_ push -q "$reference" "docker-archive:$archive:$reference"
  else
    docker buildx build -q "${fresh[@]}" --provenance=false --output "type=docker,rewrite-timestamp=true" \
      -f "$file" -t "$reference" "${arguments[@]}" "$context" >/dev/null
    docker save -o "$archive" "$reference"
  fi
}
