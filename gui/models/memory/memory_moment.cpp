#include "gui/models/memory/memory_moment.hpp"

#include <QCoreApplication>
#include <algorithm>
#include <map>
#include <utility>

namespace foreshard::gui {
namespace {

using traces::MemoryEvent;
using traces::MemoryEventPointer;

struct MomentText {
  Q_DECLARE_TR_FUNCTIONS(MemoryMoment)
};

bool is_number(const std::string& part) {
  return !part.empty() &&
         std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts(1);
  for (const char c : path) {
    if (c == '.') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::string join(const std::vector<std::string>& parts, std::size_t first, std::size_t last) {
  std::string text;
  for (std::size_t n = first; n < last; ++n) text += (n == first ? "" : ".") + parts[n];
  return text;
}

// Adds up buffers under the names that lead to them.
struct OwnerTree {
  std::map<std::string, OwnerTree> parts;
  std::int64_t bytes = 0, blocks = 0;
  std::map<Role, std::int64_t> roles;
  MemoryEventPointer allocation = nullptr;
  QString group;  // what several of it are called: "decoder blocks"

  OwnerTree& add(std::int64_t more, std::int64_t count, Role role) {
    bytes += more;
    blocks += count;
    roles[role] += more;
    return *this;
  }
};

std::vector<MemoryOwner> owners_of(const OwnerTree& tree) {
  std::vector<MemoryOwner> owners;
  for (const auto& [name, part] : tree.parts) {
    MemoryOwner owner;
    owner.name = QString::fromStdString(name);
    owner.bytes = part.bytes;
    owner.blocks = part.blocks;
    owner.allocation = part.allocation;
    owner.role =
        std::max_element(part.roles.begin(), part.roles.end(), [](const auto& a, const auto& b) {
          return a.second < b.second;
        })->first;
    owner.parts = owners_of(part);
    const bool is_group = !part.group.isEmpty() && owner.parts.size() > 1;
    if (is_group) {
      owner.name = MomentText::tr("%1 × %2").arg(part.group).arg(owner.parts.size());
    } else if (!part.group.isEmpty()) {
      owner = MemoryOwner(owner.parts.front());
    } else if (owner.parts.size() == 1 && owner.parts.front().parts.empty()) {
      // A single buffer needs no row of its own below.
      owner.allocation = owner.parts.front().allocation;
      owner.parts.clear();
    }
    owners.push_back(std::move(owner));
  }
  std::stable_sort(owners.begin(), owners.end(),
                   [](const MemoryOwner& a, const MemoryOwner& b) { return a.bytes > b.bytes; });
  return owners;
}

QString group_name(const std::string& family) {
  if (family == "layers" || family == "h" || family == "blocks") {
    return MomentText::tr("decoder blocks");
  }
  return QString::fromStdString(family);
}

// Whether memory of a category is told apart by the modules that made it.
bool is_of_modules(const std::string& category) {
  return category == "activations" || category == "temporaries" || category == "loss" ||
         category == "workspaces" || category == "unattributed";
}

std::string or_else(const std::string& text, const std::string& otherwise) {
  return text.empty() ? otherwise : text;
}

class MomentBuilder {
 public:
  MomentBuilder(const traces::Trace& trace, const DeviceWork& work) : trace_(trace), work_(work) {}

  void add(MemoryEventPointer at) {
    const MemoryEvent block = *at;
    const MemoryCategory& category = add_share(block.category, block.bytes, 1);
    const OwnerName owner = owner_name(trace_.strings[block.owner]);
    const std::string name = category.name.toStdString();
    const std::string buffer =
        owner.module + (owner.module.empty() || owner.role.empty() ? "" : ": ") + owner.role;
    const auto put = [&](OwnerTree& tree, const std::string& key) -> OwnerTree& {
      return tree.parts[key].add(block.bytes, 1, category.role);
    };
    const auto put_buffer = [&](OwnerTree& tree, const std::string& title) {
      OwnerTree* leaf = &put(tree, title);
      if (leaf->blocks > 1) {
        leaf->allocation = nullptr;
        return;
      }
      leaf->allocation = at;
    };

    OwnerTree* unit = &by_unit_;
    if (!owner.family.empty()) {
      unit = &put(*unit, owner.family + " ");
      unit->group = group_name(owner.family);
    }
    unit = &put(*unit, or_else(owner.unit, or_else(owner.role, name)));
    const std::string thing =
        is_of_modules(category.key) ? or_else(or_else(owner.module, owner.role), name) : name;
    put_buffer(put(*unit, thing), or_else(buffer, name));

    OwnerTree& operation = put(by_operator_, operator_of(block, owner));
    const std::string module = or_else(owner.module, or_else(owner.unit, name));
    OwnerTree& kind = put(operation, module + (owner.role.empty() ? "" : ": ") + owner.role);
    put_buffer(kind, or_else(owner.unit, or_else(owner.role, name)));
  }

  // Blocks whose addresses were not recorded.
  void add_unplaced(traces::StringId id, const traces::MemoryTally::Unplaced& unplaced) {
    if (unplaced.bytes == 0) return;
    const MemoryCategory& category = add_share(id, unplaced.bytes, unplaced.blocks);
    for (OwnerTree* tree : {&by_unit_, &by_operator_}) {
      tree->parts[category.name.toStdString()].add(unplaced.bytes, unplaced.blocks, category.role);
    }
  }

  void finish(MemoryMoment& moment) {
    for (const auto& [id, share] : shares_) moment.categories.push_back(share);
    std::stable_sort(moment.categories.begin(), moment.categories.end(),
                     [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    moment.by_unit = owners_of(by_unit_);
    moment.by_operator = owners_of(by_operator_);
  }

 private:
  const MemoryCategory& add_share(traces::StringId id, std::int64_t bytes, std::int64_t blocks) {
    const auto [share, is_new] = shares_.try_emplace(id);
    if (is_new) share->second.category = memory_category(trace_.strings[id]);
    share->second.bytes += bytes;
    share->second.blocks += blocks;
    return share->second.category;
  }

  // The device's first work after the request, which it was for; of recordings without instructions
  // what the stack says.
  std::string operator_of(const MemoryEvent& block, const OwnerName& owner) const {
    if (block.instruction >= 0) {
      const traces::EventPointer use = work_.from(block.step, block.instruction);
      if (use != nullptr) return trace_.strings[use->name];
    }
    return or_else(owner.role, MomentText::tr("unknown").toStdString());
  }

  const traces::Trace& trace_;
  const DeviceWork& work_;
  std::map<traces::StringId, CategoryShare> shares_;
  OwnerTree by_unit_, by_operator_;
};

QString where_of(const traces::Trace& trace, const MemoryEvent& event) {
  const QString phase = QString::fromStdString(trace.strings[event.phase]);
  const QString unit = QString::fromStdString(owner_name(trace.strings[event.owner]).unit);
  return phase.isEmpty() || unit.isEmpty() ? phase + unit : phase + QStringLiteral(" · ") + unit;
}

}  // namespace

OwnerName owner_name(const std::string& owner) {
  OwnerName name;
  const auto colon = owner.rfind(": ");
  if (colon == std::string::npos) {
    name.role = owner;
    return name;
  }
  name.role = owner.substr(colon + 2);
  std::vector<std::string> parts = parts_of(owner.substr(0, colon));
  if (parts.size() > 1 && parts.front() == "model") parts.erase(parts.begin());
  if (parts.size() > 1 && (parts.back() == "weight" || parts.back() == "bias")) parts.pop_back();
  std::size_t number = 1;
  while (number < parts.size() && !is_number(parts[number])) ++number;
  const std::size_t unit_end = std::min(number + 1, parts.size());
  if (number < parts.size()) name.family = join(parts, 0, number);
  name.unit = join(parts, 0, unit_end);
  name.module = join(parts, unit_end, parts.size());
  return name;
}

MemoryMoment memory_moment(const traces::Trace& trace, const AllocatorStates& states,
                           const DeviceWork& work, const AllocatorState& state,
                           std::size_t events) {
  MemoryMoment moment;
  moment.allocated = state.tally.levels().allocated;
  moment.reserved = state.tally.levels().reserved;
  moment.on_host = state.tally.levels().host;
  if (events > 0) moment.where = where_of(trace, states.events()[events - 1]);
  MomentBuilder builder(trace, work);
  for (const auto& [address, block] : state.tally.device_blocks()) builder.add(block);
  for (const auto& [category, unplaced] : state.tally.unplaced()) {
    builder.add_unplaced(category, unplaced);
  }
  builder.finish(moment);
  return moment;
}

}  // namespace foreshard::gui
