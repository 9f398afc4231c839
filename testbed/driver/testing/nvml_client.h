// SPDX-License-Identifier: Apache-2.0
//
// A test's own way to call the simulated library: loaded with dlopen and called
// by name, as a client does that knows nothing of how it is made.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "node/driver/nvml/abi.h"
#include "os/testing/temp_dir.h"
#include "testbed/node/simulated_node.h"
#include "testbed/worlds/builtin.h"

namespace tranche::testbed::sim {

namespace abi = nvml::abi;

class NvmlClient {
 public:
  explicit NvmlClient(const std::string& path) : library_(::dlopen(path.c_str(), RTLD_NOW)) {
    EXPECT_NE(library_, nullptr) << ::dlerror();  // NOLINT(concurrency-mt-unsafe)
  }
  NvmlClient(const NvmlClient&) = delete;
  NvmlClient& operator=(const NvmlClient&) = delete;
  ~NvmlClient() {
    if (library_ != nullptr) ::dlclose(library_);
  }

  bool has(const char* name) const { return ::dlsym(library_, name) != nullptr; }

  // Arguments are passed as they are: their types must be the function's.
  template <typename... Arguments>
  abi::Return operator()(const char* name, Arguments... arguments) const {
    void* symbol = ::dlsym(library_, name);
    if (symbol == nullptr) return abi::kFunctionNotFound;
    return reinterpret_cast<abi::Return (*)(Arguments...)>(symbol)(arguments...);
  }

  // What a function of these shapes answers; a failure fails the test.
  unsigned number(const char* name, abi::Device device) const {
    unsigned value = 0;
    EXPECT_EQ((*this)(name, device, &value), abi::kSuccess) << name;
    return value;
  }
  std::string text(const char* name, abi::Device device) const {
    std::array<char, 96> value{};
    EXPECT_EQ((*this)(name, device, value.data(), 96U), abi::kSuccess) << name;
    return value.data();
  }
  abi::Device gpu(unsigned index) const {
    abi::Device device = nullptr;
    EXPECT_EQ((*this)("nvmlDeviceGetHandleByIndex_v2", index, &device), abi::kSuccess) << index;
    return device;
  }
  abi::Device mig(abi::Device gpu, unsigned index) const {
    abi::Device device = nullptr;
    EXPECT_EQ((*this)("nvmlDeviceGetMigDeviceHandleByIndex", gpu, index, &device), abi::kSuccess);
    return device;
  }
  unsigned count() const {
    unsigned value = 0;
    EXPECT_EQ((*this)("nvmlDeviceGetCount_v2", &value), abi::kSuccess);
    return value;
  }
  abi::FieldValue field(abi::Device device, unsigned id, unsigned scope = 0) const {
    abi::FieldValue value{.field_id = id, .scope_id = scope};
    EXPECT_EQ((*this)("nvmlDeviceGetFieldValues", device, 1, &value), abi::kSuccess);
    return value;
  }

 private:
  void* library_;
};

// A node in a folder of its own, and a client with an open session on it.
class SimulatedDriver : public ::testing::Test {
 protected:
  // To be called first.
  void start(const World& world) {
    const Result<SimulatedNode> made =
        SimulatedNode::create(folder_.path("root"), world, {.plain_files = true});
    ASSERT_TRUE(made) << made.error().message;
    node_ = std::make_unique<SimulatedNode>(*made);
    client_ = std::make_unique<NvmlClient>(node_->driver_library());
    ASSERT_EQ(nvml()("nvmlInit_v2"), abi::kSuccess);
  }
  void start(const std::string& builtin) {
    const Result<World> world = builtin_world(builtin);
    ASSERT_TRUE(world) << world.error().message;
    start(*world);
  }
  // A fresh session, as a client needs after a reset.
  void restart_session() {
    EXPECT_EQ(nvml()("nvmlShutdown"), abi::kSuccess);
    EXPECT_EQ(nvml()("nvmlInit_v2"), abi::kSuccess);
  }
  void apply(const Change& change) {
    const Status applied = node_->apply(change);
    EXPECT_TRUE(applied) << applied.error().message;
  }
  World world() const { return *node_->world(); }
  const SimulatedNode& node() const { return *node_; }
  const NvmlClient& nvml() const { return *client_; }

 private:
  const TempDir folder_;
  std::unique_ptr<SimulatedNode> node_;
  std::unique_ptr<NvmlClient> client_;
};

}  // namespace tranche::testbed::sim
