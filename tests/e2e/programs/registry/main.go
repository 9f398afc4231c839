// SPDX-License-Identifier: Apache-2.0

// The registry that images are pushed to and pulled from: its own program, with the
// storage and the passwords that the stories use. Those for clouds are two thirds of
// the time to build it.
package main

import (
	"os"

	"github.com/distribution/distribution/v3/registry"
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
)

func main() {
	if registry.RootCmd.Execute() != nil {
		os.Exit(1)
	}
}
