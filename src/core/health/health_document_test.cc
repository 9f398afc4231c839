// SPDX-License-Identifier: Apache-2.0
//
// docs/health.md says what clears a fault; this test checks that the code does the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/text.h"
#include "core/health/fault.h"
#include "core/health/xid_policy.h"
#include "core/health/xid_table.h"
#include "os/files.h"

namespace tranche::core {
namespace {

using os::read_file;

using testing::Contains;
using testing::HasSubstr;

constexpr const char* kDocument = TRANCHE_DOCS "/health.md";

// "8, 11, 37-41": three in a row and more become a range.
std::string ranges(const std::set<unsigned>& numbers) {
  std::vector<std::string> parts;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const unsigned first = *at;
    unsigned last = first;
    while (++at != numbers.end() && *at == last + 1) last = *at;
    const std::string between = last - first >= 2 ? "-" : ", ";
    parts.push_back(std::to_string(first));
    if (last > first) parts.back() += between + std::to_string(last);
  }
  return join(parts, ", ");
}

// The cells of every row, trimmed, in tables whose last column is "test".
std::vector<std::vector<std::string>> rows(const std::string& document) {
  std::vector<std::vector<std::string>> found;
  bool is_in_table = false;
  for (const std::string& line : split(document, '\n')) {
    is_in_table = line.ends_with("| test |") || (is_in_table && line.starts_with("| "));
    if (!is_in_table || line.starts_with("| ---")) continue;
    std::vector<std::string> cells;
    for (const std::string& cell : split(line.substr(1, line.size() - 2), '|')) {
      cells.emplace_back(trim(cell));
    }
    found.push_back(cells);
  }
  return found;
}

std::set<std::string> tests_of_this_program() {
  std::set<std::string> names;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      names.insert(std::string(suite.name()) + "." + suite.GetTestInfo(j)->name());
    }
  }
  return names;
}

TEST(HealthDocument, HasARowForEveryClassWithItsXids) {
  std::map<std::string, std::set<unsigned>> xids;
  for (const XidFacts& facts : xid_table()) {
    for (unsigned xid = facts.first; xid <= facts.last; ++xid) {
      xids[std::string(to_string(facts.clearance))].insert(xid);
    }
  }
  const std::string in_no_catalogue(to_string(xid_facts(9999).clearance));
  std::set<std::string> documented;
  for (const auto& row : rows(*read_file(kDocument))) {
    if (row.size() != 4 || row[0] == "class") continue;
    const std::string name = row[0].substr(1, row[0].size() - 2);
    documented.insert(name);
    const std::string rest =
        name == in_no_catalogue ? ", and numbers that are in no catalogue" : "";
    EXPECT_EQ(row[1], ranges(xids[name]) + rest) << name;
  }
  for (const auto& [name, numbers] : xids) EXPECT_THAT(documented, Contains(name));
}

TEST(HealthDocument, NamesTestsThatExist) {
  const std::set<std::string> tests = tests_of_this_program();
  for (const auto& row : rows(*read_file(kDocument))) {
    if (row.back() == "test") continue;
    ASSERT_GT(row.back().size(), 2U);
    EXPECT_THAT(tests, Contains(row.back().substr(1, row.back().size() - 2)));
  }
}

TEST(HealthDocument, SaysFromWhichDriverOnTheRecoveryActionCoversAnXid) {
  std::map<unsigned, std::set<unsigned>> xids;
  for (const XidFacts& facts : xid_table()) {
    if (facts.action_since != 0) xids[facts.action_since].insert(facts.first);
  }
  EXPECT_EQ(xids.size(), 3U);
  EXPECT_EQ(ranges(xids[570]) + " " + ranges(xids[575]), "109 143");
  EXPECT_THAT(*read_file(kDocument),
              HasSubstr("from driver branch R565 on, 109 from R570 and 143\nfrom R575"));
}

TEST(HealthDocument, ListsTheXidsThatAreIgnored) {
  std::string text = ranges(XidPolicy{}.ignored);
  text.replace(text.rfind(", "), 2, " and ");
  EXPECT_THAT(*read_file(kDocument), HasSubstr("XIDs " + text + " are application faults"));
}

}  // namespace
}  // namespace tranche::core
