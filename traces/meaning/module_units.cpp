#include "traces/meaning/module_units.hpp"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace foreshard::traces {
namespace {

constexpr std::string_view kCall = "nn.Module: ";

// Children of one parent and class, "LlamaDecoderLayer" of "nn.Module: LlamaDecoderLayer_3".
using Siblings = std::map<std::pair<StringId, std::string>, std::set<StringId>>;

void collect(const ImportedEvents& imported, std::size_t lane, Siblings& siblings) {
  std::vector<const Event*> open;
  for (std::size_t i = imported.lane_begin[lane]; i < imported.lane_begin[lane + 1]; ++i) {
    const Event& event = imported.events[i];
    if (event.kind != EventKind::stack) continue;
    const std::string& name = imported.strings[event.name];
    if (!name.starts_with(kCall)) continue;
    while (!open.empty() && open.back()->end_ns <= event.start_ns) open.pop_back();
    const StringId parent = open.empty() ? 0 : open.back()->name;
    siblings[{parent, name.substr(0, name.find_last_of('_'))}].insert(event.name);
    open.push_back(&event);
  }
}

}  // namespace

std::unordered_map<StringId, StringId> module_units(ImportedEvents& imported,
                                                    std::span<const std::size_t> threads) {
  Siblings siblings;
  for (const std::size_t lane : threads) collect(imported, lane, siblings);
  std::unordered_map<StringId, StringId> units;
  for (const auto& [parent, names] : siblings) {
    if (names.size() < 2) continue;
    for (const StringId name : names) {
      const std::string unit = imported.strings[name].substr(kCall.size());
      units.emplace(name, imported.strings.intern(unit));
    }
  }
  return units;
}

}  // namespace foreshard::traces
