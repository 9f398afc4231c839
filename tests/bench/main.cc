// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "bench/measure_api.h"
#include "bench/options.h"
#include "bench/process_figures.h"
#include "bench/report.h"
#include "bench/scenario.h"
#include "os/testing/temp_dir.h"

namespace tranche::bench {
namespace {

Result<Results> measure_all(const Programs& programs, bool quick) {
  Results results;
  for (const Scenario& scenario : scenarios(quick)) {
    std::cerr << "measuring: " << scenario.name << "\n";
    const TempDir folder;
    Result<Measurement> measurement = measure(programs, scenario, folder.path());
    if (!measurement) return measurement.error();
    results.measurements.push_back(*std::move(measurement));
  }
  const ApiScenario scenario = api_scenario(quick);
  std::cerr << "measuring: " << scenario.name << ", with and without the API features\n";
  const TempDir folder;
  Result<ApiMeasurement> api = measure_api(programs.agent, scenario, folder.path());
  if (!api) return api.error();
  results.api = *std::move(api);
  const Result<std::uint64_t> agent = loaded_bytes(programs.agent);
  if (!agent) return agent.error();
  const Result<std::uint64_t> floor = loaded_bytes(programs.floor);
  if (!floor) return floor.error();
  results.agent_program = *agent;
  results.floor_program = *floor;
  return results;
}

int complain(const Error& error) {
  std::cerr << "tranche-bench: " << error.message << "\n";
  return 1;
}

int run(const std::vector<std::string>& words) {
  const Result<Options> options = parse_options(words);
  if (!options) return complain(options.error());
  if (options->help) {
    std::cout << help_text();
    return 0;
  }
  const Result<Results> results =
      measure_all({.agent = TRANCHE_AGENT, .floor = TRANCHE_FLOOR}, options->quick);
  if (!results) return complain(results.error());
  std::cout << (options->json ? to_json(*results) : to_text(*results));
  return 0;
}

}  // namespace
}  // namespace tranche::bench

int main(int argc, char** argv) { return tranche::bench::run({argv + 1, argv + argc}); }
