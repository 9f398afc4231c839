// SPDX-License-Identifier: Apache-2.0
//
// The only user of yaml-cpp. It uses the event interface and not the node tree, because the tree
// drops repeated keys and lets aliases grow without bound.
#include "os/settings/document.h"

#include <fmt/core.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "base/text.h"
#include "os/settings/values.h"
#include "os/settings/yaml_advice.h"

namespace tranche::os {
namespace {

// Far above the depth of any configuration (5).
constexpr std::size_t kMostDepth = 32;
constexpr const char* kTooDeep = "nested deeper than 32 levels";
// Counts an alias each time it is used, so that a small file cannot grow large.
constexpr std::size_t kMostNodes = 1U << 16U;

using Problem = DocumentProblem;

unsigned line_at(std::string_view text, std::size_t position) {
  return 1 + static_cast<unsigned>(std::ranges::count(text.substr(0, position), '\n'));
}

std::optional<Problem> check_characters(std::string_view text) {
  if (text.size() > kMostDocumentBytes) {
    return Problem{0, "larger than 1 MiB; this is no configuration file"};
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7F) {
      return Problem{line_at(text, i), "has a control character; this is no text file"};
    }
  }
  const std::size_t valid = valid_utf8_prefix(text);
  if (valid != text.size()) return Problem{line_at(text, valid), "is not valid UTF-8"};
  return std::nullopt;
}

// The start of the scalar itself, behind its anchor and tag.
std::size_t skip_properties(std::string_view text, std::size_t position) {
  constexpr std::string_view kSpace = " \t\r\n";
  while (position < text.size() && std::string_view("&!#").find(text[position]) != text.npos) {
    position = text.find_first_of(text[position] == '#' ? "\n" : kSpace, position);
    position = std::min(text.find_first_not_of(kSpace, position), text.size());
  }
  return position;
}

// Whether the scalar at `position` has its closing quote, or needs none. yaml-cpp accepts the end
// of the file as one, so a truncated file would pass.
bool has_its_quote(std::string_view text, std::size_t position) {
  position = skip_properties(text, position);
  if (position >= text.size() || (text[position] != '"' && text[position] != '\'')) return true;
  const char quote = text[position];
  for (std::size_t i = position + 1; i < text.size(); ++i) {
    const bool escaped = text[i] == '\\' && quote == '"';
    const bool doubled = text[i] == quote && quote == '\'' && text.substr(i + 1).starts_with(quote);
    if (escaped || doubled) {
      ++i;
    } else if (text[i] == quote) {
      return true;
    }
  }
  return false;
}

struct Extent {
  std::size_t nodes = 1;
  std::size_t depth = 0;  // of lists and maps
};

Extent extent_of(const ConfigNode& node) {
  Extent extent;
  for (const ConfigNode& item : node.items) {
    const Extent inner = extent_of(item);
    extent.nodes += inner.nodes;
    extent.depth = std::max(extent.depth, inner.depth);
  }
  const bool is_branch = node.kind == NodeKind::kList || node.kind == NodeKind::kMap;
  if (is_branch) ++extent.depth;
  return extent;
}

// Builds the tree from yaml-cpp's events. Ignores events after the first problem, because only
// throwing stops the parser.
class TreeBuilder : public YAML::EventHandler {
 public:
  using Mark = YAML::Mark;

  const std::optional<Problem>& problem() const { return problem_; }
  // The first text that no setting accepts.
  const std::optional<Problem>& odd_text() const { return odd_text_; }
  ConfigNode take_root() { return std::move(root_); }
  // Start of the last scalar; only that one can lack its closing quote.
  const Mark& last_scalar() const { return last_scalar_; }

  void OnDocumentStart(const Mark& mark) override {
    if (++documents_ == 2) fail(mark, "a second document begins; one file has one configuration");
  }
  void OnDocumentEnd() override {}

  void OnNull(const Mark& mark, YAML::anchor_t anchor) override {
    if (admit(mark, 1)) complete({.kind = NodeKind::kNull, .line = line_of(mark)}, anchor);
  }

  void OnScalar(const Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    last_scalar_ = mark;
    if (!admit(mark, 1) || !admit_tag(mark, tag)) return;
    // Reported when the whole file is read: it may be the file inside a ConfigMap.
    const bool is_plain = is_plain_text(value);
    if (!is_plain && !odd_text_) {
      odd_text_ = Problem{line_of(mark),
                          "a text of several lines, or with control characters; "
                          "write it on one line"};
    }
    // "!" stands for quotes and block texts.
    const bool quoted = tag == "!" || tag == "tag:yaml.org,2002:str";
    complete({.kind = NodeKind::kScalar,
              .text = is_plain ? value : "",
              .quoted = quoted,
              .line = line_of(mark)},
             anchor);
  }

  void OnAlias(const Mark& mark, YAML::anchor_t anchor) override {
    if (problem_) return;
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) return fail(mark, "an alias that is part of what it stands for");
    const Extent extent = extent_of(found->second);
    if (!admit(mark, extent.nodes)) return;
    if (stack_.size() + extent.depth > kMostDepth) return fail(mark, kTooDeep);
    ConfigNode copy = found->second;
    copy.line = line_of(mark);
    complete(std::move(copy), 0);
  }

  void OnSequenceStart(const Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, NodeKind::kList);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, NodeKind::kMap);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    ConfigNode node;
    YAML::anchor_t anchor = 0;
    bool has_key = false;  // a map whose last key waits for its value
  };

  static unsigned line_of(const Mark& mark) { return static_cast<unsigned>(mark.line) + 1; }

  void fail(const Mark& mark, const std::string& what) { fail(line_of(mark), what); }
  void fail(unsigned line, const std::string& what) {
    if (!problem_) problem_ = Problem{line, what};
  }

  // Whether `count` more nodes are allowed; never after a problem.
  bool admit(const Mark& mark, std::size_t count) {
    if (problem_) return false;
    nodes_ += count;
    if (nodes_ > kMostNodes) fail(mark, "more than 65536 values, aliases counted as used");
    return !problem_;
  }

  bool admit_tag(const Mark& mark, const std::string& tag) {
    static constexpr std::string_view kPlain[] = {"", "?", "!"};
    const bool standard = tag.starts_with("tag:yaml.org,2002:") && !tag.ends_with(":binary");
    if (!standard && std::ranges::find(kPlain, tag) == std::end(kPlain)) {
      fail(mark, "the tag " + brief(tag) + " is not understood; leave it out");
    }
    return !problem_;
  }

  void open(const Mark& mark, const std::string& tag, YAML::anchor_t anchor, NodeKind kind) {
    if (!admit(mark, 1) || !admit_tag(mark, tag)) return;
    if (stack_.size() >= kMostDepth) return fail(mark, kTooDeep);
    stack_.push_back({.node = {.kind = kind, .line = line_of(mark)}, .anchor = anchor});
  }

  void close() {
    if (problem_ || stack_.empty()) return;
    Open done = std::move(stack_.back());
    stack_.pop_back();
    if (done.node.kind == NodeKind::kMap) merge(done.node);
    if (!problem_) complete(std::move(done.node), done.anchor);
  }

  // Adds a finished node to the open one around it.
  void complete(ConfigNode node, YAML::anchor_t anchor) {
    if (anchor != 0) {
      nodes_ += extent_of(node).nodes;
      if (nodes_ > kMostNodes) return fail(node.line, "more than 65536 values behind anchors");
      anchors_[anchor] = node;
    }
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = stack_.back();
    if (parent.node.kind == NodeKind::kList || parent.has_key) {
      parent.has_key = false;
      parent.node.items.push_back(std::move(node));
    } else if (node.kind != NodeKind::kScalar) {
      fail(node.line, "a key must be text, found " + describe(node));
    } else {
      // A quoted "<<" is an ordinary, unknown key.
      parent.node.keys.push_back(
          {node.quoted && node.text == "<<" ? "\"<<\"" : node.text, node.line});
      parent.has_key = true;
    }
  }

  // `<<: *other`: adds the keys of another map that are missing here.
  void merge(ConfigNode& map) {
    ConfigNode merged = {.kind = NodeKind::kMap, .line = map.line};
    std::set<std::string> own;
    for (const NodeKey& key : map.keys) own.insert(key.text);
    if (!own.contains("<<")) return;
    for (std::size_t i = 0; i < map.keys.size(); ++i) {
      if (map.keys[i].text == "<<") {
        merge_from(map.items[i], own, merged);
      } else {
        merged.keys.push_back(std::move(map.keys[i]));
        merged.items.push_back(std::move(map.items[i]));
      }
    }
    map = std::move(merged);
  }

  void merge_from(const ConfigNode& source, std::set<std::string>& own, ConfigNode& target) {
    if (source.kind != NodeKind::kList) return merge_map(source, own, target);
    for (const ConfigNode& item : source.items) merge_map(item, own, target);
  }

  void merge_map(const ConfigNode& source, std::set<std::string>& own, ConfigNode& target) {
    if (source.kind != NodeKind::kMap) {
      return fail(source.line, "<< takes a section or a list of them, found " + describe(source));
    }
    for (std::size_t i = 0; i < source.keys.size(); ++i) {
      if (!own.insert(source.keys[i].text).second) continue;
      target.keys.push_back(source.keys[i]);
      target.items.push_back(source.items[i]);
    }
  }

  std::optional<Problem> problem_;
  std::optional<Problem> odd_text_;
  ConfigNode root_;
  std::vector<Open> stack_;
  std::map<YAML::anchor_t, ConfigNode> anchors_;
  std::size_t nodes_ = 0;
  unsigned documents_ = 0;
  Mark last_scalar_;
};

// Returns the problem, or fills `root`.
std::optional<Problem> build_tree(std::string_view text, ForeignCheck foreign, ConfigNode& root) {
  TreeBuilder builder;
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    // A second document is a problem. Asks only once, because yaml-cpp finds documents without
    // end in some broken texts.
    if (!builder.problem()) parser.HandleNextDocument(builder);
  } catch (const YAML::Exception& problem) {
    if (builder.problem()) return builder.problem();
    if (problem.mark.is_null()) return Problem{0, "not YAML: " + problem.msg};
    // yaml-cpp reports what is missing at the end for the line behind the last.
    const unsigned last = line_at(text, text.size() - (text.ends_with('\n') ? 1 : 0));
    const auto line = static_cast<unsigned>(problem.mark.line) + 1;
    const YamlMistake mistake = explain_yaml(text, std::min(line, last), problem.msg);
    return Problem{mistake.line, mistake.what};
  } catch (const std::exception& problem) {
    return Problem{0, std::string("not YAML: ") + problem.what()};
  }
  if (builder.problem()) return builder.problem();
  const auto& scalar = builder.last_scalar();
  if (!has_its_quote(text, static_cast<std::size_t>(scalar.pos))) {
    return Problem{static_cast<unsigned>(scalar.line) + 1,
                   "not YAML: the closing quote is missing"};
  }
  root = builder.take_root();
  if (foreign != nullptr) {
    if (auto problem = foreign(root)) return problem;
  }
  return builder.odd_text();
}

}  // namespace

Result<ConfigNode> parse_document(const ConfigText& file, ForeignCheck foreign) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  ConfigNode root;
  std::optional<Problem> problem = check_characters(file.content);
  if (!problem) {
    std::string_view text = file.content;
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    problem = build_tree(text, foreign, root);
  }
  if (!problem) return root;
  const std::string line = problem->line == 0 ? "" : fmt::format(":{}", problem->line);
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("{}{}: {}", file.path, line, problem->what)};
}

}  // namespace tranche::os
