// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/cdi/nvidia_ctk.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "base/text.h"
#include "os/files.h"
#include "os/testing/temp_dir.h"

namespace tranche::tests {
namespace {

struct Output {
  int code = 0;
  std::string out;
  std::string err;
};

std::string quoted(const std::string& word) {
  std::string result = "'";
  for (const char c : word) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

Output run(const std::vector<std::string>& words) {
  const TempDir folder;
  std::string command;
  for (const std::string& word : words) command += quoted(word) + " ";
  command += "2>" + quoted(folder.path("err"));
  Output output;
  // A shell on purpose: the words are our own, and quoted.
  FILE* pipe = ::popen(command.c_str(), "r");  // NOLINT(bugprone-command-processor)
  if (pipe == nullptr) return {.code = -1, .out = "", .err = "popen failed"};
  std::array<char, 4096> buffer = {};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    output.out.append(buffer.data(), count);
  }
  const int status = ::pclose(pipe);
  output.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (auto err = read_file(folder.path("err"))) output.err = *std::move(err);
  return output;
}

std::string script(const std::string& name) {
  return std::string(TRANCHE_CDI_SCRIPTS) + "/" + name;
}

Output built_nvidia_ctk() { return run({script("build_nvidia_ctk.sh")}); }

}  // namespace

std::string nvidia_ctk_missing() {
  if (::geteuid() != 0) return "device nodes and mount namespaces need root";
  if (const Output built = built_nvidia_ctk(); built.code != 0) return built.err;
  const TempDir root;
  if (!make_directories(root.path("sys")) || !make_directories(root.path("proc"))) {
    return "no folder for a node";
  }
  const Output mounted = run({script("on_node.sh"), root.path(), "true"});
  return mounted.code == 0 ? "" : "no mount namespace: " + mounted.err;
}

Result<std::string> nvidia_ctk_path() {
  const Output built = built_nvidia_ctk();
  if (built.code != 0) return Error{ErrorCode::kUnavailable, built.err};
  return std::string(trim(built.out));
}

Result<std::vector<std::string>> nvidia_ctk_list(const std::string& folder) {
  const Result<std::string> tool = nvidia_ctk_path();
  if (!tool) return tool.error();
  const Output output = run({*tool, "cdi", "list", "--spec-dir", folder});
  if (output.code != 0) return Error{ErrorCode::kUnavailable, output.err};
  return split(trim(output.out), '\n');
}

Result<std::string> nvidia_ctk_generate(const std::string& root,
                                        const std::vector<std::string>& flags) {
  const Output built = built_nvidia_ctk();
  if (built.code != 0) return Error{ErrorCode::kUnavailable, built.err};
  // The environment is a service's, not the developer's: it has a say in where
  // programs and settings are looked for.
  std::vector<std::string> words = {
      script("on_node.sh"),
      root,
      "env",
      "-i",
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      std::string(trim(built.out)),
      "cdi",
      "generate",
      "--driver-root",
      root,
      "--dev-root",
      root,
      "--format",
      "json",
      "--vendor",
      "k8s.device-plugin.nvidia.com"};
  words.insert(words.end(), flags.begin(), flags.end());
  Output output = run(words);
  if (output.code != 0) return Error{ErrorCode::kUnavailable, output.err};
  return std::move(output.out);
}

}  // namespace tranche::tests
