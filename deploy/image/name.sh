# shellcheck shell=bash disable=SC2034  # variables are used where this is sourced
# SPDX-License-Identifier: Apache-2.0
#
# Which image build.sh pushes and install.sh installs; sourced by both.

LC_ALL=C  # else a-z may be more than that
image_repository=tranche-device-plugin
# The image that was built last, so that install.sh need not be told its tag.
last_image_file=build/last-image

# complain MESSAGE...: a line each, with the script's name in front of the first.
complain() {
  printf '%s: %s\n' "${0##*/}" "$1" >&2
  shift
  [ $# -eq 0 ] || printf '  %s\n' "$@" >&2
}

# refuse MESSAGE...: the command line is wrong.
refuse() {
  complain "$@" "'${0##*/} --help' tells more"
  exit 2
}

# check_registry NAME: what can stand in front of an image's name, or the end.
check_registry() {
  local name=$1 host=${1%%/*}
  local part='[a-z0-9]+([._-]+[a-z0-9]+)*'
  case $name in
    '') refuse "the registry's name is empty; write it as example.com:5000" ;;
    *://*) refuse "registry '$name': write it without '${name%%://*}://', as '${name#*://}'" ;;
    *[[:space:]]*) refuse "registry '$name' has a space in it" ;;
    *[A-Z]*) refuse "registry '$name' has uppercase letters, which image names must not have" ;;
    */) refuse "registry '$name' ends with '/'; leave that out" ;;
  esac
  [[ $name =~ ^$part(:[0-9]+)?(/$part)*$ ]] ||
    refuse "registry '$name' is not HOST[:PORT][/PATH], such as example.com:5000 or 192.0.2.7:5000/gpu"
  if [[ $host == *:* ]]; then
    local port=${host##*:}
    ((${#port} <= 5 && 10#$port >= 1 && 10#$port <= 65535)) ||
      refuse "registry '$name': $port is not a port"
  elif [[ $host != *.* && $host != localhost ]]; then
    # Every program that reads image names takes it so.
    refuse "registry '$name': '$host' would be a user of docker.io, since it has neither a dot nor a port" \
      "write '$host:443' for a host of this name, or 'docker.io/$name'"
  fi
}

check_tag() {
  [[ $1 =~ ^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$ ]] ||
    refuse "tag '$1' is not up to 128 letters, digits, '.', '_' and '-', such as 0.1"
}
