// SPDX-License-Identifier: Apache-2.0
#include "node/api_server/api_access.h"

#include <gmock/gmock.h>

#include <fstream>

#include "os/testing/temp_dir.h"

namespace tranche::node {
namespace {

using testing::HasSubstr;

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

const char* const kConfig = R"(
apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: one, user: me}}]
clusters: [{name: one, cluster: {server: "https://192.0.2.1:6443", insecure-skip-tls-verify: true}}]
users: [{name: me, user: {token: secret}}]
)";

class ApiAccess : public testing::Test {
 protected:
  void in_a_pod() {
    write(folder_.path() + "/token", "secret");
    write(folder_.path() + "/ca.crt", "certificate");
    sources_.environment = {{"KUBERNETES_SERVICE_HOST", "10.96.0.1"},
                            {"KUBERNETES_SERVICE_PORT", "443"}};
    sources_.service_account = folder_.path();
  }

  TempDir folder_;
  ApiAccessSources sources_;
};

TEST_F(ApiAccess, TakesTheKubeconfigThatIsNamed) {
  in_a_pod();
  sources_.kubeconfig = folder_.path() + "/config";
  write(sources_.kubeconfig, kConfig);
  const auto access = find_api_access(sources_);
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->host, "192.0.2.1");
}

TEST_F(ApiAccess, TakesTheServiceAccountWhereTheKubeconfigDoesNotExist) {
  in_a_pod();
  sources_.kubeconfig = "/etc/kubernetes/kubelet.conf-that-no-node-has";
  const auto access = find_api_access(sources_);
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->host, "10.96.0.1");
}

TEST_F(ApiAccess, NamesAKubeconfigThatIsWrong) {
  in_a_pod();
  sources_.kubeconfig = folder_.path() + "/config";
  write(sources_.kubeconfig, "contexts: [");
  const auto access = find_api_access(sources_);
  ASSERT_FALSE(access);
  EXPECT_THAT(access.error().message, HasSubstr(sources_.kubeconfig));
}

TEST_F(ApiAccess, NamesEverythingThatIsMissing) {
  sources_.kubeconfig = "/nowhere/config";
  sources_.service_account = folder_.path();
  const auto access = find_api_access(sources_);
  ASSERT_FALSE(access);
  EXPECT_EQ(access.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(access.error().message, HasSubstr("kubeconfig /nowhere/config does not exist"));
}

}  // namespace
}  // namespace tranche::node
