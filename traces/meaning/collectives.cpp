#include "traces/meaning/collectives.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>
#include <utility>

namespace foreshard::traces {

ProcessGroup process_group(const std::string& text) {
  ProcessGroup group;
  const std::size_t list = text.rfind('[');
  group.name = text.substr(0, list);
  while (group.name.ends_with(' ')) group.name.pop_back();
  if (list == text.npos || text.find("...", list) != text.npos) return group;
  for (std::size_t at = list + 1; at < text.size();) {
    std::int32_t rank = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), rank);
    if (error != std::errc() || rank < 0) break;
    group.ranks.push_back(rank);
    at = static_cast<std::size_t>(end - text.data());
    while (at < text.size() && (text[at] == ',' || text[at] == ' ')) ++at;
  }
  return group;
}

std::int64_t nodes_holding(const std::vector<std::int32_t>& ranks, std::int64_t ranks_per_node) {
  std::set<std::int64_t> nodes;
  for (const std::int32_t rank : ranks)
    nodes.insert(rank / std::max<std::int64_t>(1, ranks_per_node));
  return std::ssize(nodes);
}

namespace {

// An event of a collective, by what tells with which others it meets.
struct Member {
  StringId group;
  std::int32_t step;
  StringId what;
  std::int64_t number;
  std::int64_t repeat;  // which of those of its rank that are the same in all of the above
  std::int32_t rank;
  std::int64_t start_ns;
  std::int32_t index;

  auto meeting() const { return std::tie(group, step, what, number, repeat); }
};

std::vector<Member> members(const Trace& trace) {
  std::vector<Member> all;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event event = trace.events[i];
    if (event.kind != EventKind::communication) continue;
    const bool has_number = event.group != 0 && event.sequence > 0;
    const StringId what = event.group != 0        ? 0
                          : event.stable_key != 0 ? event.stable_key
                                                  : event.name;
    all.push_back({event.group, has_number ? 0 : event.step, what, has_number ? event.sequence : 0,
                   0, trace.lanes[static_cast<std::size_t>(event.lane)].rank, event.start_ns,
                   static_cast<std::int32_t>(i)});
  }
  std::ranges::sort(all, {}, [](const Member& m) {
    return std::tie(m.group, m.step, m.what, m.number, m.rank, m.start_ns, m.index);
  });
  for (std::size_t n = 1; n < all.size(); ++n) {
    const Member& before = all[n - 1];
    const bool is_same =
        std::tie(before.group, before.step, before.what, before.number, before.rank) ==
        std::tie(all[n].group, all[n].step, all[n].what, all[n].number, all[n].rank);
    if (is_same) all[n].repeat = before.repeat + 1;
  }
  return all;
}

}  // namespace

std::vector<Collective> collectives(const Trace& trace) {
  std::vector<Member> all = members(trace);
  std::ranges::sort(all, {}, [](const Member& m) {
    return std::tie(m.group, m.step, m.what, m.number, m.repeat, m.rank);
  });
  std::vector<Collective> found;
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (n == 0 || all[n].meeting() != all[n - 1].meeting()) {
      found.emplace_back().group = all[n].group;
    }
    auto& events = found.back().events;
    events.emplace_hint(events.end(), all[n].rank, all[n].index);
  }
  return found;
}

}  // namespace foreshard::traces
