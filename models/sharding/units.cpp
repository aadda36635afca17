// The division of a module tree into FSDP units: fully_shard's rules for which parameters a call
// manages, and the wrap policies that decide where it is called.
#include "models/sharding/units.hpp"

#include <algorithm>
#include <set>

namespace foreshard {
namespace {

using Groups =
    std::vector<std::vector<ModuleId>>;  // modules of each fully_shard call, in its order

Groups wrap_by_class(const ModuleTree& tree, const std::vector<std::string>& classes) {
  Groups groups;
  for (std::size_t m = 1; m < tree.modules.size(); ++m) {
    if (std::find(classes.begin(), classes.end(), tree.modules[m].class_name) != classes.end()) {
      groups.push_back({static_cast<ModuleId>(m)});
    }
  }
  return groups;
}

// PyTorch's recursive size policy (reference: FSDP1's _recursive_wrap): children first; a module
// whose parameters that no child took reach the minimum is wrapped itself.
class SizePolicy {
 public:
  SizePolicy(const ModuleTree& tree, std::int64_t minimum) : tree_(tree), minimum_(minimum) {}

  Groups groups() {
    wrap(0, true);
    return std::move(groups_);
  }

 private:
  const Module& at(ModuleId id) const { return tree_.modules[static_cast<std::size_t>(id)]; }

  void collect(ModuleId id, std::set<ParameterId>& out) const {
    out.insert(at(id).parameters.begin(), at(id).parameters.end());
    for (const ModuleId child : at(id).children) collect(child, out);
  }

  std::int64_t numel(ModuleId id) const {
    std::set<ParameterId> owned;
    collect(id, owned);
    std::int64_t sum = 0;
    for (const ParameterId p : owned) sum += tree_.parameters[static_cast<std::size_t>(p)].numel();
    return sum;
  }

  // Returns the number of elements wrapped below and including the module.
  std::int64_t wrap(ModuleId id, bool is_root) {
    const std::int64_t all = numel(id);
    if (all < minimum_) return 0;
    std::int64_t wrapped = 0;
    for (const ModuleId child : at(id).children) wrapped += wrap(child, false);
    const bool may_be_wrapped = !is_root && at(id).kind != ModuleKind::layer_list;
    if (may_be_wrapped && all - wrapped >= minimum_) {
      groups_.push_back({id});
      return all;
    }
    return wrapped;
  }

  const ModuleTree& tree_;
  std::int64_t minimum_;
  Groups groups_;
};

Result<Groups> wrap_by_globs(const ModuleTree& tree, const Plan& plan, const std::string& file) {
  Groups groups;
  for (const WrapGroup& group : plan.wrap.modules) {
    std::vector<ModuleId> matched;
    for (const std::string& glob : group.globs) {
      const std::size_t before = matched.size();
      for (std::size_t m = 1; m < tree.modules.size(); ++m) {
        if (glob_matches(glob, tree.modules[m].path)) matched.push_back(static_cast<ModuleId>(m));
      }
      if (matched.size() == before) {
        std::vector<std::string> paths;
        for (const Module& module : tree.modules) paths.push_back(module.path);
        const std::string near = nearest(glob, paths);
        return fail(file, "wrap.modules",
                    "'" + glob +
                        "' matches no module; expected a glob of Hugging Face names such as "
                        "'model.layers.*'" +
                        (near.empty() ? "" : "; did you mean '" + near + "'"));
      }
    }
    if (group.is_one_unit && plan.runtime == RuntimeName::fsdp1) {
      return fail(file, "wrap.modules",
                  "has a list of modules that are one unit, which FSDP1 cannot wrap; expected "
                  "single modules, or runtime \"fsdp2\"");
    }
    if (group.is_one_unit) {
      groups.push_back(std::move(matched));
    } else {
      for (const ModuleId m : matched) groups.push_back({m});
    }
  }
  std::vector<bool> taken(tree.modules.size());
  for (const auto& group : groups) {
    for (const ModuleId m : group) {
      const std::size_t index = static_cast<std::size_t>(m);
      if (taken[index]) {
        return fail(file, "wrap.modules",
                    "module '" + tree.modules[index].path +
                        "' is wrapped twice; expected each module in one group, once");
      }
      taken[index] = true;
    }
  }
  return groups;
}

// Parameters a group manages: modules in post-order, not entering what another group wraps.
void manage(const ModuleTree& tree, ModuleId id, const std::vector<UnitId>& unit_of, UnitId unit,
            std::vector<bool>& taken, std::vector<ParameterId>& out) {
  const Module& module = tree.modules[static_cast<std::size_t>(id)];
  for (const ModuleId child : module.children) {
    if (unit_of[static_cast<std::size_t>(child)] == kNone) {
      manage(tree, child, unit_of, unit, taken, out);
    }
  }
  for (const ParameterId p : module.parameters) {
    if (!taken[static_cast<std::size_t>(p)]) out.push_back(p);
    taken[static_cast<std::size_t>(p)] = true;
  }
}

// The unit whose fully_shard call manages a module's own parameters.
UnitId managing_unit(const ModuleTree& tree, ModuleId id, const std::vector<UnitId>& unit_of) {
  while (id != 0 && unit_of[static_cast<std::size_t>(id)] == kNone) {
    id = tree.modules[static_cast<std::size_t>(id)].parent;
  }
  return id == 0 ? 0 : unit_of[static_cast<std::size_t>(id)];
}

Result<Groups> chosen_groups(const ModuleTree& tree, const Plan& plan, const std::string& file) {
  if (plan.runtime == RuntimeName::ddp) return Groups{};
  switch (plan.wrap.policy) {
    case WrapPolicy::none: return Groups{};
    case WrapPolicy::size: return SizePolicy(tree, plan.wrap.min_num_params).groups();
    case WrapPolicy::modules: return wrap_by_globs(tree, plan, file);
    case WrapPolicy::transformer: break;
  }
  std::vector<std::string> known;
  for (const Module& module : tree.modules) {
    if (std::find(known.begin(), known.end(), module.class_name) == known.end()) {
      known.emplace_back(module.class_name);
    }
  }
  for (const std::string& wanted : plan.wrap.layer_class) {
    if (std::find(known.begin(), known.end(), wanted) == known.end()) {
      const std::string near = nearest(wanted, known);
      return fail(file, "wrap.layer_class",
                  "the model has no module of class '" + wanted + "'; expected one such as '" +
                      (near.empty() ? "LlamaDecoderLayer" : near) + "'");
    }
  }
  return wrap_by_class(tree, plan.wrap.layer_class);
}

}  // namespace

bool glob_matches(std::string_view glob, std::string_view path) {
  std::size_t g = 0, p = 0, star = std::string_view::npos, resume = 0;
  while (p < path.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      resume = p;
    } else if (g < glob.size() && (glob[g] == path[p] || (glob[g] == '?' && path[p] != '.'))) {
      ++g, ++p;
    } else if (star != std::string_view::npos && path[resume] != '.') {
      g = star + 1;
      p = ++resume;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

Result<std::vector<Unit>> wrap_units(const ModuleTree& tree, const LlamaConfig& config,
                                     const Plan& plan, const std::string& plan_file) {
  auto chosen = chosen_groups(tree, plan, plan_file);
  if (!chosen) return tl::unexpected(chosen.error());
  Groups groups = std::move(*chosen);
  groups.push_back({0});
  const auto first = [](const std::vector<ModuleId>& group) {
    return *std::min_element(group.begin(), group.end());
  };
  std::sort(groups.begin(), groups.end(),
            [&first](const auto& a, const auto& b) { return first(a) < first(b); });

  for (const auto& group : groups) {
    for (const ModuleId m : group) {
      const Module& module = tree.modules[static_cast<std::size_t>(m)];
      if (module.kind == ModuleKind::layer_list) {
        return fail(plan_file, "wrap",
                    "'" + module.path +
                        "' is a list of modules without a forward "
                        "of its own, so FSDP's hooks would never run; expected its members, '" +
                        module.path + ".*'");
      }
    }
  }
  std::vector<UnitId> unit_of(tree.modules.size(), kNone);
  for (std::size_t u = 0; u < groups.size(); ++u) {
    for (const ModuleId m : groups[u])
      unit_of[static_cast<std::size_t>(m)] = static_cast<UnitId>(u);
  }
  if (config.tied_embeddings) {
    const UnitId embedding = managing_unit(tree, tree.find("model.embed_tokens"), unit_of);
    const UnitId head = managing_unit(tree, tree.find("lm_head"), unit_of);
    if (embedding != head) {
      return fail(
          plan_file, "wrap",
          "model.embed_tokens and lm_head share their weight (tie_word_embeddings) but fall "
          "into two units, where PyTorch would silently untie them; expected both in one "
          "unit: the root, or a group [\"model.embed_tokens\", \"model.norm\", \"lm_head\"]");
    }
  }
  std::vector<Unit> units(groups.size());
  std::vector<bool> taken(tree.parameters.size());
  for (std::size_t u = 0; u < groups.size(); ++u) {
    for (const ModuleId m : groups[u]) {
      const std::string& path = tree.modules[static_cast<std::size_t>(m)].path;
      units[u].name += (units[u].name.empty() ? "" : ", ") + path;
      manage(tree, m, unit_of, static_cast<UnitId>(u), taken, units[u].parameters);
    }
    units[u].modules = std::move(groups[u]);
  }
  std::erase_if(units, [](const Unit& u) { return u.parameters.empty() && u.modules[0] != 0; });
  return units;
}

}  // namespace foreshard
