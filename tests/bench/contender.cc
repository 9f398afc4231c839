// SPDX-License-Identifier: Apache-2.0
#include "bench/contender.h"

#include <atomic>
#include <filesystem>
#include <future>
#include <thread>
#include <utility>

#include "base/files.h"
#include "standin/registration_server.h"

namespace tranche::bench {
namespace {

constexpr std::chrono::seconds kPatience{60};

struct Arrival {
  Clock::time_point at;
  std::shared_ptr<standin::PendingRegistration> call;
};

// The first registration that comes; later ones are refused.
class Reception {
 public:
  static Result<std::unique_ptr<Reception>> open(const std::string& socket) {
    auto reception = std::unique_ptr<Reception>(new Reception);
    auto server = standin::RegistrationServer::listen(
        socket, [raw = reception.get()](std::shared_ptr<standin::PendingRegistration> call) {
          const Clock::time_point now = Clock::now();
          if (!raw->is_taken_.exchange(true)) raw->arrival_.set_value({now, std::move(call)});
        });
    if (!server) return server.error();
    reception->server_ = *std::move(server);
    return reception;
  }

  Result<Arrival> wait() {
    std::future<Arrival> arrival = arrival_.get_future();
    if (arrival.wait_for(kPatience) != std::future_status::ready) {
      return Error{ErrorCode::kUnavailable, "it does not register"};
    }
    return arrival.get();
  }

 private:
  Reception() = default;

  std::atomic<bool> is_taken_{false};
  std::promise<Arrival> arrival_;
  std::unique_ptr<standin::RegistrationServer> server_;  // last: it ends first
};

}  // namespace

std::string kubelet_socket(const std::string& folder) { return below(folder, "kubelet.sock"); }

Result<std::unique_ptr<Contender>> Contender::start(const Program& program) {
  std::error_code trouble;
  std::filesystem::remove_all(program.folder, trouble);
  if (Status made = make_directories(program.folder); !made) return made.error();
  Result<std::unique_ptr<Reception>> reception = Reception::open(kubelet_socket(program.folder));
  if (!reception) return reception.error();

  const std::string output = below(program.folder, "output");
  Result<Child> child = Child::start(program.command, output);
  if (!child) return child.error();
  auto contender = std::unique_ptr<Contender>(new Contender(*std::move(child)));
  const Result<Arrival> arrival = (*reception)->wait();
  if (!arrival) {
    const Result<std::string> said = read_file(output);
    return arrival.error().in(program.command[0] + (said ? "\n" + *said : ""));
  }
  contender->start_to_registered_ = arrival->at - contender->child_.started();
  arrival->call->answer(std::nullopt);

  // As a kubelet does: it dials the plugin and opens the stream.
  contender->client_ = std::make_unique<RawClient>(below(program.folder, arrival->call->endpoint));
  if (Status connected = contender->client_->connect(kPatience); !connected) {
    return connected.error();
  }
  Result<grpc::ByteBuffer> list = contender->client_->open_list();
  if (!list) return list.error().in(program.command[0]);
  contender->registered_to_list_ = Clock::now() - arrival->at;
  contender->list_ = *std::move(list);
  return contender;
}

Result<std::chrono::nanoseconds> Contender::stop() {
  // As a kubelet does: it hangs up when the stream ends.
  const std::jthread hanging_up([this] {
    client_->wait_for_end();
    client_.reset();
  });
  return child_.stop(kPatience);
}

}  // namespace tranche::bench
