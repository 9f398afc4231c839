#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Builds the pinned nvidia-ctk, once, and prints where it is. Exit code 77: it
# cannot be built here, for the reason on standard error.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/tranche/go-bin
# Another pin is another program.
pin=$(cat "$here/nvidia-ctk/go.mod" "$here/nvidia-ctk/go.sum" | sha256sum | cut -c 1-16)
program=$cache/nvidia-ctk-$pin

if [ ! -x "$program" ]; then
  if ! command -v go >/dev/null; then
    echo "no Go here, so no nvidia-ctk to compare with" >&2
    exit 77
  fi
  mkdir -p "$cache"
  # Tests run side by side; one builds and the others wait.
  exec 9>"$program.lock"
  flock 9
  if [ ! -x "$program" ]; then
    cd "$here/nvidia-ctk"
    # The driver library is loaded at run time, so cgo but nothing to link with.
    if ! CGO_ENABLED=1 CGO_CFLAGS="-O2 -w" GOFLAGS=-mod=readonly GOTOOLCHAIN=local \
        go build -trimpath -buildvcs=false -o "$program.new" \
        github.com/NVIDIA/nvidia-container-toolkit/cmd/nvidia-ctk >&2; then
      echo "nvidia-ctk could not be built" >&2
      exit 77
    fi
    mv "$program.new" "$program"
  fi
fi
echo "$program"
