// SPDX-License-Identifier: Apache-2.0
#include "kube/access.h"

#include <gmock/gmock.h>

#include "os/files.h"
#include "os/testing/temp_dir.h"

namespace tranche::kube {
namespace {

using testing::HasSubstr;

TEST(ServerAddress, HasHostPortAndPath) {
  const auto access = access_to("https://[fd00::1]:6443/prefix/");
  ASSERT_TRUE(access);
  EXPECT_EQ(access->host, "fd00::1");
  EXPECT_EQ(access->port, "6443");
  EXPECT_EQ(access->path, "/prefix");
  EXPECT_EQ(access_to("https://example.org")->port, "443");
}

TEST(ServerAddress, WithoutTlsIsRefused) {
  EXPECT_THAT(access_to("http://example.org").error().message, HasSubstr("without TLS"));
}

TEST(ServerAddress, ThatIsNoneIsRefused) {
  for (const char* url :
       {"https://", "https://a:0", "https://a:99999", "https://a b", "https://[::1",
        "https://a\r\nX: y", "https://a/\r\nX", "https://[::1]6443"}) {
    EXPECT_FALSE(access_to(url)) << url;
  }
}

TEST(InCluster, TakesTheServiceAccountOfThePod) {
  const TempDir dir;
  ASSERT_TRUE(write_atomically(dir.path("token"), "t"));
  const auto access = in_cluster_access(
      {{"KUBERNETES_SERVICE_HOST", "10.96.0.1"}, {"KUBERNETES_SERVICE_PORT", "443"}}, dir.path());
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->host, "10.96.0.1");
  EXPECT_EQ(access->token.file, dir.path("token"));
}

TEST(InCluster, SaysWhatIsMissing) {
  const TempDir dir;
  EXPECT_EQ(in_cluster_access({}, dir.path()).error().code, ErrorCode::kNotFound);
  const auto without_token =
      in_cluster_access({{"KUBERNETES_SERVICE_HOST", "10.96.0.1"}}, dir.path());
  EXPECT_THAT(without_token.error().message, HasSubstr("automountServiceAccountToken"));
}

constexpr const char* kConfig = R"(apiVersion: v1
kind: Config
current-context: one
contexts:
- name: one
  context: {cluster: c, user: u}
- name: two
  context: {cluster: c, user: exec}
- name: astray
  context: {cluster: none, user: u}
- name: old
  context: {cluster: c, user: old}
clusters:
- name: c
  cluster:
    server: https://127.0.0.1:6443
    certificate-authority: pki/ca.crt
    tls-server-name: kubernetes
users:
- name: u
  user:
    client-certificate-data: Y2VydA==
    client-key: /keys/k.pem
- name: exec
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: ./get-token
      args: [--cluster, c]
      env:
      - {name: REGION, value: north}
      provideClusterInfo: true
- name: old
  user: {username: a, password: b}
)";

TEST(Kubeconfig, GivesItsCurrentContext) {
  const auto access = parse_kubeconfig("/home/u/.kube/config", kConfig);
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->host, "127.0.0.1");
  EXPECT_EQ(access->ca.file, "/home/u/.kube/pki/ca.crt");
  EXPECT_EQ(access->server_name, "kubernetes");
  EXPECT_EQ(access->certificate.text, "cert");
  EXPECT_EQ(access->key.file, "/keys/k.pem");
}

TEST(Kubeconfig, GivesAnotherContextWithAnExecPlugin) {
  const auto access = parse_kubeconfig("/home/u/.kube/config", kConfig, "two");
  ASSERT_TRUE(access && access->exec);
  EXPECT_EQ(access->exec->command, "/home/u/.kube/./get-token");
  EXPECT_THAT(access->exec->arguments, testing::ElementsAre("--cluster", "c"));
  EXPECT_THAT(access->exec->environment, testing::ElementsAre(testing::Pair("REGION", "north")));
  EXPECT_TRUE(access->exec->provide_cluster_info);
}

TEST(Kubeconfig, SaysWhereItIsWrong) {
  const auto problem = [](const std::string& content, const std::string& context = "") {
    const auto access = parse_kubeconfig("k", content, context);
    return access ? "" : access.error().message;
  };
  EXPECT_THAT(problem(kConfig, "three"), HasSubstr("no context 'three'"));
  EXPECT_THAT(problem(kConfig, "astray"), HasSubstr("names the cluster 'none'"));
  EXPECT_THAT(problem(kConfig, "old"), HasSubstr("username is not supported"));
  EXPECT_THAT(problem("a: b"), HasSubstr("no kubeconfig"));
  EXPECT_THAT(problem("a: [b"), HasSubstr("k:1"));
  std::string bad = kConfig;
  bad.replace(bad.find("Y2VydA=="), 8, "_no_b64_");
  EXPECT_THAT(problem(bad), HasSubstr("client-certificate-data is not base64"));
}

TEST(Kubeconfig, WithAUserThatIsNotThereIsAnError) {
  EXPECT_THAT(parse_kubeconfig("/k", R"({"current-context": "c",
      "contexts": [{"name": "c", "context": {"cluster": "k", "user": "nobody"}}],
      "clusters": [{"name": "k", "cluster": {"server": "https://a"}}]})")
                  .error()
                  .message,
              HasSubstr("names the user 'nobody'"));
}

TEST(Access, ToAnAddressWithAPasswordDoesNotShowIt) {
  for (const char* url : {"https://admin:secret@10.0.0.1", "http://admin:secret@10.0.0.1"}) {
    EXPECT_THAT(access_to(url).error().message, testing::Not(HasSubstr("secret")));
  }
}

}  // namespace
}  // namespace tranche::kube
