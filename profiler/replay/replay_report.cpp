#include "profiler/replay/replay_report.hpp"

#include <algorithm>

#include "models/base/figures.hpp"
#include "profiler/report/format.hpp"

namespace foreshard::profiler {
namespace {

using profiler::TextTable;

constexpr std::size_t kGroupsShown = 12, kGatheredShown = 6;

std::string blocks_of(const HolderGroup& group) {
  return with_thousands(group.blocks) + (group.blocks == 1 ? " block of " : " blocks of ") +
         with_thousands(group.block_bytes) + " B";
}

std::string heading(const ReplayAnswer& a) {
  std::string text = a.history;
  if (a.device) text += ", device " + std::to_string(*a.device);
  text += ": " + with_thousands(static_cast<std::int64_t>(a.events)) + " events, " +
          with_thousands(a.recorded.allocations) + " allocations";
  if (a.recorded.out_of_memory > 0) {
    text += a.recorded.out_of_memory == 1
                ? ", 1 out-of-memory error"
                : ", " + with_thousands(a.recorded.out_of_memory) + " out-of-memory errors";
  }
  text += "\n";
  if (a.devices.size() > 1) {
    text += "Devices in the recording:";
    for (const int device : a.devices) text += " " + std::to_string(device);
    text += " (select one with --device)\n";
  }
  if (!a.incomplete_reason.empty()) {
    text +=
        "The file is damaged or truncated (" + a.incomplete_reason + "); it was read up to there\n";
  }
  if (a.inconsistent_events > 0) {
    text += plural(a.inconsistent_events, "event") + " do not fit the final segment list\n";
  }
  if (a.skipped_events > 0) {
    text +=
        "Skipped " + with_thousands(a.skipped_events) + " events and segments of other streams\n";
  }
  return text + "\n";
}

std::string figures(const ReplayAnswer& a) {
  const Amounts amount = amounts_of(a);
  const AllocatorStatistics& s = a.result.statistics;
  TextTable table({"", "", ""}, {0, 2});
  table.add({"peak allocated", amount(s.peak_allocated)});
  const std::string recorded =
      a.is_as_recorded() ? "" : "(recorded: " + amount(a.recorded.peak_reserved) + ")";
  table.add({"peak reserved", amount(s.peak_reserved), recorded});
  if (a.capacity) table.add({"capacity", amount(*a.capacity)});
  const auto unused = [&](const char* when, const Fragmentation& f) {
    table.add(
        {when, amount(f.reserved - f.allocated),
         "of " + amount(f.reserved) + " reserved; largest free block " + amount(f.largest_free)});
  };
  unused("unused at peak reserved", a.at_peak);
  if (a.at_failure) unused("unused at out of memory", *a.at_failure);
  table.add({"segments allocated", with_thousands(s.segments_allocated)});
  table.add({"segments released", with_thousands(s.segments_released)});
  std::string text = "\n" + table.text();
  for (const OutOfMemory& failure : a.result.failures) {
    text += "  out of memory: allocating " + with_thousands(failure.requested) + " B failed with " +
            amount(failure.allocated) + " allocated and " + amount(failure.reserved) +
            " reserved after cached segments were released\n";
  }
  return text;
}

std::string what_ifs_text(const ReplayAnswer& a) {
  if (a.what_ifs.empty()) return {};
  const Amounts amount = amounts_of(a);
  std::string title = "\nSame requests with other settings";
  if (a.capacity) title += ", on a device with " + amount(*a.capacity);
  TextTable table({"", "", "peak reserved", "", ""}, {0, 1, 4});
  for (const WhatIf& each : a.what_ifs) {
    const Outcome& o = each.outcome;
    const std::string headroom = o.headroom ? amount(std::abs(*o.headroom)) : "";
    std::string how = !o.headroom ? "" : o.failure ? "short" : "to spare";
    if (o.failed_at && o.failed_at != a.outcome.failed_at) {
      how += *o.failed_at < *a.outcome.failed_at ? ", and earlier" : ", but later";
    }
    table.add({each.change, o.failure ? "out of memory" : "fits", amount(o.peak_reserved), headroom,
               how});
  }
  return title + "\n" + table.text();
}

std::string contents_text(const ReplayAnswer& a) {
  if (!a.contents) return {};
  const MemoryHolders& contents = *a.contents;
  const Amounts amount = amounts_of(a);
  std::string text = a.is_as_recorded() ? "\nMemory" : "\nIn the recording: memory";
  text += contents.out_of_memory
              ? " in use when allocating " + with_thousands(contents.requested) + " B failed"
              : std::string(" in use at the peak");
  text += " (" + with_thousands(contents.allocated) + " B allocated)\n";
  TextTable categories({"", "", ""});
  for (const auto& group : contents.categories) {
    categories.add({group.category, amount(group.bytes), percent(group.bytes, contents.allocated)});
  }
  text += categories.text() + "\nLargest groups of blocks\n";
  TextTable groups({"", "", "", ""}, {1, 2, 3});
  for (std::size_t i = 0; i < std::min(contents.groups.size(), kGroupsShown); ++i) {
    const HolderGroup& group = contents.groups[i];
    groups.add({amount(group.bytes), group.category, group.role, blocks_of(group)});
  }
  text += groups.text();
  if (contents.gathered.empty()) return text;
  TextTable gathered({"", ""}, {0, 1});
  for (std::size_t i = 0; i < std::min(contents.gathered.size(), kGatheredShown); ++i) {
    const UnshardedGroup& group = contents.gathered[i];
    gathered.add({group.made.role + "s:", blocks_of(group.made) + ", at most " +
                                              with_thousands(group.peak_live) + " at once, " +
                                              with_thousands(group.left) + " still allocated"});
  }
  return text + "\nUnsharded by FSDP until then\n" + gathered.text();
}

}  // namespace

Amounts::Amounts(std::int64_t largest)
    : unit_(static_cast<double>(largest >= kGiB.count ? kGiB.count : kMiB.count)),
      unit_name_(largest >= kGiB.count ? " GiB" : " MiB") {}

std::string Amounts::operator()(std::int64_t bytes) const {
  return number(bytes) + unit_name_;
}

std::string Amounts::number(std::int64_t bytes) const {
  const double amount = static_cast<double>(bytes) / unit_;
  return bytes > 0 && amount < 0.005 ? "<0.01" : to_fixed(amount, 2);
}

Amounts amounts_of(const ReplayAnswer& answer) {
  return Amounts(std::max(answer.recorded.peak_reserved, answer.outcome.peak_reserved));
}

std::string replay_text(const ReplayAnswer& a) {
  std::string text = heading(a);
  for (const std::string& sentence : replay_sentences(a)) text += profiler::wrap(sentence, 2);
  return text + what_ifs_text(a) + figures(a) + contents_text(a);
}

}  // namespace foreshard::profiler
