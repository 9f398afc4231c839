#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

usage() {
  cat <<'END'
Builds the container image and pushes it to a registry.

  ./build.sh [OPTION...] <image-registry> <tag>
  ./build.sh 192.0.2.7:5000 0.1        pushes 192.0.2.7:5000/tranche-device-plugin:0.1

  <image-registry>  HOST[:PORT][/PATH]
  --insecure        also by plain HTTP, or with a certificate that nobody vouches for

A registry is spoken to by TLS. Plain HTTP is used without being asked for on this machine
(localhost, 127.*), and where /etc/containers/registries.conf has the registry with
'insecure = true'; otherwise by --insecure. The nodes need to be told of such a registry, too:
docs/install.md. If the registry wants a password: skopeo login <image-registry>

The image stays in build/tranche-device-plugin-<tag>.tar, whether it could be pushed or not.
Give each build a tag of its own: nodes do not fetch again what they have by that name.
END
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deploy/image/name.sh
. "$root/deploy/image/name.sh"

insecure='' words=()
for word in "$@"; do
  case $word in
    -h | --help) usage; exit ;;
    --insecure) insecure=yes ;;
    -*) refuse "there is no option '$word'" ;;
    *) words+=("$word") ;;
  esac
done
[ ${#words[@]} -eq 2 ] || refuse "a registry and a tag are needed: ./build.sh 192.0.2.7:5000 0.1"
registry=${words[0]} tag=${words[1]}
check_registry "$registry"
check_tag "$tag"

image=$registry/$image_repository:$tag
archive=build/$image_repository-$tag.tar
cd "$root"
make --no-print-directory image IMAGE="$image" IMAGE_ARCHIVE="$archive" ||
  { complain "the image could not be built; the messages are above"; exit 1; }
echo "$image" > "$last_image_file"

# kept REASON HINT...: the image is there, but nowhere else.
kept() {
  complain "$@" "The image is in $root/$archive"
  exit 1
}

command -v skopeo >/dev/null ||
  kept "there is no skopeo to push it with" "Install it, on Debian by: apt-get install skopeo"

options=()
[[ ! ${registry%%[:/]*} =~ ^(localhost|127(\.[0-9]+){3})$ ]] || insecure=yes
[ -z "$insecure" ] || options+=(--dest-tls-verify=false)  # tries TLS first, then plain HTTP
# A policy is on what is fetched; this was made here. The OCI layout, because it is pushed as
# it is: the digest in the registry is that of the archive.
if said=$(skopeo --insecure-policy copy "${options[@]}" "oci-archive:$archive" "docker://$image" 2>&1); then
  echo "Pushed $image"
  echo "Install it by: ./install.sh $registry $tag"
  exit
fi
# Its last line, without what is around the reason.
reason=$(tail -n 1 <<<"$said" | sed -E 's/^time=.* msg="(.*)"$/\1/; s/\\"/"/g; s/^.* at destination: //')
case $said in
  *"gave HTTP response to HTTPS client"* | *"does not look like a TLS handshake"*)
    kept "$registry speaks plain HTTP" "If that is meant to be so: ./build.sh --insecure $registry $tag" ;;
  *x509:*)
    kept "$registry has a certificate that is not trusted: $reason" \
      "Put its authority's into /etc/containers/certs.d/${registry%%/*}/ca.crt, or run: ./build.sh --insecure $registry $tag" ;;
  *unauthorized* | *"authentication required"* | *denied*)
    kept "$registry does not let us push: $reason" "With a name and password: skopeo login ${registry%%/*}" ;;
  *)
    kept "could not push to $registry: $reason" "Is this a registry's address, and can it be reached from here?" ;;
esac
