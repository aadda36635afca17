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

std::vector<Collective> collectives(const Trace& trace) {
  std::vector<std::pair<std::int64_t, std::int32_t>> in_order;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event event = trace.events[i];
    if (event.kind == EventKind::communication) {
      in_order.emplace_back(event.start_ns, static_cast<std::int32_t>(i));
    }
  }
  std::stable_sort(in_order.begin(), in_order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  // Group, step, what, number, which of them.
  using Key = std::tuple<StringId, std::int32_t, StringId, std::int64_t, std::int64_t>;
  std::map<Key, Collective> found;
  std::map<std::pair<std::int32_t, Key>, std::int64_t> seen;
  for (const auto& [start, index] : in_order) {
    const Event event = trace.events[static_cast<std::size_t>(index)];
    const std::int32_t rank = trace.lanes[static_cast<std::size_t>(event.lane)].rank;
    const bool has_number = event.group != 0 && event.sequence > 0;
    const StringId what = event.group != 0        ? 0
                          : event.stable_key != 0 ? event.stable_key
                                                  : event.name;
    Key key{event.group, has_number ? 0 : event.step, what, has_number ? event.sequence : 0, 0};
    std::get<4>(key) = seen[{rank, key}]++;
    Collective& collective = found[key];
    collective.group = event.group;
    collective.events[rank] = index;
  }
  std::vector<Collective> all;
  for (auto& [key, collective] : found) all.push_back(std::move(collective));
  return all;
}

}  // namespace foreshard::traces
