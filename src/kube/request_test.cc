// SPDX-License-Identifier: Apache-2.0
#include "kube/request.h"

#include <gtest/gtest.h>

namespace tranche::kube {
namespace {

TEST(Refusal, HasTheFieldsOfTheStatusObject) {
  const Response response{.status = 403,
                          .body = R"({"kind":"Status","code":403,"reason":"Forbidden",
    "message":"nodes \"a\" is forbidden"})"};
  const Refusal refusal = refusal_of(response);
  EXPECT_EQ(refusal.code, 403U);
  EXPECT_EQ(refusal.reason, "Forbidden");
  EXPECT_EQ(refusal.message, "nodes \"a\" is forbidden");
}

TEST(Refusal, OfAProxyIsTheBeginningOfItsPage) {
  const Refusal refusal = refusal_of({.status = 502, .body = "Bad\x1b[31m gateway\n"});
  EXPECT_EQ(refusal.code, 502U);
  EXPECT_EQ(refusal.message, "Bad?[31m gateway");
  EXPECT_LE(refusal_of({.status = 502, .body = std::string(100'000, 'x')}).message.size(), 1024U);
}

TEST(Refusal, AsAnErrorNamesTheCallAndTheReasonWithoutTheQuery) {
  const Error error = error_of(
      {.verb = Verb::kPatch, .target = "/api/v1/nodes/a/status?fieldManager=x"},
      {.status = 404, .body = R"({"kind":"Status","reason":"NotFound","message":"not there"})"});
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_EQ(error.message, "PATCH /api/v1/nodes/a/status: 404 NotFound: not there");
}

TEST(Query, IsEscaped) {
  EXPECT_EQ(with_query("/a", {{"fieldSelector", "spec.nodeName=a b"}, {"watch", "1"}}),
            "/a?fieldSelector=spec.nodeName%3Da%20b&watch=1");
}

}  // namespace
}  // namespace tranche::kube
