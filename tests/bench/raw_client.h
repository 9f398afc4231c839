// SPDX-License-Identifier: Apache-2.0
//
// A client of a device plugin that sends bytes and takes bytes: the messages
// are made before and looked at after, so that what is timed is the plugin and
// the wire. The same for whoever answers.
//
// Not thread-safe.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace google::protobuf {
class MessageLite;
}

namespace tranche::bench {

grpc::ByteBuffer to_bytes(const google::protobuf::MessageLite& message);
std::string to_text(const grpc::ByteBuffer& bytes);

class RawClient {
 public:
  explicit RawClient(const std::string& socket);
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  // Ends the streams.
  ~RawClient();

  Status connect(std::chrono::milliseconds patience);

  // "Allocate" and so on.
  Result<grpc::ByteBuffer> call(const std::string& method, const grpc::ByteBuffer& request);

  // Opens one more ListAndWatch and waits for its first list. It stays open.
  Result<grpc::ByteBuffer> open_list();

  // Waits until the plugin ends its streams.
  void wait_for_end();

 private:
  struct Stream;

  std::shared_ptr<grpc::Channel> channel_;
  grpc::GenericStub stub_;
  grpc::CompletionQueue calls_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

}  // namespace tranche::bench
