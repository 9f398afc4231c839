// SPDX-License-Identifier: Apache-2.0
#include "node/kubelet/plugin_service.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "core/placement/fit.h"
#include "core/placement/prefer.h"
#include "node/kubelet/encode.h"
#include "os/files.h"

namespace tranche::node {
namespace {

// A stream notices within this time that the kubelet is gone.
constexpr std::chrono::milliseconds kPatience{1000};

// The same refusal is logged again after this time.
constexpr std::chrono::minutes kRefusalAgain{10};
constexpr std::size_t kMostRefusalsKnown = 64;

// Index of the method in the proto file.
constexpr int kListAndWatch = 1;

// Passes the text on without a copy.
grpc::ByteBuffer to_buffer(std::string text) {
  auto* kept = new std::string(std::move(text));
  const grpc::Slice slice(
      kept->data(), kept->size(), [](void* it) { delete static_cast<std::string*>(it); }, kept);
  return {&slice, 1};
}

std::uint64_t shares_of(const DeviceList& list) {
  std::uint64_t shares = 0;
  for (const ListedDevice& device : list) shares += device.shares();
  return shares;
}

template <typename Texts>
std::vector<std::string_view> views(const Texts& texts) {
  return {texts.begin(), texts.end()};
}

grpc::Status to_grpc(const Error& error) {
  switch (error.code) {
    case ErrorCode::kInvalidArgument: return {grpc::StatusCode::INVALID_ARGUMENT, error.message};
    case ErrorCode::kNotFound: return {grpc::StatusCode::NOT_FOUND, error.message};
    case ErrorCode::kUnavailable: return {grpc::StatusCode::UNAVAILABLE, error.message};
    case ErrorCode::kInternal: break;
  }
  return {grpc::StatusCode::INTERNAL, error.message};
}

// Counts a call for as long as it lasts.
class CallInProgress {
 public:
  explicit CallInProgress(std::atomic<int>& count) : count_(count) { ++count_; }
  CallInProgress(const CallInProgress&) = delete;
  CallInProgress& operator=(const CallInProgress&) = delete;
  ~CallInProgress() { --count_; }

 private:
  std::atomic<int>& count_;
};

// A list of ids, shortened for the log.
std::string shortened(const std::vector<std::string_view>& ids) {
  constexpr std::size_t kMost = 8;
  std::vector<std::string> shown;
  for (const std::string_view id : ids) {
    if (shown.size() < kMost) shown.emplace_back(id.substr(0, 100));
  }
  std::string text = join(shown, ",");
  if (ids.size() > kMost) text += fmt::format(",… ({})", ids.size());
  return text;
}

}  // namespace

PluginService::PluginService(const Latest<Serving>& serving, const Latest<Listing>& listing,
                             StreamWatch watch, const NodeAccess& node, Log& log)
    : serving_(serving), listing_(listing), watch_(std::move(watch)), node_(node), log_(log) {
  // Replaces the generated handler, which would take a message, as generated code itself replaces
  // handlers.
  MarkMethodStreamed(
      kListAndWatch,
      new grpc::internal::SplitServerStreamingHandler<v1beta1::Empty, grpc::ByteBuffer>(
          [this](grpc::ServerContext* context, ListStream* stream) {
            return list_and_watch(*context, *stream);
          }));
}

CallCounts PluginService::counts() const {
  return {granted_.load(), refused_.load(), preferred_.load(), lists_sent_.load()};
}

grpc::Status PluginService::GetDevicePluginOptions(grpc::ServerContext*, const v1beta1::Empty*,
                                                   v1beta1::DevicePluginOptions* response) {
  response->set_get_preferred_allocation_available(true);
  return grpc::Status::OK;
}

grpc::Status PluginService::list_and_watch(grpc::ServerContext& context, ListStream& stream) {
  v1beta1::Empty request;
  stream.Read(&request);
  const std::uint64_t epoch = listing_.get().value->epoch;
  note_stream(epoch, +1);
  std::uint64_t sent = 0;
  while (!context.IsCancelled()) {
    const auto latest = listing_.wait_newer(sent, kPatience);
    if (latest.value->epoch != epoch) break;
    if (latest.version == sent) continue;
    if (!stream.Write(to_buffer(encode(latest.value->devices)))) break;
    devices_seen_ += shares_of(latest.value->devices);
    sent = latest.version;
    ++lists_sent_;
    watch_.sent(sent);
  }
  note_stream(epoch, -1);
  return grpc::Status::OK;
}

grpc::Status PluginService::GetPreferredAllocation(
    grpc::ServerContext*, const v1beta1::PreferredAllocationRequest* request,
    v1beta1::PreferredAllocationResponse* response) {
  const CallInProgress call(allocating_);
  const CallGate::Call open(node_.gate);
  const auto serving = serving_.get().value;
  for (const auto& container : request->container_requests()) {
    const AllocationRequest asked{
        views(container.available_deviceids()), views(container.must_include_deviceids()),
        static_cast<std::size_t>(std::max(container.allocation_size(), 0))};
    devices_seen_ += asked.available.size();
    auto& answer = *response->add_container_responses();
    const OfferRoom left = room(*serving, asked.available);
    for (const std::string_view id : prefer(serving->offer, left, serving->topology, asked)) {
      answer.add_deviceids(std::string(id));
    }
  }
  ++preferred_;
  return grpc::Status::OK;
}

grpc::Status PluginService::Allocate(grpc::ServerContext*, const v1beta1::AllocateRequest* request,
                                     v1beta1::AllocateResponse* response) {
  const CallInProgress call(allocating_);
  const CallGate::Call open(node_.gate);
  const auto serving = serving_.get().value;
  for (const auto& container : request->container_requests()) {
    const std::vector<std::string_view> ids = views(container.devices_ids());
    const Result<ContainerGrant> granted = allocate(*serving, ids);
    if (!granted) {
      note_refusal(*serving, ids, granted.error().message);
      return to_grpc(granted.error());
    }
    if (!serving->driver_folder.empty() && !path_exists(serving->driver_folder)) {
      log_.warning("the folder that is mounted into containers does not exist",
                   {{"folder", serving->driver_folder}, {"flag", "-host-path"}});
    }
    for (const std::string& warning : granted->warnings) {
      log_.warning(warning, {{"resource", serving->offer.name.text}});
    }
    encode(*granted, *response->add_container_responses());
    log_.info("allocated", {{"resource", serving->offer.name.text}, {"devices", shortened(ids)}});
  }
  ++granted_;
  return grpc::Status::OK;
}

// Shares that can be granted now. `free`: ids the kubelet considers free.
OfferRoom PluginService::room(const Serving& serving,
                              const std::vector<std::string_view>& free) const {
  const auto ledger = node_.book.get();
  if (!ledger) return empty_room(serving.offer);
  return Coverage(*serving.catalog, *ledger).room(serving.offer, free);
}

// The kubelet's view may be outdated, so this checks again.
Result<ContainerGrant> PluginService::allocate(const Serving& serving,
                                               const std::vector<std::string_view>& ids) {
  if (is_retired_) {
    return Error{ErrorCode::kUnavailable,
                 serving.offer.name.text +
                     " is no longer offered on this node: the configuration or the GPUs changed"};
  }
  const OfferRoom left = room(serving, {});
  const OfferRoom* known = node_.book.get() ? &left : nullptr;
  if (Status fitting = fits(serving.offer, known, ids); !fitting) return fitting.error();
  Result<ContainerGrant> granted = grant(serving.offer, serving.grant, serving.facts, ids);
  if (!granted) return granted;
  const Result<std::string> handed_off = hand_off(*granted);
  if (!handed_off) return handed_off.error();
  if (Status written = record(serving, ids); !written) {
    node_.handed_off.withdraw(*handed_off);
    return written.error();
  }
  return granted;
}

// Writes the files of a node pod before its first process starts. Returns their id.
Result<std::string> PluginService::hand_off(ContainerGrant& granted) const {
  if (!granted.nested) return std::string();
  const Result<HandedOffPaths> paths =
      node_.handed_off.issue(*granted.nested, std::chrono::steady_clock::now());
  if (!paths) return paths.error();
  // Read-only: no limit counts what a container would write to the node's disk.
  if (!paths->gpu_env.empty()) {
    granted.mounts.push_back({std::string(kGpuEnvFile), paths->gpu_env, true});
  }
  granted.mounts.push_back({grant_folder(granted.nested->resource), paths->folder, true});
  return paths->id;
}

// Records the grant in the ledger if all shares are free.
Status PluginService::record(const Serving& serving,
                             const std::vector<std::string_view>& ids) const {
  if (Status free = check_holders(serving, ids); !free) return free;
  LedgerBook::Grant grant{.resource = serving.offer.name.text, .shares = ids};
  for (const OfferedDevice& device : serving.offer.devices) {
    if (device.replicas) grant.sizes.emplace(device.uuid, device.share_bytes);
  }
  return node_.book.grant(grant, [&](const Ledger& ledger) {
    return Coverage(*serving.catalog, ledger).admits(serving.offer, ids);
  });
}

// A List during the admission of a pod can make the kubelet allocate ids that another pod has
// (kubernetes PR 137534). If the ledger has a holder, asks the kubelet with Get, which has no such
// effect, whether the pod still holds them. If Get does not answer, the kubelet's request stands,
// and the next holder is not asked about, because Allocate delays the admission of all other pods.
Status PluginService::check_holders(const Serving& serving,
                                    const std::vector<std::string_view>& ids) const {
  const auto ledger = node_.book.get();
  if (!ledger) return Done{};
  const std::string& resource = serving.offer.name.text;
  const std::unordered_set<std::string_view> asked(ids.begin(), ids.end());
  const auto first_asked = [&](const Holding& holding) {
    const auto found = std::ranges::find_if(
        holding.shares, [&](const std::string& share) { return asked.contains(share); });
    return holding.resource != resource || found == holding.shares.end() ? nullptr : &*found;
  };
  for (const Holding& holding : ledger->holdings) {
    const std::string* share = holding.holder.pod.empty() ? nullptr : first_asked(holding);
    if (share == nullptr) continue;
    const auto still = node_.pods.get(holding.holder.pod_namespace, holding.holder.pod, {resource});
    if (!still && still.error().code == ErrorCode::kUnavailable) break;
    if (!still) continue;
    const bool has_it = std::ranges::any_of(
        *still, [&](const Holding& now) { return std::ranges::binary_search(now.shares, *share); });
    if (has_it) {
      return Error{ErrorCode::kUnavailable,
                   fmt::format("cannot allocate \"{}\": the kubelet allocates {}, but also reports "
                               "that {} still holds it",
                               resource, *share, to_string(holding.holder))};
    }
  }
  return Done{};
}

// A refused pod is often recreated in a loop; log each reason at most once per kRefusalAgain.
void PluginService::note_refusal(const Serving& serving, const std::vector<std::string_view>& ids,
                                 const std::string& reason) {
  ++refused_;
  {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (logged_refusals_.size() >= kMostRefusalsKnown) logged_refusals_.clear();
    const auto [logged, is_new] = logged_refusals_.try_emplace(reason, now);
    if (!is_new && now < logged->second + kRefusalAgain) return;
    logged->second = now;
  }
  log_.warning(
      "allocation refused",
      {{"resource", serving.offer.name.text}, {"devices", shortened(ids)}, {"reason", reason}});
  if (node_.refused) node_.refused(serving.offer.name.text, reason);
}

grpc::Status PluginService::PreStartContainer(grpc::ServerContext*,
                                              const v1beta1::PreStartContainerRequest*,
                                              v1beta1::PreStartContainerResponse*) {
  return grpc::Status::OK;  // not requested in the options
}

void PluginService::note_stream(std::uint64_t epoch, int change) {
  bool is_last = false;
  {
    const std::lock_guard lock(mutex_);
    if (epoch < epoch_) return;  // of an older registration
    if (epoch > epoch_) streams_ = 0;
    epoch_ = epoch;
    streams_ += change;
    is_last = streams_ == 0;
  }
  if (change > 0) watch_.opened(epoch);
  if (is_last) watch_.ended(epoch);
}

}  // namespace tranche::node
