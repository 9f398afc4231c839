// SPDX-License-Identifier: Apache-2.0

// A kubelet of a few lines, for one plugin: it takes registrations, follows
// every resource's devices and passes requests on. It starts the plugin itself,
// once its socket is there.
//
//	kubelet FOLDER PLUGIN [ARGUMENT...]
//
// What happens is printed as one JSON object a line. Requests come the same way
// on standard input; its end ends the plugin and this program.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

type kubelet struct {
	api.UnimplementedRegistrationServer
	folder  string
	mutex   sync.Mutex
	plugins map[string]api.DevicePluginClient
}

type request struct {
	Resource  string   `json:"resource"`
	Allocate  []string `json:"allocate"`
	Available []string `json:"available"`
	Must      []string `json:"must"`
	Size      int32    `json:"size"`
}

func (k *kubelet) print(value map[string]any) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	line, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
}

func (k *kubelet) Register(_ context.Context, r *api.RegisterRequest) (*api.Empty, error) {
	socket := "unix://" + filepath.Join(k.folder, r.Endpoint)
	connection, err := grpc.NewClient(socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	plugin := api.NewDevicePluginClient(connection)
	k.mutex.Lock()
	k.plugins[r.ResourceName] = plugin
	k.mutex.Unlock()
	go k.follow(r.ResourceName, plugin)
	return &api.Empty{}, nil
}

func (k *kubelet) follow(resource string, plugin api.DevicePluginClient) {
	stream, err := plugin.ListAndWatch(context.Background(), &api.Empty{})
	for err == nil {
		var list *api.ListAndWatchResponse
		if list, err = stream.Recv(); err == nil {
			k.print(map[string]any{"resource": resource, "devices": list.Devices})
		}
	}
	k.print(map[string]any{"resource": resource, "ended": err.Error()})
}

func (k *kubelet) answer(r request) {
	k.mutex.Lock()
	plugin := k.plugins[r.Resource]
	k.mutex.Unlock()
	var response any
	var err error
	if r.Allocate != nil {
		response, err = plugin.Allocate(context.Background(), &api.AllocateRequest{
			ContainerRequests: []*api.ContainerAllocateRequest{{DevicesIds: r.Allocate}}})
	} else {
		response, err = plugin.GetPreferredAllocation(context.Background(), &api.PreferredAllocationRequest{
			ContainerRequests: []*api.ContainerPreferredAllocationRequest{{
				AvailableDeviceIDs:   r.Available,
				MustIncludeDeviceIDs: r.Must,
				AllocationSize:       r.Size}}})
	}
	if err != nil {
		k.print(map[string]any{"error": err.Error()})
		return
	}
	k.print(map[string]any{"answer": response})
}

func main() {
	k := &kubelet{folder: os.Args[1], plugins: map[string]api.DevicePluginClient{}}
	listener, err := net.Listen("unix", filepath.Join(k.folder, "kubelet.sock"))
	if err != nil {
		panic(err)
	}
	server := grpc.NewServer()
	api.RegisterRegistrationServer(server, k)
	go server.Serve(listener)

	plugin := exec.Command(os.Args[2], os.Args[3:]...)
	plugin.Stderr = os.Stderr
	plugin.Stdout = os.Stderr
	if err := plugin.Start(); err != nil {
		panic(err)
	}
	go func() {
		k.print(map[string]any{"exit": fmt.Sprint(plugin.Wait())})
	}()

	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			panic(err)
		}
		k.answer(r)
	}
	plugin.Process.Kill()
}
