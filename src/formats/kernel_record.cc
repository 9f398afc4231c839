// SPDX-License-Identifier: Apache-2.0
#include "formats/kernel_record.h"

#include "base/text.h"

namespace tranche::formats {
namespace {

constexpr unsigned kFellOffTheBus = 79;

// Removes `prefix` from the front of `text`; returns whether it was there.
bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Takes everything up to and including `mark` and returns the part before it; empty if there is
// no mark.
std::optional<std::string_view> take_until(std::string_view& text, std::string_view mark) {
  const std::size_t end = text.find(mark);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view before = text.substr(0, end);
  text.remove_prefix(end + mark.size());
  return before;
}

// "(PCI:0000:05:00): 79, pid=…, GPU has fallen off the bus."
std::optional<KernelXid> parse_xid(std::string_view text) {
  if (!take(text, "(")) return std::nullopt;
  take(text, "PCI:");  // very old drivers leave it out
  const auto place = take_until(text, "): ");
  if (!place) return std::nullopt;
  const auto pci = parse_pci_address(*place);
  const std::size_t digits = text.find_first_not_of("0123456789");
  const auto number = parse_number<unsigned>(text.substr(0, digits));
  if (!pci || !number) return std::nullopt;
  text.remove_prefix(digits == std::string_view::npos ? text.size() : digits);
  take(text, ", ");
  return KernelXid{.pci = *pci, .xid = *number, .text = std::string(trim(text))};
}

// "GPU 0000:18:00.0: GPU has fallen off the bus." or, from old drivers,
// "GPU at 0000:01:00.0 has fallen off the bus."
std::optional<KernelXid> parse_fallen_off(std::string_view text) {
  if (!take(text, "GPU ")) return std::nullopt;
  take(text, "at ");
  take(text, "PCI:");
  if (text.find("has fallen off the bus") == std::string_view::npos) return std::nullopt;
  std::string_view place = text.substr(0, text.find(' '));
  if (place.ends_with(':')) place.remove_suffix(1);
  const auto pci = parse_pci_address(place);
  if (!pci) return std::nullopt;
  return KernelXid{.pci = *pci, .xid = kFellOffTheBus, .text = "GPU has fallen off the bus"};
}

// The numbers before the semicolon start with facility × 8 + level; the
// kernel's own facility is 0.
bool written_by_the_kernel(std::string_view header) {
  const auto priority = parse_number<unsigned>(header.substr(0, header.find(',')));
  return priority && *priority < 8;
}

// Removes everything before the driver's message; false if the record is not the driver's.
bool take_to_the_driver(std::string_view& record) {
  const auto header = take_until(record, ";");
  if (!header || !written_by_the_kernel(*header)) return false;
  record = record.substr(0, record.find('\n'));
  return take(record, "NVRM: ");
}

}  // namespace

std::optional<std::pair<PciAddress, std::string>> parse_introduction(std::string_view record) {
  if (!take_to_the_driver(record) || !take(record, "GPU at ")) return std::nullopt;
  take(record, "PCI:");
  const auto place = take_until(record, ": ");
  const std::string_view uuid = trim(record);
  if (!place || !uuid.starts_with("GPU-")) return std::nullopt;
  const auto pci = parse_pci_address(*place);
  if (!pci) return std::nullopt;
  return std::pair(*pci, std::string(uuid));
}

std::optional<KernelXid> parse_kernel_record(std::string_view record) {
  if (!take_to_the_driver(record)) return std::nullopt;
  if (take(record, "Xid ")) return parse_xid(record);
  return parse_fallen_off(record);
}

}  // namespace tranche::formats
