// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <concepts>
#include <string>
#include <vector>

#include "core/gpu/pci_address.h"
#include "testbed/world/defaults.h"
#include "testbed/world/describe.h"
#include "testbed/world/parse.h"

namespace tranche::testbed::sim {
namespace {

// Plain where no YAML reader could take it for anything else, else quoted.
std::string in_quotes(std::string_view text) {
  const bool plain = !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
  if (plain && text.front() != '-' && text.front() != '.') return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      constexpr std::string_view kDigits = "0123456789ABCDEF";
      out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 0xF]};
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string scalar(const std::string& value) { return in_quotes(value); }
std::string scalar(bool value) { return value ? "true" : "false"; }
std::string scalar(const PciAddress& value) { return in_quotes(to_string(value)); }
template <typename Tag>
std::string scalar(const Named<Tag>& value) {
  return in_quotes(value.text);
}
template <std::integral T>
  requires(!std::same_as<T, bool>)
std::string scalar(T value) {
  return std::to_string(value);
}
template <typename E>
  requires std::is_enum_v<E>
std::string scalar(E value) {
  for (const auto& [name, each] : Names<E>::kAll) {
    if (each == value) return std::string(name);
  }
  return "";
}

std::string link_text(const NvLink& link, std::size_t count) {
  std::string text = count > 1 ? std::to_string(count) + " x " : "";
  text += link.peer == NvLink::Peer::kGpu ? "gpu" : "switch";
  if (link.pci) text += " " + to_string(*link.pci);
  return in_quotes(text + (link.active ? "" : " down"));
}

// "{pid: 7, name: python}": everything on one line.
class LineWriter {
 public:
  template <typename T>
  void field(std::string_view key, const T& value, const T& base) {
    if (!(value == base)) always(key, value);
  }
  template <typename T>
  void always(std::string_view key, const T& value) {
    add(key, text_of(value));
  }
  void code(std::string_view key, int value, int base) { field(key, value, base); }
  void add(std::string_view key, const std::string& text) {
    inside_ += (inside_.empty() ? "" : ", ") + std::string(key) + ": " + text;
  }
  std::string text() const { return "{" + inside_ + "}"; }

  template <typename T>
  static std::string text_of(const std::optional<T>& value) {
    // An empty one equals its base and is left out.
    return value ? scalar(*value) : "";
  }
  template <typename T>
  static std::string text_of(const std::vector<T>& value) {
    std::string out;
    for (const T& each : value) out += (out.empty() ? "" : ", ") + text_of(each);
    return "[" + out + "]";
  }
  template <typename T>
    requires requires(const T& value) { scalar(value); }
  static std::string text_of(const T& value) {
    return scalar(value);
  }
  template <typename T>
    requires kOneLine<T>
  static std::string text_of(const T& value) {
    LineWriter writer;
    describe(writer, value, T{});
    return writer.text();
  }

 private:
  std::string inside_;
};

class BlockWriter {
 public:
  // Every line starts with `indent`, but for the first of a list's item.
  BlockWriter(std::string& out, std::string indent) : out_(out), indent_(std::move(indent)) {}

  template <typename T>
  void field(std::string_view key, const T& value, const T& base) {
    if (value == base) return;
    if constexpr (kIsBlock<T>) {
      line(std::string(key) + ":");
      BlockWriter inner(out_, indent_ + "  ");
      describe(inner, value, base);
    } else {
      always(key, value);
    }
  }
  template <typename T>
  void always(std::string_view key, const T& value) {
    line(std::string(key) + ": " + LineWriter::text_of(value));
  }
  template <typename T>
    requires kOneLine<T>
  void field(std::string_view key, const std::vector<T>& value, const std::vector<T>& base) {
    if (value == base) return;
    list(key, value.size(), [&](std::size_t i) { return LineWriter::text_of(value[i]); });
  }
  void field(std::string_view key, const std::vector<NvLink>& value,
             const std::vector<NvLink>& base) {
    if (value == base) return;
    std::vector<std::string> runs;
    for (auto at = value.begin(); at != value.end();) {
      const auto end = std::find_if(at, value.end(), [&](const NvLink& x) { return x != *at; });
      runs.push_back(link_text(*at, static_cast<std::size_t>(end - at)));
      at = end;
    }
    list(key, runs.size(), [&](std::size_t i) { return runs[i]; });
  }
  void list(std::string_view key, std::size_t count, auto text_at) {
    if (count == 0) return line(std::string(key) + ": []");
    line(std::string(key) + ":");
    for (std::size_t i = 0; i < count; ++i) line("  - " + text_at(i));
  }
  void line(const std::string& text) {
    out_ += (first_ ? first_indent_ : indent_) + text + "\n";
    first_ = false;
  }
  // The first line gets "- " before it.
  void start_item() {
    first_ = true;
    first_indent_ = indent_.substr(0, indent_.size() - 2) + "- ";
  }

 private:
  template <typename T>
  static constexpr bool kIsBlock =
      std::same_as<T, Fabric> || std::same_as<T, Vitals> || std::same_as<T, MigTable>;

  std::string& out_;
  const std::string indent_;
  bool first_ = false;
  std::string first_indent_;
};

std::string compute_text(const ComputeInstance& compute) {
  LineWriter writer;
  writer.always("slices", compute.placement.size);
  writer.always("id", compute.id);
  writer.always("start", compute.placement.start);
  writer.always("index", compute.index);
  writer.always("uuid", compute.uuid);
  return writer.text();
}

std::string instance_text(const GpuInstance& instance) {
  LineWriter writer;
  writer.always("gi", instance.profile);
  writer.always("id", instance.id);
  writer.always("start", instance.placement.start);
  std::string compute;
  for (const ComputeInstance& each : instance.compute) {
    compute += (compute.empty() ? "" : ", ") + compute_text(each);
  }
  writer.add("ci", "[" + compute + "]");
  return writer.text();
}

void emit_mig(BlockWriter& writer, std::string& out, const std::string& indent, const Mig& mig) {
  if (mig == Mig{}) return;
  writer.line("mig:");
  BlockWriter inner(out, indent);
  inner.always("enabled", mig.enabled);
  inner.always("pending", mig.pending);
  inner.list("layout", mig.instances.size(),
             [&](std::size_t i) { return instance_text(mig.instances[i]); });
}

void emit_gpu(std::string& out, const Gpu& gpu, std::size_t position) {
  const Model model = find_model(gpu.model_key).value_or(Model{});
  const Gpu base = default_gpu(gpu.model_key, model, position);
  BlockWriter writer(out, "    ");
  writer.start_item();
  if (!gpu.model_key.empty()) writer.always("model", gpu.model_key);
  describe(writer, gpu, base);
  emit_mig(writer, out, "      ", gpu.mig);
}

}  // namespace

std::string emit_world(const World& world) {
  std::string out;
  BlockWriter top(out, "");
  top.line("driver:");
  BlockWriter driver(out, "  ");
  Driver base;
  base.module_version = world.driver.version;
  driver.always("version", world.driver.version);
  driver.always("cuda", std::to_string(world.driver.cuda_major) + "." +
                            std::to_string(world.driver.cuda_minor));
  describe(driver, world.driver, base);
  top.always("boot_id", world.boot_id);
  if (!(world.extras == Extras{})) {
    top.line("extras:");
    BlockWriter extras(out, "  ");
    describe(extras, world.extras, Extras{});
  }
  top.line(world.gpus.empty() ? "gpus: []" : "gpus:");
  for (std::size_t i = 0; i < world.gpus.size(); ++i) emit_gpu(out, world.gpus[i], i);
  top.field("pair_levels", world.pair_levels, {});
  top.field("faults", world.faults, {});
  top.field("events", world.events, {});
  top.field("kernel_log", world.kernel_log, {});
  top.field("next_number", world.next_number, std::uint64_t{1});
  return out;
}

}  // namespace tranche::testbed::sim
