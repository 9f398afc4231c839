// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"os"

	"go.etcd.io/etcd/server/v3/embed"
)

// runEtcd serves one etcd on its default local ports until it is killed. A test
// cluster that loses power is started anew, so nothing is synced to the disk.
func runEtcd(arguments []string) int {
	flags := flag.NewFlagSet("etcd", flag.ExitOnError)
	folder := flags.String("data-dir", "", "where the data lies")
	flags.Parse(arguments)

	config := embed.NewConfig()
	config.Dir = *folder
	config.UnsafeNoFsync = true
	config.LogLevel = "warn"
	server, err := embed.StartEtcd(config)
	if err != nil {
		fmt.Fprintln(os.Stderr, "etcd:", err)
		return 1
	}
	defer server.Close()
	fmt.Fprintln(os.Stderr, "etcd:", <-server.Err())
	return 1
}
