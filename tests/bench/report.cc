// SPDX-License-Identifier: Apache-2.0
#include "bench/report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <iterator>
#include <utility>

#include <nlohmann/json.hpp>

#include "bench/api_report.h"
#include "bench/samples.h"

namespace tranche::bench {
namespace {

constexpr double kMostForAllocate = 1.3;
constexpr double kMostMemory = 1.65;
// Linear, and something for what caches no longer hold.
constexpr double kMostGrowth = 1.15;
// A twentieth of a percent of one core: below it, top shows 0.0.
constexpr double kMostAtRest = 500;

double mib(std::uint64_t kib) { return static_cast<double>(kib) / 1024; }

struct Kind {
  const char* what;
  const char* unit;
  std::function<double(const Side&)> value;
};

std::vector<Kind> kinds() {
  return {
      {"start to registered", "ms", [](const Side& side) { return side.start_to_registered_ms; }},
      {"registered to first list", "ms",
       [](const Side& side) { return side.registered_to_list_ms; }},
      {"Allocate p50", "us", [](const Side& side) { return side.allocate.p50_us; }},
      {"Allocate p99", "us", [](const Side& side) { return side.allocate.p99_us; }},
      {"GetPreferredAllocation p50", "us", [](const Side& side) { return side.prefer.p50_us; }},
      {"GetPreferredAllocation p99", "us", [](const Side& side) { return side.prefer.p99_us; }},
      {"memory, listed", "MiB", [](const Side& side) { return mib(side.listed.resident_kib); }},
      {"memory, after all calls", "MiB",
       [](const Side& side) { return mib(side.worked.resident_kib); }},
      {"memory, of that not files", "MiB",
       [](const Side& side) { return mib(side.worked.anonymous_kib); }},
      {"memory, highest ever", "MiB", [](const Side& side) { return mib(side.worked.peak_kib); }},
      {"kubelet restart to registered", "ms",
       [](const Side& side) { return side.restart_to_registered_ms; }},
      {"SIGTERM to end", "ms", [](const Side& side) { return side.stop_ms; }},
  };
}

// The largest of a value over all measurements.
Aim worst_of(const Results& results, Aim aim,
             const std::function<double(const Measurement&)>& value) {
  for (const Measurement& measurement : results.measurements) {
    const double here = value(measurement);
    if (here <= aim.worst) continue;
    aim.worst = here;
    aim.where = measurement.scenario;
  }
  return aim;
}

double ratio(std::uint64_t agent, std::uint64_t floor) {
  return floor > 0 ? static_cast<double>(agent) / static_cast<double>(floor) : 0;
}

// From one size of the same node to the next.
Aim growth_aim(const Results& results) {
  Aim aim{.text = "GetPreferredAllocation p50 grows with this power of the ids",
          .limit = kMostGrowth};
  const Measurement* before = nullptr;
  for (const Measurement& here : results.measurements) {
    if (!here.replicated) continue;
    const Measurement* last = std::exchange(before, &here);
    if (last == nullptr) continue;
    const double power = growth(static_cast<double>(last->devices), last->agent.prefer.p50_us,
                                static_cast<double>(here.devices), here.agent.prefer.p50_us);
    if (power <= aim.worst) continue;
    aim.worst = power;
    aim.where = last->scenario + " to " + here.scenario;
  }
  return aim;
}

std::string number(double value) {
  std::array<char, 32> text{};
  const int digits = value >= 100 ? 0 : (value >= 10 ? 1 : 2);
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

using Row = std::vector<std::string>;

// Bytes that are not the first of a character do not take a place.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::string space(width - std::min(width, width_of(text)), ' ');
  return right ? space + text : text + space;
}

std::string markdown(std::vector<Row> rows, std::size_t texts) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  Row rule;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    rule.push_back(std::string(widths[i] - 1, '-') + (i < texts ? '-' : ':'));
  }
  rows.insert(rows.begin() + 1, rule);
  std::string out;
  for (const Row& row : rows) {
    out += "|";
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += " " + padded(row[i], widths[i], i >= texts) + " |";
    }
    out += "\n";
  }
  return out;
}

}  // namespace

std::vector<Figure> figures_of(const Results& results) {
  std::vector<Figure> figures;
  for (const Kind& kind : kinds()) {
    for (const Measurement& measurement : results.measurements) {
      figures.push_back({kind.what, measurement.scenario, kind.unit, kind.value(measurement.agent),
                         kind.value(measurement.floor)});
    }
  }
  for (const Measurement& measurement : results.measurements) {
    const auto& agent = measurement.agent.rest;
    const auto& floor = measurement.floor.rest;
    if (!agent || !floor) continue;
    figures.push_back(
        {"CPU at rest", measurement.scenario, "us/s", agent->cpu_us_per_s, floor->cpu_us_per_s});
    figures.push_back({"CPU at rest, without the driver", measurement.scenario, "us/s",
                       agent->own_us_per_s(), floor->own_us_per_s()});
    figures.push_back(
        {"wakes at rest", measurement.scenario, "1/s", agent->wakes_per_s, floor->wakes_per_s});
  }
  constexpr double kMiB = 1 << 20;
  figures.push_back({"the program, stripped", "", "MiB",
                     static_cast<double>(results.agent_program) / kMiB,
                     static_cast<double>(results.floor_program) / kMiB});
  return figures;
}

std::vector<Aim> aims_of(const Results& results) {
  std::vector<Aim> aims{
      worst_of(results, {.text = "Allocate p50 over the floor's", .limit = kMostForAllocate},
               [](const Measurement& one) {
                 return one.agent.allocate.p50_us / std::max(one.floor.allocate.p50_us, 1e-3);
               }),
      worst_of(results, {.text = "memory over the floor's, listed", .limit = kMostMemory},
               [](const Measurement& one) {
                 return ratio(one.agent.listed.resident_kib, one.floor.listed.resident_kib);
               }),
      worst_of(results, {.text = "memory over the floor's, after all calls", .limit = kMostMemory},
               [](const Measurement& one) {
                 return ratio(one.agent.worked.resident_kib, one.floor.worked.resident_kib);
               }),
      growth_aim(results),
      worst_of(
          results, {.text = "CPU at rest, us/s", .limit = kMostAtRest},
          [](const Measurement& one) { return one.agent.rest ? one.agent.rest->cpu_us_per_s : 0; }),
      worst_of(results, {.text = "CPU at rest without the driver, us/s", .limit = kMostAtRest},
               [](const Measurement& one) {
                 return one.agent.rest ? one.agent.rest->own_us_per_s() : 0;
               }),
  };
  if (results.api) std::ranges::move(api_aims(*results.api), std::back_inserter(aims));
  return aims;
}

std::string to_text(const Results& results) {
  std::vector<Row> rows{{"figure", "node", "unit", "agent", "floor", "ratio"}};
  for (const Figure& figure : figures_of(results)) {
    rows.push_back({figure.what, figure.scenario, figure.unit, number(figure.agent),
                    number(figure.floor), figure.ratio() > 0 ? number(figure.ratio()) : "-"});
  }
  std::string api;
  if (results.api) {
    std::vector<Row> both{{"figure", "node", "unit", "on", "off", "ratio"}};
    for (const ApiFigure& figure : api_figures(*results.api)) {
      both.push_back({figure.what, results.api->scenario, figure.unit, number(figure.on),
                      number(figure.off), figure.ratio() > 0 ? number(figure.ratio()) : "-"});
    }
    api = markdown(std::move(both), 3) + "\n";
  }
  std::vector<Row> aims{{"aim", "node", "at most", "worst", ""}};
  for (const Aim& aim : aims_of(results)) {
    aims.push_back({aim.text, aim.where, number(aim.limit), number(aim.worst),
                    aim.is_met() ? "met" : "MISSED"});
  }
  return markdown(std::move(rows), 3) + "\n" + api + markdown(std::move(aims), 2);
}

std::string to_json(const Results& results) {
  nlohmann::ordered_json json;
  json["figures"] = nlohmann::ordered_json::array();
  for (const Figure& figure : figures_of(results)) {
    json["figures"].push_back({{"figure", figure.what},
                               {"node", figure.scenario},
                               {"unit", figure.unit},
                               {"agent", figure.agent},
                               {"floor", figure.floor},
                               {"ratio", figure.ratio()}});
  }
  for (const ApiFigure& figure :
       results.api ? api_figures(*results.api) : std::vector<ApiFigure>()) {
    json["api"].push_back({{"figure", figure.what},
                           {"node", results.api->scenario},
                           {"unit", figure.unit},
                           {"on", figure.on},
                           {"off", figure.off},
                           {"ratio", figure.ratio()}});
  }
  for (const Measurement& measurement : results.measurements) {
    json["nodes"].push_back({{"node", measurement.scenario},
                             {"devices", measurement.devices},
                             {"list_bytes", measurement.list_bytes}});
  }
  for (const Aim& aim : aims_of(results)) {
    json["aims"].push_back({{"aim", aim.text},
                            {"node", aim.where},
                            {"limit", aim.limit},
                            {"worst", aim.worst},
                            {"met", aim.is_met()}});
  }
  return json.dump(2) + "\n";
}

}  // namespace tranche::bench
