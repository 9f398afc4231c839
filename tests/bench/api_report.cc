// SPDX-License-Identifier: Apache-2.0
#include "bench/api_report.h"

namespace tranche::bench {
namespace {

constexpr double kMostMegabytes = 20;  // of a million bytes
// One heartbeat in three minutes.
constexpr double kMostWrites = 60.0 / 180;

double mib(std::uint64_t kib) { return static_cast<double>(kib) / 1024; }
double megabytes(std::uint64_t kib) { return static_cast<double>(kib) * 1024 / 1e6; }

}  // namespace

std::vector<ApiFigure> api_figures(const ApiMeasurement& measured) {
  const auto memory = [&](const char* what, std::uint64_t MemoryFigures::* kib) {
    return ApiFigure{what, "MiB", mib(measured.on.memory.*kib), mib(measured.off.memory.*kib)};
  };
  const Rest& on = measured.on.rest;
  const Rest& off = measured.off.rest;
  return {
      memory("memory at rest", &MemoryFigures::resident_kib),
      memory("memory at rest, of that not files", &MemoryFigures::anonymous_kib),
      memory("memory, highest ever", &MemoryFigures::peak_kib),
      {"CPU at rest", "us/s", on.cpu_us_per_s, off.cpu_us_per_s},
      {"CPU at rest, without the driver", "us/s", on.own_us_per_s(), off.own_us_per_s()},
      {"wakes at rest", "1/s", on.wakes_per_s, off.wakes_per_s},
      {"writes at rest", "1/min", measured.writes_per_min, 0},
      {"written at rest", "KiB/min", measured.written_bytes_per_min / 1024, 0},
  };
}

std::vector<Aim> api_aims(const ApiMeasurement& measured) {
  return {
      {.text = "memory at rest with the API features, MB",
       .limit = kMostMegabytes,
       .worst = megabytes(measured.on.memory.resident_kib),
       .where = measured.scenario},
      {.text = "writes at rest with the API features, 1/min",
       .limit = kMostWrites,
       .worst = measured.writes_per_min,
       .where = measured.scenario},
  };
}

}  // namespace tranche::bench
