// SPDX-License-Identifier: Apache-2.0
#include "bench/contender.h"

#include <atomic>
#include <filesystem>
#include <future>
#include <thread>
#include <utility>

#include "base/path.h"
#include "os/files.h"
#include "testbed/kubelet/registration_server.h"

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

std::string output_of(const Program& program) { return below(program.folder, "output"); }

}  // namespace

std::string kubelet_socket(const std::string& folder) { return below(folder, "kubelet.sock"); }

Result<std::unique_ptr<Contender>> Contender::start(const Program& program) {
  std::error_code trouble;
  std::filesystem::remove_all(program.folder, trouble);
  if (Status made = make_directories(program.folder); !made) return made.error();
  Result<std::unique_ptr<Reception>> reception = Reception::open(kubelet_socket(program.folder));
  if (!reception) return reception.error();

  Result<Child> child = Child::start(program.command, output_of(program));
  if (!child) return child.error();
  auto contender = std::unique_ptr<Contender>(new Contender(*std::move(child), program));
  const Result<Arrival> arrival = (*reception)->wait();
  if (!arrival) return arrival.error().in(contender->said());
  contender->start_to_registered_ = arrival->at - contender->child_.started();
  arrival->call->answer(std::nullopt);

  if (Status listened = contender->listen_to(arrival->call->endpoint); !listened) {
    return listened.error().in(contender->said());
  }
  contender->registered_to_list_ = Clock::now() - arrival->at;
  return contender;
}

std::string Contender::said() const {
  const Result<std::string> output = read_file(output_of(program_));
  return program_.command[0] + (output ? "\n" + *output : "");
}

Status Contender::listen_to(const std::string& endpoint) {
  client_ = std::make_unique<RawClient>(below(program_.folder, endpoint));
  if (Status connected = client_->connect(kPatience); !connected) return connected;
  Result<grpc::ByteBuffer> list = client_->open_list();
  if (!list) return list.error();
  list_ = *std::move(list);
  return Done{};
}

Result<std::chrono::nanoseconds> Contender::restart_kubelet() {
  client_.reset();
  // As a kubelet does when it starts.
  const Result<std::vector<std::string>> names = list_directory(program_.folder);
  if (!names) return names.error();
  for (const std::string& name : *names) {
    if (name.ends_with(".sock")) std::filesystem::remove(below(program_.folder, name));
  }
  const Clock::time_point begun = Clock::now();
  Result<std::unique_ptr<Reception>> reception = Reception::open(kubelet_socket(program_.folder));
  if (!reception) return reception.error();
  const Result<Arrival> arrival = (*reception)->wait();
  if (!arrival) return arrival.error().in("after a restart of the kubelet: " + said());
  arrival->call->answer(std::nullopt);
  if (Status listened = listen_to(arrival->call->endpoint); !listened) return listened.error();
  return arrival->at - begun;
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
