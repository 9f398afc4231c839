#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

usage() {
  cat <<'END'
Installs the agent, with the image that build.sh has pushed, into the cluster of kubectl.

  ./install.sh [OPTION...] <image-registry> [tag]
  ./install.sh 192.0.2.7:5000 0.1      runs 192.0.2.7:5000/tranche-device-plugin:0.1

  <image-registry>  HOST[:PORT][/PATH]
  [tag]             without: what build.sh built last for this registry, else the manifest's

  --manifest FILE   instead of deploy/manifests/tranche-device-plugin.yml; a name is looked for
                    in deploy/manifests as well
  --profile NAME    the agent's --profile; nested-host and nested-guest have manifests of their own
  --timeout TIME    how long to wait until it runs on all nodes (default 2m)
  --dry-run         only prints what would be applied; needs no cluster and no kubectl

Into another cluster by KUBECONFIG, as always with kubectl. The nodes fetch the image, so
they must be able to reach the registry; for one by plain HTTP see docs/install.md.
END
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deploy/image/name.sh
. "$root/deploy/image/name.sh"

manifest='' profile='' timeout=2m dry_run='' words=()
while [ $# -gt 0 ]; do
  case $1 in
    --manifest=* | --profile=* | --timeout=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" ;;
  esac
  case $1 in
    -h | --help) usage; exit ;;
    --dry-run) dry_run=yes ;;
    --manifest | --profile | --timeout)
      [ -n "${2:-}" ] || refuse "$1 needs a value"
      case $1 in
        --manifest) manifest=$2 ;;
        --profile) profile=$2 ;;
        --timeout) timeout=$2 ;;
      esac
      shift ;;
    -*) refuse "there is no option '$1'" ;;
    *) words+=("$1") ;;
  esac
  shift
done
case ${#words[@]} in
  1 | 2) registry=${words[0]} tag=${words[1]-} ;;
  *) refuse "a registry is needed, and perhaps a tag: ./install.sh 192.0.2.7:5000 0.1" ;;
esac
check_registry "$registry"
[ ${#words[@]} -eq 1 ] || check_tag "$tag"  # an empty one is none
[[ $profile =~ ^([a-z0-9]+(-[a-z0-9]+)*)?$ ]] || refuse "'$profile' is not a profile's name, such as nvidia"
[[ $timeout =~ ^([0-9]+[hms])+$ ]] || refuse "'$timeout' is not a time, such as 90s or 10m"
if [ -z "$manifest" ]; then
  manifest=$root/deploy/manifests/$image_repository.yml
  # A profile that needs more than a variable has a manifest of its own.
  if [ -n "$profile" ] && [ -f "${manifest%.yml}-$profile.yml" ]; then
    manifest=${manifest%.yml}-$profile.yml profile=''
  fi
fi
[ -f "$manifest" ] || manifest=$root/deploy/manifests/$manifest
[ -f "$manifest" ] || refuse "there is no manifest ${manifest##*/}, neither here nor in $root/deploy/manifests"

# The image that the manifest has is ours by its last part, whatever registry and tag.
image_line="^( +(- )?image: *)[\"']?([^ \"']*/)?$image_repository(:[^ \"'@]*)?(@[^ \"']*)?[\"']? *$"
grep -Eq "$image_line" "$manifest" || refuse "$manifest has no image $image_repository to replace"
if [ -z "$tag" ]; then
  last=$(cat "$root/$last_image_file" 2>/dev/null || true)
  if [ "${last%:*}" = "$registry/$image_repository" ]; then
    tag=${last##*:}
  else
    tag=$(sed -En "s#$image_line#\4#p" "$manifest" | head -n 1)
    tag=${tag#:}
    [ -n "$tag" ] || refuse "$manifest names no tag; give one: ./install.sh $registry 0.1"
  fi
  check_tag "$tag"
fi
image=$registry/$image_repository:$tag

# Our manifests have the container's variables right behind its image.
if [ -n "$profile" ]; then
  ! grep -Eq '^ +- name: *"?PROFILE"?' "$manifest" || refuse "$manifest has a PROFILE already; change it there"
  [ "$(grep -Ec '^ +env:$' "$manifest")" = 1 ] ||
    refuse "$manifest has not one line 'env:' to put the profile below; add it there by hand"
fi
content=$(sed -E "s#$image_line#\1$image#" "$manifest" | awk -v profile="$profile" '
  { print }
  profile != "" && /^ +env:$/ {
    indent = $0; sub(/env:$/, "", indent)
    printf "%s  - name: PROFILE\n%s    value: \"%s\"\n", indent, indent, profile
  }')
if [ -n "$dry_run" ]; then
  printf '%s\n' "$content"
  exit
fi

# nothing_done REASON HINT
nothing_done() {
  complain "nothing is installed: $1" "$2" "With --dry-run, it prints what it would apply."
  exit 1
}
command -v kubectl >/dev/null ||
  nothing_done "there is no kubectl" "Install it (kubernetes.io/docs/tasks/tools) or put it on the PATH."
said=$(kubectl get --raw=/version --request-timeout=10s 2>&1) ||
  nothing_done "no cluster answers: $(tail -n 1 <<<"$said")" "Which one is asked: kubectl config view --minify"

echo "Installing $image"
printf '%s\n' "$content" | kubectl apply -f - ||
  { complain "it could not be applied; the messages are above"; exit 1; }

read -r namespace name < <(printf '%s\n' "$content" | kubectl get -f - --no-headers \
  -o custom-columns=KIND:.kind,NAMESPACE:.metadata.namespace,NAME:.metadata.name |
  awk '$1 == "DaemonSet" { print $2, $3 }') || { complain "$manifest has no DaemonSet to wait for"; exit 1; }
daemonset=("--namespace=$namespace" "daemonset/$name")

# nodes FIELD: how many, as the DaemonSet's status counts them; it leaves out what is 0.
nodes() {
  local count
  count=$(kubectl get "${daemonset[@]}" -o jsonpath="{.status.$1}")
  echo "${count:-0}"
}

# Of each pod that does not run, a line on why.
# shellcheck disable=SC2016  # the dollars are Go's
troubles() {
  local selector
  selector=$(kubectl get "${daemonset[@]}" \
    -o go-template='{{range $key, $value := .spec.selector.matchLabels}}{{$key}}={{$value}},{{end}}')
  kubectl get pods --namespace="$namespace" --selector="${selector%,}" -o go-template='
    {{- range .items}}{{$node := .spec.nodeName}}{{range .status.containerStatuses}}
      {{- with .state.waiting}}{{$node}}: {{.reason}}{{with .message}}: {{.}}{{end}}{{"\n"}}{{end}}
      {{- with .lastState.terminated}}{{$node}}: it ended: {{.message}}{{"\n"}}{{end}}
    {{- end}}{{end}}' | grep -v '^ *$'
}

if kubectl rollout status "${daemonset[@]}" --timeout="$timeout"; then
  echo "$image runs on $(nodes numberAvailable) of $(nodes desiredNumberScheduled) nodes"
  exit
fi
why=$(troubles || true)
complain "within $timeout, it came to run on $(nodes numberAvailable) of $(nodes desiredNumberScheduled) nodes"
[ -z "$why" ] || head -n 10 <<<"$why" | sed 's/^/  /' >&2
case $why in
  *"gave HTTP response to HTTPS client"*)
    echo "  The nodes must be told that $registry speaks plain HTTP: docs/install.md" >&2 ;;
esac
echo "  It goes on by itself; watch it: kubectl rollout status ${daemonset[*]}" >&2
exit 1
