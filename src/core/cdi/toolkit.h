// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's container toolkit on the host, whose program runs the hooks of our specifications: its
// version, and the hooks of that version. A program before 1.18.0 fails the container for an
// unknown hook; later ones skip it.
//
// We read the program and never run it: it need not run in our container, and its bytes contain
// the names of its hooks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/settings/toolkit_version.h"

namespace tranche::core {

// The known facts about the toolkit.
struct Toolkit {
  std::optional<ToolkitVersion>
      version;  // this one or, unless exact, a newer one; empty: not known
  bool is_exact = false;
  std::string problem;  // why it is not known

  bool operator==(const Toolkit&) const = default;
};

// "1.18.2", "1.18.0 or newer", or "not known: …".
std::string to_string(const Toolkit& toolkit);

// Whether the toolkit has this hook. If the version is not known, only hooks that every version
// has.
bool has_hook(const Toolkit& toolkit, std::string_view hook);

// The version that brought the hook; empty: all have it, or none.
std::optional<ToolkitVersion> hook_since(std::string_view hook);

// Finds the version in a program file that is read in parts. Parts may be split anywhere.
// Pure.
class ToolkitEvidence {
 public:
  void add(std::string_view bytes);
  // `program` is for the message.
  Toolkit conclusion(const std::string& program) const;

 private:
  std::string tail_;  // of the last part: a name may go on in the next
  std::vector<std::string> found_;
  std::string version_;
};

}  // namespace tranche::core
