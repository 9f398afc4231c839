// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "kube/lease_election.h"
#include "kube/line_splitter.h"
#include "kube/object_cache.h"
#include "kube/request.h"

namespace {

using tranche::kube::LineSplitter;

// The lines of `text`, given to the splitter in pieces of `piece` bytes.
std::vector<std::string> lines_of(std::string_view text, std::size_t piece) {
  LineSplitter splitter(4096);
  std::vector<std::string> all;
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
    const auto lines = splitter.take(text.substr(0, piece));
    if (!lines) break;
    all.insert(all.end(), lines->begin(), lines->end());
  }
  return all;
}

}  // namespace

// What a server sends: the pieces that it comes in make no difference, and no object of it harms
// the cache.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> lines = lines_of(text, 7);
  if (size <= 4096 && lines != lines_of(text, 1024)) std::abort();
  tranche::kube::ObjectCache cache;
  cache.begin_list();
  for (const std::string& line : lines) {
    auto event = tranche::kube::parse_watch_event(line);
    if (!event) continue;
    (void)tranche::kube::lease_record(event->object);
    cache.take(*std::move(event));
  }
  cache.end_list("1");
  (void)tranche::kube::refusal_of({.status = 500, .body = std::string(text)});
  return 0;
}
