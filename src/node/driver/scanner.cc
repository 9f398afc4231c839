// SPDX-License-Identifier: Apache-2.0
#include "node/driver/scanner.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/path.h"
#include "base/text.h"
#include "core/health/changes.h"
#include "core/health/numbering.h"
#include "core/health/pci_slots.h"
#include "node/driver/release_file.h"

namespace tranche::node {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Longest wait of a stop or a request for an event call.
constexpr milliseconds kSlice{500};
// The shortest time between two readings, however fast errors come.
constexpr milliseconds kBreath{100};
constexpr milliseconds kFirstTroublePause{500};
constexpr milliseconds kLongestTroublePause{10'000};
constexpr milliseconds kLongestFreshPause{300'000};
constexpr int kEventsAtOnce = 256;
constexpr unsigned kScansBetweenEnergy = 12;

// XIDs that NVML does not reliably deliver. The others come as events and would count twice.
bool comes_from_kernel_only(unsigned xid) { return xid == 79 || xid == 119 || xid == 120; }

}  // namespace

Scanner::Scanner(GpuSource& source, KernelFiles kernel, std::string memory_file, Log& log,
                 OnInventory on_inventory)
    : source_(source),
      kernel_(std::move(kernel)),
      log_(log),
      on_inventory_(std::move(on_inventory)),
      numbers_file_(gpu_numbers_path(parent_of(memory_file)), log),
      release_file_(release_path(parent_of(memory_file))),
      memory_(std::move(memory_file), log) {}

Status Scanner::begin(const HealthOptions& options) {
  options_ = options;
  if (std::optional<NodeState> recalled = memory_.recall()) state_ = *std::move(recalled);
  recall_numbers();
  Result<KernelLog> kernel_log = KernelLog::open(kernel_.kernel_log_path());
  if (kernel_log) {
    kernel_log_ = std::move(*kernel_log);
  } else {
    log_.info("cannot read the kernel log; XIDs 79, 119 and 120 may go unseen",
              {{"reason", kernel_log.error().message}});
  }
  if (!recall_release()) return scan_once();
  publish();
  return Done{};
}

void Scanner::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    take_requests();
    if (state_.driver_released) {
      note_done();
      wait_for_request(stop, kSlice);
      if (fold_kernel_log()) publish();
      continue;
    }
    const Status scanned = scan_once();
    note_done();
    if (scanned) {
      trouble_pause_ = {};
      watch(stop, options_.interval);
    } else {
      trouble_pause_ = std::clamp(trouble_pause_ * 2, kFirstTroublePause, kLongestTroublePause);
      wait_for_request(stop, trouble_pause_);
    }
  }
  source_.close();
}

Status Scanner::scan_once() {
  refresh_session();
  if (Status opened = ensure_open(); !opened) {
    drop_driver(opened.error());
    return opened;
  }
  ReadRequest request = next_read_request(state_);
  // The baseline to detect a reset by a falling counter after any fault, even one that takes the
  // card off the bus. A reset may happen between two sessions.
  request.energy = request.energy || !has_read_ || scans_++ % kScansBetweenEnergy == 0;
  const Result<DriverReading> reading = source_.read(request);
  if (!reading) {
    drop_driver(reading.error());
    return reading.error();
  }
  if (logged_.changed("driver", reading->driver_version)) {
    log_.info("driver opened", {{"version", reading->driver_version},
                                {"gpus", std::to_string(reading->gpus.size())}});
  }
  has_events_ = true;
  const GpuNumbers numbers = state_.inventory.numbers;
  fold_reading(*reading);
  log_number_changes(numbers);
  for (const GpuReading& one : reading->gpus) {
    const std::string index = std::to_string(one.index);
    if (!one.gpu && one.failure && logged_.changed("unknown " + index, one.failure->what)) {
      log_.warning("gpu does not answer", {{"driver-index", index}, {"reason", one.failure->what}});
    }
  }
  publish();
  return Done{};
}

void Scanner::set_options(const HealthOptions& options) {
  const std::lock_guard lock(mutex_);
  requests_.options = options;
  requested_.notify_all();
}

void Scanner::forget_numbers(std::set<unsigned> numbers) {
  const std::lock_guard lock(mutex_);
  requests_.forget.merge(std::move(numbers));
  requested_.notify_all();
}

// Before the first start with numbers, a missing GPU is known only by its remembered fault.
void Scanner::recall_numbers() {
  std::optional<GpuNumbers> recalled = numbers_file_.recall();
  state_.inventory.numbers = recalled ? *std::move(recalled) : with_gpus({}, state_.inventory.gpus);
}

void Scanner::log_number_changes(const GpuNumbers& before) {
  for (const NumberChange& change : changes_between(before, state_.inventory.numbers)) {
    const Log::Fields fields{{"index", std::to_string(change.number)},
                             {"pci", to_string(change.slot.pci)},
                             {"gpu", change.slot.uuid.text},
                             {"detail", change.detail}};
    change.is_warning ? log_.warning(change.what, fields) : log_.info(change.what, fields);
  }
}

void Scanner::take_requests() {
  Requests requests;
  {
    const std::lock_guard lock(mutex_);
    std::swap(requests, requests_);
    taken_ = asked_;
  }
  if (requests.options) options_ = *requests.options;
  if (requests.release) {
    keep_release(*requests.release);  // first: after a restart the driver must stay closed
    state_ = with_release(std::move(state_), *requests.release, follows_kernel_log());
    state_.inventory.still_open = "the agent is closing it";
    publish();  // first: no container may get a GPU that is about to be reset
    source_.close();
    is_open_ = false;
    was_blind_ = true;
    has_read_ = false;
    logged_.forget("driver");
  }
  if (!requests.forget.empty()) {
    const GpuNumbers before = state_.inventory.numbers;
    state_ = with_forgotten_numbers(std::move(state_), requests.forget);
    log_number_changes(before);
    if (state_.driver_released) publish();  // else the next scan publishes
  }
  if (requests.resume) {
    end_release();
    state_ = with_resume(std::move(state_));
    source_.close();
    is_open_ = false;
    log_.info("driver reopened by resume");
  }
}

bool Scanner::has_requests() {
  const std::lock_guard lock(mutex_);
  return requests_.any();
}

void Scanner::wait_for_request(const std::stop_token& stop, milliseconds at_most) {
  std::unique_lock lock(mutex_);
  requested_.wait_for(lock, stop, at_most, [&] { return requests_.any(); });
}

Status Scanner::ensure_open() {
  std::string gpu_set = kernel_.gpu_set();
  if (is_open_ && gpu_set != gpu_set_) {
    log_.info("the kernel's GPU list changed; reopening the driver",
              {{"now", gpu_set}, {"before", gpu_set_}});
    source_.close();
    is_open_ = false;
  }
  if (is_open_) return Done{};
  was_blind_ = true;
  has_read_ = false;
  // Separates lines from before the session from those during it.
  if (kernel_log_) std::ranges::move(kernel_log_->drain(), std::back_inserter(held_lines_));
  gpu_set_ = std::move(gpu_set);
  Status opened = source_.open();
  is_open_ = static_cast<bool>(opened);
  return opened;
}

void Scanner::drop_driver(const Error& error) {
  // Attribute these errors to the cards of the last reading; a replacement card reports its own
  // later.
  if (std::exchange(has_read_, false)) {
    was_blind_ = true;
    fold_kernel_log();
  }
  source_.close();
  is_open_ = false;
  if (logged_.changed("driver", error.message)) {
    log_.error("cannot read the driver; its gpus are unhealthy", {{"reason", error.message}});
  }
  const bool unloaded = kernel_.has_driver_module() == std::optional<bool>(false);
  state_ = with_driver_trouble(std::move(state_), error.message, unloaded);
  publish();
}

// A session that lost a GPU never sees it again, and only a fresh one proves that it recovered.
// Each further try waits twice as long.
void Scanner::refresh_session() {
  if (!is_open_ || !wants_fresh_session(state_)) {
    fresh_session_pause_ = {};
    return;
  }
  const auto now = steady_clock::now();
  if (fresh_session_pause_ == milliseconds{}) {
    fresh_session_pause_ = options_.interval;
    next_fresh_session_ = now + fresh_session_pause_;
    return;
  }
  if (now < next_fresh_session_) return;
  fresh_session_pause_ = std::min(fresh_session_pause_ * 2, kLongestFreshPause);
  next_fresh_session_ = now + fresh_session_pause_;
  source_.close();
  is_open_ = false;
}

void Scanner::publish() {
  numbers_file_.remember(state_.inventory.numbers);
  memory_.remember(state_);
  Inventory inventory = present(state_);
  for (const InventoryChange& change : changes_between(shown_, inventory, state_.ended)) {
    const std::string pci = change.pci.empty() ? "not known" : change.pci;
    if (!change.cleared_by.empty()) {
      log_.warning(to_string(change.what), {{"device", change.device},
                                            {"index", change.index},
                                            {"pci", pci},
                                            {"detail", change.detail},
                                            {"cleared-by", change.cleared_by}});
    } else if (!change.because.empty()) {
      log_.info(to_string(change.what), {{"device", change.device},
                                         {"index", change.index},
                                         {"pci", pci},
                                         {"detail", change.detail},
                                         {"because", change.because}});
    } else {
      const Log::Fields fields{{"device", change.device},
                               {"index", change.index},
                               {"pci", pci},
                               {"detail", change.detail}};
      change.is_bad ? log_.warning(to_string(change.what), fields)
                    : log_.info(to_string(change.what), fields);
    }
  }
  shown_ = inventory;
  on_inventory_(inventory);
}

Surroundings Scanner::surroundings() const {
  const Result<std::string> boot_id = kernel_.boot_id();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {.boot_id = boot_id ? *boot_id : std::string(),
          .now = std::chrono::duration_cast<std::chrono::seconds>(now).count(),
          .has_pci_device = [this](const PciAddress& pci) { return kernel_.has_pci_device(pci); },
          .driver_binding = [this](const PciAddress& pci) { return kernel_.driver_binding(pci); }};
}

void Scanner::watch(const std::stop_token& stop, milliseconds period) {
  const auto end = steady_clock::now() + period;
  while (!stop.stop_requested() && !has_requests()) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - steady_clock::now());
    if (left <= milliseconds{}) return;
    const bool driver_news = fold_driver_events(std::min(left, kSlice), stop);
    const bool kernel_news = fold_kernel_log();
    if (driver_news || kernel_news) {
      publish();
      wait_for_request(stop, kBreath);
      return;
    }
  }
}

bool Scanner::fold_driver_events(milliseconds at_most, const std::stop_token& stop) {
  if (!has_events_) {
    wait_for_request(stop, at_most);
    return false;
  }
  bool news = false;
  for (int i = 0; i < kEventsAtOnce; ++i) {
    const Result<std::vector<DriverEvent>> events = source_.wait(news ? milliseconds{} : at_most);
    if (!events) {
      // No events until the next reading, which also shows the problem.
      has_events_ = false;
      was_blind_ = true;
      const bool never_any = events.error().code == ErrorCode::kNotFound;
      if (!never_any && logged_.changed("events", events.error().message)) {
        log_.info("driver events stopped", {{"reason", events.error().message}});
      }
      return news;
    }
    if (events->empty()) return news;
    for (const DriverEvent& event : *events) fold(event, "driver");
    news = true;
  }
  return news;
}

bool Scanner::fold_kernel_log() {
  if (!kernel_log_) return false;
  bool news = false;
  for (const KernelXid& line : kernel_log_->drain()) news = fold(line) || news;
  return news;
}

// Whether the line is news of a GPU.
bool Scanner::fold(const KernelXid& line) {
  const bool ours =
      was_blind_ || state_.seen_by == DriverKind::kDeviceNodes || comes_from_kernel_only(line.xid);
  const Gpu* gpu = gpu_of(state_, line);
  if (!ours || gpu == nullptr) return false;
  // Log lines of a reset do not concern the GPU after it.
  if (state_.released.contains(gpu->uuid)) return false;
  fold({.kind = DriverEvent::Kind::kXid, .gpu = gpu->uuid, .xid = line.xid}, "kernel log");
  return true;
}

// Folds lines about known GPUs before the reading, so that it can clear them. Returns those about
// GPUs that are new in it.
std::vector<KernelXid> Scanner::fold_lines_before(const DriverReading& reading) {
  std::vector<KernelXid> of_new_gpus;
  for (const KernelXid& line : std::exchange(held_lines_, {})) {
    is_of_new_gpu(state_, reading, line) ? of_new_gpus.push_back(line)
                                         : static_cast<void>(fold(line));
  }
  return of_new_gpus;
}

void Scanner::fold_reading(const DriverReading& reading) {
  const std::vector<KernelXid> of_new_gpus = fold_lines_before(reading);
  for (const Replacement& replaced : replaced_gpus(state_, reading)) {
    // log_number_changes() logs a slot that has a number.
    const bool is_numbered = std::ranges::any_of(state_.inventory.numbers, [&](const auto& slot) {
      return slot.second.pci == replaced.pci;
    });
    if (is_numbered && reading.kind == DriverKind::kNvml) continue;
    log_.warning(
        "another card is in its slot; the old gpu is no longer listed",
        {{"gpu", replaced.gpu.text}, {"now", replaced.by.text}, {"pci", to_string(replaced.pci)}});
  }
  state_ = with_reading(std::move(state_), reading, surroundings());
  for (const KernelXid& line : of_new_gpus) fold(line);
  has_read_ = true;
  // Lines since the session began may be newer than the reading.
  if (was_blind_) fold_kernel_log();
  was_blind_ = false;
}

void Scanner::fold(const DriverEvent& event, std::string_view source) {
  if (event.kind == DriverEvent::Kind::kXid) {
    log_.info(options_.xids.counts(event.xid) ? "xid" : "xid ignored by policy",
              {{"xid", std::to_string(event.xid)},
               {"gpu", event.gpu ? event.gpu->text : std::string("unknown")},
               {"from", std::string(source)}});
  }
  Surroundings around = surroundings();
  around.order_unknown = !has_read_;
  state_ = with_event(std::move(state_), event, options_.xids, around);
}

}  // namespace tranche::node
