#include "gui/models/memory/memory_moment.hpp"

#include <QCoreApplication>
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <utility>

#include "traces/snapshot/allocation_cause.hpp"

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
  std::int64_t entries = 0;  // that were added, of either sign
  std::map<Role, std::int64_t> roles;
  MemoryEventPointer allocation = nullptr;
  QString group;  // what several of it are called: "decoder blocks"

  OwnerTree& add(std::int64_t more, std::int64_t count, Role role) {
    bytes += more;
    blocks += count;
    ++entries;
    roles[role] += std::abs(more);
    return *this;
  }
};

std::vector<MemoryOwner> owners_of(const OwnerTree& tree) {
  std::vector<MemoryOwner> owners;
  for (const auto& [name, part] : tree.parts) {
    if (part.bytes == 0 && part.blocks == 0) continue;
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
  std::ranges::stable_sort(owners, std::greater(),
                           [](const MemoryOwner& owner) { return std::abs(owner.bytes); });
  return owners;
}

// Of functions that lead to one another and nowhere else, the innermost is shown.
std::vector<MemoryOwner> code_of(const OwnerTree& tree) {
  std::vector<MemoryOwner> owners;
  for (const auto& [frame, part] : tree.parts) {
    const OwnerTree* shown = &part;
    const std::string* innermost = &frame;
    QString lines = QString::fromStdString(frame);
    while (shown->parts.size() == 1 && shown->parts.begin()->second.entries == shown->entries) {
      innermost = &shown->parts.begin()->first;
      shown = &shown->parts.begin()->second;
      lines = QString::fromStdString(*innermost) + QLatin1Char('\n') + lines;
    }
    if (shown->bytes == 0 && shown->blocks == 0) continue;
    MemoryOwner& owner = owners.emplace_back();
    owner.name = short_frame(*innermost);
    owner.detail = lines;
    owner.bytes = shown->bytes;
    owner.blocks = shown->blocks;
    owner.allocation = shown->entries == 1 ? shown->allocation : nullptr;
    owner.role =
        std::ranges::max_element(shown->roles, {}, [](const auto& r) { return r.second; })->first;
    owner.parts = code_of(*shown);
  }
  std::ranges::stable_sort(owners, std::greater(),
                           [](const MemoryOwner& owner) { return std::abs(owner.bytes); });
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

  // `count`: 1, or -1 of a block that is there no longer.
  void add(MemoryEventPointer at, int count = 1) {
    const MemoryEvent block = *at;
    const std::int64_t bytes = count * block.bytes;
    const MemoryCategory& category = add_share(block.category, bytes, count);
    const OwnerName owner = owner_name(trace_.strings[block.owner]);
    const std::string name = category.name.toStdString();
    const std::string buffer =
        owner.module + (owner.module.empty() || owner.role.empty() ? "" : ": ") + owner.role;
    const auto put = [&](OwnerTree& tree, const std::string& key) -> OwnerTree& {
      return tree.parts[key].add(bytes, count, category.role);
    };
    const auto put_buffer = [&](OwnerTree& tree, const std::string& title) {
      OwnerTree* leaf = &put(tree, title);
      leaf->allocation = leaf->entries == 1 ? at : nullptr;
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

    OwnerTree& code = by_stack_[block.stack].add(bytes, count, category.role);
    code.allocation = at;
  }

  // Blocks whose addresses were not recorded.
  void add_unplaced(const traces::MemoryTally& tally, int sign = 1) {
    for (const auto& [id, unplaced] : tally.unplaced()) {
      if (unplaced.bytes == 0) continue;
      const std::int64_t bytes = sign * unplaced.bytes, blocks = sign * unplaced.blocks;
      const MemoryCategory& category = add_share(id, bytes, blocks);
      for (OwnerTree* tree : {&by_unit_, &by_operator_}) {
        tree->parts[category.name.toStdString()].add(bytes, blocks, category.role);
      }
      by_stack_[0].add(bytes, blocks, category.role);
    }
  }

  void finish(MemoryMoment& moment) {
    for (const auto& [id, share] : shares_) {
      if (share.bytes != 0 || share.blocks != 0) moment.categories.push_back(share);
    }
    std::ranges::stable_sort(moment.categories, std::greater(),
                             [](const CategoryShare& share) { return std::abs(share.bytes); });
    moment.by_unit = owners_of(by_unit_);
    moment.by_operator = owners_of(by_operator_);
    moment.by_code = by_code();
  }

 private:
  const MemoryCategory& add_share(traces::StringId id, std::int64_t bytes, std::int64_t blocks) {
    const auto [share, is_new] = shares_.try_emplace(id);
    if (is_new) share->second.category = memory_category(trace_.strings[id]);
    share->second.bytes += bytes;
    share->second.blocks += blocks;
    return share->second.category;
  }

  // From the outermost function to the one that allocated.
  std::vector<MemoryOwner> by_code() const {
    const bool has_stacks =
        std::ranges::any_of(by_stack_, [](const auto& stack) { return stack.first != 0; });
    if (!has_stacks) return {};
    OwnerTree tree;
    const std::string none = MomentText::tr("code not recorded").toStdString();
    for (const auto& [stack, sum] : by_stack_) {
      const auto frames = program_frames(stack == 0 ? none : trace_.strings[stack]);
      OwnerTree* at = &tree;
      for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
        at = &at->parts[std::string(*frame)];
        at->bytes += sum.bytes;
        at->blocks += sum.blocks;
        at->entries += sum.entries;
        at->allocation = sum.allocation;
        for (const auto& [role, bytes] : sum.roles) at->roles[role] += bytes;
      }
    }
    return code_of(tree);
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
  std::map<traces::StringId, OwnerTree> by_stack_;
};

bool is_python(std::string_view frame) {
  return frame.find(".py:") != frame.npos;
}

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

std::vector<std::string_view> program_frames(std::string_view stack) {
  std::vector<std::string_view> all, python;
  while (!stack.empty()) {
    const std::string_view frame = stack.substr(0, stack.find('\n'));
    all.push_back(frame);
    if (is_python(frame) && traces::is_place_in_program(frame)) python.push_back(frame);
    stack.remove_prefix(std::min(frame.size() + 1, stack.size()));
  }
  return python.empty() ? all : python;
}

QString short_frame(std::string_view frame) {
  // Names of C++ have spaces, those of Python have none.
  const std::size_t cut = is_python(frame) ? frame.find(' ') : frame.rfind(' ');
  const auto text = [](std::string_view part) {
    return QString::fromUtf8(part.data(), static_cast<qsizetype>(part.size()));
  };
  const std::size_t line = frame.rfind(':') + 1;  // a place ends with its line
  if (cut == frame.npos || line <= cut || frame.find_first_not_of("0123456789", line) != frame.npos)
    return text(frame);
  const std::string_view file = frame.substr(cut + 1);
  return text(frame.substr(0, cut)) + QStringLiteral("  ") +
         text(file.substr(file.find_last_of("/\\") + 1));
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
  builder.add_unplaced(state.tally);
  builder.finish(moment);
  return moment;
}

MemoryMoment memory_difference(const traces::Trace& trace, const DeviceWork& work,
                               const AllocatorState& before, const AllocatorState& state) {
  MemoryMoment moment;
  const traces::MemoryLevels &then = before.tally.levels(), &now = state.tally.levels();
  moment.allocated = now.allocated - then.allocated;
  moment.reserved = now.reserved - then.reserved;
  moment.on_host = now.host - then.host;
  MomentBuilder builder(trace, work);
  const auto add_missing = [&](const AllocatorState& of, const AllocatorState& other, int count) {
    const auto& others = other.tally.device_blocks();
    for (const auto& [address, block] : of.tally.device_blocks()) {
      const auto found = others.find(address);
      if (found == others.end() || found->second != block) builder.add(block, count);
    }
  };
  add_missing(state, before, 1);
  add_missing(before, state, -1);
  builder.add_unplaced(state.tally);
  builder.add_unplaced(before.tally, -1);
  builder.finish(moment);
  return moment;
}

}  // namespace foreshard::gui
