// SPDX-License-Identifier: Apache-2.0
#include "os/settings/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::os {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Result<ConfigNode> parse(const std::string& text) { return parse_document({"f.yaml", text}); }

std::string problem_in(const std::string& text) {
  const Result<ConfigNode> root = parse(text);
  return root ? "parsed" : root.error().message;
}

std::string repeated(const std::string& part, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += part;
  text.resize(bytes);
  return text;
}

TEST(Document, KeepsLinesOrderAndRepeatedKeys) {
  const ConfigNode root = *parse("a: 1\nb:\n  - x\n  - 'y'\na: 2\n");
  ASSERT_EQ(root.kind, NodeKind::kMap);
  EXPECT_EQ(root.keys, (std::vector<NodeKey>{{"a", 1}, {"b", 2}, {"a", 5}}));
  ASSERT_EQ(root.items[1].items.size(), 2U);
  EXPECT_EQ(root.items[1].items[0].line, 3U);
  EXPECT_FALSE(root.items[1].items[0].quoted);
  EXPECT_TRUE(root.items[1].items[1].quoted);
  EXPECT_EQ(find_item(root, "a")->text, "1");
  EXPECT_EQ(key_line(root, "b"), 2U);
  EXPECT_EQ(find_item(root, "c"), nullptr);
}

TEST(Document, ReadsJsonWithTabs) {
  const ConfigNode root =
      *parse("{\n\t\"a\":\t[1, \"x\\/\\u00e9\"],\n\t\"b\": null, \"c\":{}\n}\n");
  EXPECT_EQ(root.keys, (std::vector<NodeKey>{{"a", 2}, {"b", 3}, {"c", 3}}));
  EXPECT_EQ(root.items[0].items[1].text, "x/\u00E9");
  EXPECT_EQ(root.items[1].kind, NodeKind::kNull);
  EXPECT_EQ(root.items[2].kind, NodeKind::kMap);
}

TEST(Document, TakesAnEmptyFileForNothing) {
  for (const char* text :
       {"", "\n", "# nothing\n", "---\n", "~\n", "\xEF\xBB\xBF", "null", " ", "\t"}) {
    const Result<ConfigNode> root = parse(text);
    ASSERT_TRUE(root) << root.error().message;
    EXPECT_EQ(root->kind, NodeKind::kNull) << text;
  }
}

TEST(Document, ReadsAByteOrderMarkAndWindowsLineEnds) {
  const ConfigNode root = *parse(
      "\xEF\xBB\xBF"
      "a: 1\r\nb:\r\n  c: d\r\n");
  EXPECT_EQ(root.keys, (std::vector<NodeKey>{{"a", 1}, {"b", 2}}));
  EXPECT_EQ(find_item(root.items[1], "c")->text, "d");
}

TEST(Document, ResolvesAliasesAndMergeKeys) {
  const ConfigNode root = *parse(
      "base: &base {x: 1, y: 2}\n"
      "copy: *base\n"
      "more:\n"
      "  <<: *base\n"
      "  y: 3\n"
      "both:\n"
      "  <<: [{z: 5, x: 6}, *base]\n");
  EXPECT_EQ(find_item(*find_item(root, "copy"), "y")->text, "2");
  const ConfigNode& more = *find_item(root, "more");
  EXPECT_EQ(more.keys.size(), 2U);
  EXPECT_EQ(find_item(more, "x")->text, "1");
  EXPECT_EQ(find_item(more, "y")->text, "3");
  const ConfigNode& both = *find_item(root, "both");
  EXPECT_EQ(find_item(both, "x")->text, "6");
  EXPECT_EQ(find_item(both, "y")->text, "2");
  EXPECT_EQ(find_item(both, "z")->text, "5");
}

TEST(Document, RefusesMergeKeysOfAnythingButSections) {
  EXPECT_THAT(problem_in("a: {<<: 5}\n"), HasSubstr("<< takes a section"));
  EXPECT_THAT(problem_in("a: {<<: [5]}\n"), HasSubstr("<< takes a section"));
  EXPECT_EQ(parse("'<<': 5\n")->keys[0].text, "\"<<\"");
}

TEST(Document, TellsWhatAScalarIs) {
  const auto kind = [](const std::string& text) { return scalar_kind(*parse(text)); };
  for (const char* text : {"true", "False", "yes", "NO", "on", "Off", "y", "N"}) {
    EXPECT_EQ(kind(text), ScalarKind::kBool) << text;
  }
  for (const char* text : {"0", "-1", "+5", "007", "12345678901234567890"}) {
    EXPECT_EQ(kind(text), ScalarKind::kInteger) << text;
  }
  for (const char* text :
       {"1.5", ".5", "1e3", "1E-3", "-2.0", "0x1F", "0o17", "1_000", ".inf", "-.nan"}) {
    EXPECT_EQ(kind(text), ScalarKind::kFloat) << text;
  }
  for (const char* text : {"1g.5gb", "0:1", "5s", "'5'", "\"true\"", "!!str 5", "tru", "1.2.3",
                           "e3", "07:00.0", "10.0.0.1", "1-2", "_1", ".", "-", "0xyz", "GPU-1"}) {
    const Result<ConfigNode> list = parse(std::string("[") + text + "]");
    ASSERT_TRUE(list) << text;
    EXPECT_EQ(scalar_kind(list->items.at(0)), ScalarKind::kText) << text;
  }
}

TEST(Document, DescribesWhatItFound) {
  EXPECT_EQ(describe(*parse("5")), "the number 5");
  EXPECT_EQ(describe(*parse("'5'")), "the text \"5\"");
  EXPECT_EQ(describe(*parse("yes")), "the boolean yes");
  EXPECT_EQ(describe(*parse("[]")), "a list");
  EXPECT_EQ(describe(*parse("{}")), "a section with keys");
  EXPECT_EQ(describe(*parse("")), "nothing");
}

TEST(Document, NamesFileAndLineOfWhatIsNoYaml) {
  EXPECT_THAT(problem_in("a: 1\nb: [1, 2\n"), StartsWith("f.yaml:2: not YAML: "));
  EXPECT_THAT(problem_in("a: 1\nb: \"x"), StartsWith("f.yaml:2: not YAML: "));
  EXPECT_THAT(problem_in("a: b: c\n"), StartsWith("f.yaml:1: not YAML: "));
  EXPECT_THAT(problem_in("a:\n\tb: 1\n"), StartsWith("f.yaml:2: not YAML: "));
  EXPECT_THAT(problem_in("a: *nobody\n"), StartsWith("f.yaml:1: not YAML: "));
}

TEST(Document, MissesTheClosingQuoteOfAFileThatWasCutOff) {
  for (const char* text : {"b: \"x\n", "b: 'x\n", "b: 'it''s\n", "b: \"x\\\"\n", "b: &a \"x\n",
                           "b: !!str 'x\n", "b: &a !!str # c\n  'x\n", "b: \"\n", "'b\n"}) {
    EXPECT_THAT(problem_in(text), StartsWith("f.yaml:1: not YAML: ")) << text;
  }
  for (const char* text :
       {"b: \"x\"\n", "b: 'x'\n", "b: 'it''s'\n", "b: &a \"x\\\"\"\n", "b: x'y\n",
        "b: !!str 'x' # '\n", "b: it's\n", "'b': ''\n", "\xEF\xBB\xBF'b': 'c'"}) {
    EXPECT_EQ(problem_in(text), "parsed") << text;
  }
}

TEST(Document, RefusesWhatIsNoText) {
  EXPECT_THAT(problem_in(std::string("a: 1\nb: \0\n", 10)), StartsWith("f.yaml:2: has a control"));
  EXPECT_THAT(problem_in("\x7F"
                         "ELF"),
              HasSubstr("no text file"));
  EXPECT_THAT(problem_in("a: 1\n\nb: \xFF\xFE"), StartsWith("f.yaml:3: is not valid UTF-8"));
  EXPECT_THAT(problem_in("\xFF\xFE"
                         "a"),
              HasSubstr("UTF-8"));
  EXPECT_THAT(problem_in("a: \"x\\0y\"\n"), HasSubstr("control characters"));
  EXPECT_THAT(problem_in("\"a\\n\": 1\n"), HasSubstr("control characters"));
  EXPECT_THAT(problem_in("a: |\n  x\n  y\n"), HasSubstr("one line"));
}

TEST(Document, RefusesWhatAConfigurationHasNoUseFor) {
  EXPECT_THAT(problem_in("a: 1\n---\nb: 2\n"), HasSubstr("second document"));
  EXPECT_THAT(problem_in("[a]: 1\n"), HasSubstr("a key must be text"));
  EXPECT_THAT(problem_in("? {a: b}\n: c\n"), HasSubstr("a key must be text"));
  EXPECT_THAT(problem_in("~: c\n"), HasSubstr("a key must be text"));
  EXPECT_THAT(problem_in("a: !thing b\n"), HasSubstr("the tag !thing is not understood"));
  EXPECT_THAT(problem_in("a: !!binary aGk=\n"), HasSubstr("not understood"));
}

TEST(Document, RefusesAliasesThatGrow) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int j = 1; j < 10; ++j) bomb += ", " + last;
    bomb += "]\n";
  }
  EXPECT_THAT(problem_in(bomb), HasSubstr("more than 65536 values"));
  EXPECT_THAT(problem_in("a: &a [*a]\n"), HasSubstr("part of what it stands for"));
  EXPECT_THAT(problem_in("a: &a {<<: *a}\n"), HasSubstr("part of what it stands for"));
}

TEST(Document, RefusesDepth) {
  for (const char* open : {"[", "{a: ", "- ", "? ", "[{a: ", "{? ", ": "}) {
    EXPECT_NE(problem_in(repeated(open, 1U << 16U)), "parsed") << open;
  }
  EXPECT_THAT(problem_in(std::string(40, '[') + std::string(40, ']')), HasSubstr("32 levels"));
  std::string block;
  for (std::size_t i = 0; i < 40; ++i) block += std::string(i, ' ') + "a:\n";
  EXPECT_THAT(problem_in(block), HasSubstr("32 levels"));
  EXPECT_TRUE(parse(std::string(32, '[') + std::string(32, ']')));
  const std::string twenty = std::string(20, '[') + "x" + std::string(20, ']');
  const std::string around = std::string(20, '[') + "*a" + std::string(20, ']');
  EXPECT_THAT(problem_in("a: &a " + twenty + "\nb: " + around + "\n"), HasSubstr("32 levels"));
}

TEST(Document, RefusesSize) {
  EXPECT_THAT(problem_in(std::string(kMostDocumentBytes + 1, ' ')), HasSubstr("larger than 1 MiB"));
  EXPECT_TRUE(parse(std::string(kMostDocumentBytes, ' ')));
  EXPECT_THAT(problem_in(repeated("- a\n", kMostDocumentBytes)), HasSubstr("65536 values"));
}

// Each of these once made some YAML parser loop or use quadratic time.
TEST(Document, ComesToAnEndWithManyOfAnything) {
  for (const char* part :
       {"[",    "]",       "{",     "}",         ",",      ", ",       ":",        ": ",      "- ",
        "? ",   "&a ",     "*a ",   "!a ",       "!<",     "%a b\n",   "---\n",    "...\n",   "''",
        "\"",   "'",       "|\n",   ">1\n",      "- |\n",  "#",        "\n",       " ",       "\t",
        "a",    "a ",      "a\n",   "a: ",       "a: b\n", "a:\n ",    "\"a\":",   "\"a\" ",  "[],",
        "{},",  "[a],",    "\\",    "\"\\u0041", "<<: ",   "<<: {}\n", "- &a a\n", "a: &b\n", "\r",
        "\r\n", "- - -\n", "{a: [", "@",         "`"}) {
    const Result<ConfigNode> root = parse(repeated(part, 1U << 17U));
    EXPECT_LE(root ? root->items.size() : 0, 65536U) << part;
  }
}

TEST(Document, SurvivesTruncationAtEveryByteAndEveryByteReplaced) {
  const std::string good =
      "version: v1\nflags: &f {migStrategy: none}\nx: *f\nsharing:\n  timeSlicing:\n"
      "    resources:\n    - name: \"gpu\"\n      devices: [0, '0:1']\n      replicas: 2 # two\n";
  ASSERT_TRUE(parse(good));
  for (std::size_t i = 0; i < good.size(); ++i) {
    (void)parse(good.substr(0, i));
    for (const char c :
         {'\0', '\xFF', '[', '{', '*', '&', '"', '\'', ':', '-', '\n', '\t', '%', '!'}) {
      std::string changed = good;
      changed[i] = c;
      const Result<ConfigNode> root = parse(changed);
      const bool is_text = c != '\0' && c != '\xFF';
      EXPECT_TRUE(is_text || !root) << i;
    }
  }
}

}  // namespace
}  // namespace tranche::os
