#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# on_node.sh ROOT COMMAND…: runs a command that reads /sys and /proc as if it ran
# on the simulated node in ROOT. nvidia-ctk takes a root for the driver's files
# and device nodes, but not for these two. Needs root.
set -eu

root=$1
shift
exec unshare --mount --propagation private sh -c '
  mount --bind "$0/sys" /sys && mount --bind "$0/proc" /proc || exit 125
  exec "$@"
' "$root" "$@"
