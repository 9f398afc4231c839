// SPDX-License-Identifier: Apache-2.0
#include "bench/raw_client.h"

#include <google/protobuf/message_lite.h>

#include "deviceplugin_v1beta1.pb.h"

namespace tranche::bench {
namespace {

constexpr const char* kService = "/v1beta1.DevicePlugin/";
constexpr std::chrono::seconds kPatience{60};

std::shared_ptr<grpc::Channel> make_channel(const std::string& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
}

// Waits for the one thing that is under way.
bool next_is_well(grpc::CompletionQueue& queue) {
  void* tag = nullptr;
  bool is_well = false;
  return queue.Next(&tag, &is_well) && is_well;
}

Error failed(const std::string& method, const grpc::Status& status) {
  return {ErrorCode::kUnavailable, method + ": " + status.error_message()};
}

}  // namespace

grpc::ByteBuffer to_bytes(const google::protobuf::MessageLite& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return {&slice, 1};
}

std::string to_text(const grpc::ByteBuffer& bytes) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (!bytes.Dump(&slices).ok()) return text;
  for (const grpc::Slice& slice : slices) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes as text
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return text;
}

struct RawClient::Stream {
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call;
  grpc::ByteBuffer later;  // a list after the first one; nobody looks at it
};

RawClient::RawClient(const std::string& socket) : channel_(make_channel(socket)), stub_(channel_) {}

RawClient::~RawClient() {
  for (const auto& stream : streams_) {
    stream->context.TryCancel();
    stream->queue.Shutdown();
    void* tag = nullptr;
    bool is_well = false;
    while (stream->queue.Next(&tag, &is_well)) {
    }
  }
}

Status RawClient::connect(std::chrono::milliseconds patience) {
  if (channel_->WaitForConnected(std::chrono::system_clock::now() + patience)) return Done{};
  return Error{ErrorCode::kUnavailable, "the plugin's socket does not answer"};
}

Result<grpc::ByteBuffer> RawClient::call(const std::string& method,
                                         const grpc::ByteBuffer& request) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  const auto reader = stub_.PrepareUnaryCall(&context, kService + method, request, &calls_);
  reader->StartCall();
  grpc::ByteBuffer response;
  grpc::Status status;
  reader->Finish(&response, &status, nullptr);
  if (!next_is_well(calls_)) return Error{ErrorCode::kInternal, method + ": no answer"};
  if (!status.ok()) return failed(method, status);
  return response;
}

Result<grpc::ByteBuffer> RawClient::open_list() {
  const Error nothing{ErrorCode::kUnavailable, "ListAndWatch: no list came"};
  streams_.push_back(std::make_unique<Stream>());
  Stream& stream = *streams_.back();
  stream.call =
      stub_.PrepareCall(&stream.context, std::string(kService) + "ListAndWatch", &stream.queue);
  stream.call->StartCall(nullptr);
  if (!next_is_well(stream.queue)) return nothing;
  stream.call->WriteLast(to_bytes(v1beta1::Empty()), {}, nullptr);
  if (!next_is_well(stream.queue)) return nothing;
  grpc::ByteBuffer list;
  stream.call->Read(&list, nullptr);
  if (!next_is_well(stream.queue)) return nothing;
  stream.call->Read(&stream.later, nullptr);
  return list;
}

void RawClient::wait_for_end() {
  for (const auto& stream : streams_) {
    while (next_is_well(stream->queue)) stream->call->Read(&stream->later, nullptr);
  }
}

}  // namespace tranche::bench
