// SPDX-License-Identifier: Apache-2.0
#include "node/kubelet/plugin_service.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <memory>
#include <string>

#include "os/testing/temp_dir.h"
#include "os/unique_fd.h"

namespace tranche::node {
namespace {

constexpr const char* kGpu = "example.com/gpu";

// The kernel accepts connections, but no process serves them.
class NobodyServes {
 public:
  explicit NobodyServes(const std::string& socket)
      : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, socket.c_str(), socket.size() + 1);
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(fd_.get(), 16), 0);
  }

  int connections() const {
    int count = 0;
    while (UniqueFd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC))) ++count;
    return count;
  }

 private:
  UniqueFd fd_;
};

Serving two_gpus() {
  Offer offer{.name = ResourceName(kGpu)};
  for (const char* uuid : {"GPU-1", "GPU-2"}) {
    offer.devices.push_back({.uuid = uuid, .gpu = GpuUuid{uuid}});
  }
  auto catalog = std::make_shared<Catalog>();
  catalog->offers = {offer};
  return {.offer = offer, .catalog = catalog};
}

// Allocate has no deadline, and while it runs the kubelet admits no other pod.
TEST(PluginService, AsksAKubeletThatDoesNotAnswerAboutOneHolderAndNotAboutEach) {
  const TempDir dir;
  const NobodyServes kubelet(dir.path("s"));
  Log log([](std::string_view) {});
  LedgerBook book({.changed = [] {},
                   .has_sources = [] { return true; },
                   .keep = [](const LedgerSizes&) { return Status(Done{}); }},
                  {});
  book.learn({.begun = LedgerTime::clock::now(),
              .pod_resources = {{{kGpu, {"default", "one", "", "main"}, {"GPU-1"}},
                                 {kGpu, {"default", "two", "", "main"}, {"GPU-2"}}}}});
  CallGate gate;
  const PodResourcesClient pods(dir.path("s"), std::chrono::milliseconds(50));
  HandedOff handed_off(dir.path("handed-off"), log);
  Latest<Serving> serving;
  serving.publish(two_gpus());
  const Latest<Listing> listing;
  PluginService service(serving, listing, {}, {book, gate, pods, handed_off}, log);

  v1beta1::AllocateRequest request;
  auto& container = *request.add_container_requests();
  for (const char* id : {"GPU-1", "GPU-2"}) container.add_devices_ids(id);
  v1beta1::AllocateResponse response;
  service.Allocate(nullptr, &request, &response);
  EXPECT_EQ(kubelet.connections(), 1);
}

}  // namespace
}  // namespace tranche::node
