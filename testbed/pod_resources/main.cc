// SPDX-License-Identifier: Apache-2.0
//
// pod-resources: asks a kubelet's pod-resources service, through the agent's own
// client, and prints what it said, a line for each container and resource. For
// stories on a real cluster.
#include <grpcpp/grpcpp.h>

#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "base/text.h"
#include "node/kubelet/pod_resources_client.h"
#include "podresources_v1.grpc.pb.h"

namespace {

using namespace tranche::testbed;

int usage() {
  std::cerr << "usage: pod-resources SOCKET list\n"
               "       pod-resources SOCKET get NAMESPACE POD\n"
               "       pod-resources SOCKET record FILE   List's answer, as it came\n";
  return 2;
}

int record(const std::string& socket, const std::string& file) {
  const auto channel = grpc::CreateChannel("unix:" + socket, grpc::InsecureChannelCredentials());
  grpc::ClientContext context;
  v1::ListPodResourcesResponse response;
  const grpc::Status status =
      v1::PodResourcesLister::NewStub(channel)->List(&context, {}, &response);
  if (!status.ok()) {
    std::cerr << "error: " << status.error_message() << "\n";
    return 1;
  }
  std::ofstream(file, std::ios::binary) << response.SerializeAsString();
  return 0;
}

int print(const Result<std::vector<Holding>>& holdings) {
  if (!holdings) {
    std::cerr << "error: " << holdings.error().message << "\n";
    return holdings.error().code == ErrorCode::kNotFound ? 3 : 1;
  }
  for (const Holding& holding : *holdings) {
    std::cout << holding.holder.pod_namespace << " " << holding.holder.pod << " "
              << holding.holder.container << " " << holding.resource << " "
              << join(holding.shares, ",") << "\n";
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 2) return usage();
  const PodResourcesClient client(words[0]);
  if (words[1] == "list" && words.size() == 2) return print(client.list({}));
  if (words[1] == "get" && words.size() == 4) return print(client.get(words[2], words[3], {}));
  if (words[1] == "record" && words.size() == 3) return record(words[0], words[2]);
  return usage();
}
