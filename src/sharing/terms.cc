// SPDX-License-Identifier: Apache-2.0
#include "sharing/terms.h"

namespace tranche {

std::string_view word(ShareForm form) {
  switch (form) {
    case ShareForm::kWhole: return "whole";
    case ShareForm::kReplicas: return "replicas";
    case ShareForm::kMemory: return "memory";
  }
  return "?";
}

std::string_view word(SharePlacement placement) {
  switch (placement) {
    case SharePlacement::kDistributed: return "distributed";
    case SharePlacement::kPacked: return "packed";
    case SharePlacement::kSpread: return "spread";
    case SharePlacement::kPack: return "pack";
  }
  return "?";
}

std::string_view word(ShownSize shown) {
  return shown == ShownSize::kSum ? "sum" : "largest-block";
}

std::string_view word(Dialect dialect) {
  switch (dialect) {
    case Dialect::kNvidia: return "nvidia";
    case Dialect::kDeepomatic: return "deepomatic";
    case Dialect::kGcp: return "gcp";
    case Dialect::kGpushare: return "gpushare";
    case Dialect::kNestedHost: return "nested-host";
  }
  return "?";
}

std::string_view word(Exposure exposure) {
  switch (exposure) {
    case Exposure::kEnvvar: return "envvar";
    case Exposure::kAll: return "all";
    case Exposure::kGranted: return "granted";
  }
  return "?";
}

std::string_view word(Rung rung) {
  switch (rung) {
    case Rung::kNone: return "none";
    case Rung::kMps: return "mps";
    case Rung::kMpsExclusive: return "mps-exclusive";
    case Rung::kDriver: return "driver";
  }
  return "?";
}

}  // namespace tranche
