#include "profiler/replay/replay_report.hpp"

#include <algorithm>

#include "models/base/figures.hpp"
#include "profiler/report/format.hpp"

namespace foreshard::profiler {
namespace {

using profiler::TextTable;

constexpr std::size_t kGroupsShown = 12, kGatheredShown = 6;

std::string blocks_of(const ContentsGroup& group) {
  return grouped(group.blocks) + (group.blocks == 1 ? " block of " : " blocks of ") +
         grouped(group.block_bytes) + " B";
}

std::string heading(const ReplayAnswer& a) {
  std::string text = a.history;
  if (a.device) text += ", device " + std::to_string(*a.device);
  text += ": " + grouped(static_cast<std::int64_t>(a.events)) + " events, " +
          grouped(a.recorded.allocations) + " allocations";
  if (a.recorded.out_of_memory > 0) {
    text += a.recorded.out_of_memory == 1
                ? ", and memory ran out"
                : ", and memory ran out " + grouped(a.recorded.out_of_memory) + " times";
  }
  text += "\n";
  if (a.devices.size() > 1) {
    text += "The recording has devices";
    for (const int device : a.devices) text += " " + std::to_string(device);
    text += " (--device)\n";
  }
  if (!a.trouble.empty()) {
    text += "The file is not whole (" + a.trouble + "): what stands before that was read\n";
  }
  if (a.misfits > 0) {
    text += grouped(a.misfits) + " events contradict the segments at the end: those are older or " +
            "newer than the trace\n";
  }
  if (a.left_out > 0) {
    text += grouped(a.left_out) + " events and segments of further streams are left out\n";
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
    table.add({when, amount(f.reserved - f.allocated),
               "of " + amount(f.reserved) + " reserved; the largest free block has " +
                   amount(f.largest_free)});
  };
  unused("unused at the peak of reserved", a.at_peak);
  if (a.at_failure) unused("unused when memory ran out", *a.at_failure);
  table.add({"segments taken", grouped(s.segments_allocated)});
  table.add({"segments given back", grouped(s.segments_released)});
  std::string text = "\n" + table.text();
  for (const OutOfMemory& failure : a.result.failures) {
    text += "  out of memory: " + grouped(failure.requested) + " B could not be had with " +
            amount(failure.allocated) + " allocated, " + amount(failure.reserved) +
            " reserved after the release of the cache\n";
  }
  return text;
}

std::string what_ifs_text(const ReplayAnswer& a) {
  if (a.what_ifs.empty()) return {};
  const Amounts amount = amounts_of(a);
  std::string title = "\nThe same requests under other settings";
  if (a.capacity) title += ", on a device with " + amount(*a.capacity);
  TextTable table({"", "", "peak reserved", "", ""}, {0, 1, 4});
  for (const WhatIf& each : a.what_ifs) {
    const Outcome& o = each.outcome;
    const std::string spare = o.spare ? amount(std::abs(*o.spare)) : "";
    std::string how = !o.spare ? "" : o.failure ? "short" : "to spare";
    if (o.failed_at && o.failed_at != a.outcome.failed_at) {
      how += *o.failed_at < *a.outcome.failed_at ? ", and earlier" : ", but later";
    }
    table.add(
        {each.change, o.failure ? "out of memory" : "fits", amount(o.peak_reserved), spare, how});
  }
  return title + "\n" + table.text();
}

std::string contents_text(const ReplayAnswer& a) {
  if (!a.contents) return {};
  const Contents& contents = *a.contents;
  const Amounts amount = amounts_of(a);
  std::string text = a.is_as_recorded() ? "\nWhat" : "\nIn the recording: what";
  text += contents.out_of_memory
              ? " held the memory when " + grouped(contents.requested) + " B could not be had"
              : std::string(" held the memory at the peak");
  text += " (" + grouped(contents.allocated) + " B allocated)\n";
  TextTable categories({"", "", ""});
  for (const auto& group : contents.categories) {
    categories.add({group.category, amount(group.bytes), share(group.bytes, contents.allocated)});
  }
  text += categories.text() + "\nThe largest of it\n";
  TextTable groups({"", "", "", ""}, {1, 2, 3});
  for (std::size_t i = 0; i < std::min(contents.groups.size(), kGroupsShown); ++i) {
    const ContentsGroup& group = contents.groups[i];
    groups.add({amount(group.bytes), group.category, group.role, blocks_of(group)});
  }
  text += groups.text();
  if (contents.gathered.empty()) return text;
  TextTable gathered({"", ""}, {0, 1});
  for (std::size_t i = 0; i < std::min(contents.gathered.size(), kGatheredShown); ++i) {
    const GatheredGroup& group = contents.gathered[i];
    gathered.add({group.made.role + "s:", blocks_of(group.made) + ", at most " +
                                              grouped(group.most_at_once) + " at once, " +
                                              grouped(group.left) + " left"});
  }
  return text + "\nGathered by FSDP until then\n" + gathered.text();
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
  return bytes > 0 && amount < 0.005 ? "<0.01" : fixed(amount, 2);
}

Amounts amounts_of(const ReplayAnswer& answer) {
  return Amounts(std::max(answer.recorded.peak_reserved, answer.outcome.peak_reserved));
}

std::string replay_text(const ReplayAnswer& a) {
  std::string text = heading(a);
  for (const std::string& sentence : replay_sentences(a)) text += profiler::wrapped(sentence, 2);
  return text + what_ifs_text(a) + figures(a) + contents_text(a);
}

}  // namespace foreshard::profiler
