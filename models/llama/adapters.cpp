#include "models/llama/adapters.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace foreshard {
namespace {

// Copies a tree module by module, with adapters where they belong.
class AdaptedTree {
 public:
  AdaptedTree(const ModuleTree& from, std::span<const std::string> targets, std::int64_t rank)
      : from_(from), targets_(targets), rank_(rank), moved_(from.parameters.size(), kNone) {}

  ModuleTree build() {
    add(0, kNone);
    return {std::move(modules_), std::move(parameters_)};
  }

 private:
  bool is_target(const Module& module) const {
    const std::string_view path = module.path;
    const std::string_view last = path.substr(path.rfind('.') + 1);
    return module.kind == ModuleKind::linear &&
           std::find(targets_.begin(), targets_.end(), last) != targets_.end();
  }

  ModuleId add_module(Module module, ModuleId parent) {
    const auto id = static_cast<ModuleId>(modules_.size());
    if (parent != kNone) modules_[static_cast<std::size_t>(parent)].children.push_back(id);
    module.parent = parent;
    module.children.clear();
    module.parameters.clear();
    modules_.push_back(std::move(module));
    return id;
  }

  void add_parameter(ModuleId module, Parameter parameter) {
    modules_[static_cast<std::size_t>(module)].parameters.push_back(
        static_cast<ParameterId>(parameters_.size()));
    parameter.module = module;
    parameters_.push_back(std::move(parameter));
  }

  void move_parameters(const Module& module, ModuleId to, const std::string& path) {
    for (const ParameterId p : module.parameters) {
      ParameterId& moved = moved_[static_cast<std::size_t>(p)];
      if (moved != kNone) {  // tied
        modules_[static_cast<std::size_t>(to)].parameters.push_back(moved);
        continue;
      }
      moved = static_cast<ParameterId>(parameters_.size());
      Parameter parameter = from_.parameters[static_cast<std::size_t>(p)];
      parameter.name = path + parameter.name.substr(parameter.name.rfind('.'));
      parameter.trains = false;
      add_parameter(to, std::move(parameter));
    }
  }

  ModuleId add_linear(const Module& like, ModuleId parent, std::string_view name) {
    Module module = like;
    module.path += '.';
    module.path += name;
    return add_module(std::move(module), parent);
  }

  void add_adapted(const Module& linear, ModuleId parent) {
    Module holder = linear;
    holder.class_name = "LoraLinear";
    holder.kind = ModuleKind::adapted;
    const ModuleId adapted = add_module(std::move(holder), parent);
    const ModuleId base = add_linear(linear, adapted, "base_layer");
    move_parameters(linear, base, linear.path + ".base_layer");
    const Parameter& weight = from_.parameters[static_cast<std::size_t>(linear.parameters[0])];
    const auto add_factor = [&](std::string_view name, std::int64_t rows, std::int64_t columns) {
      const ModuleId factor = add_linear(linear, adapted, name);
      add_parameter(factor, {modules_[static_cast<std::size_t>(factor)].path + ".weight", factor,
                             rows, columns, false, true});
    };
    add_factor("lora_A.default", rank_, weight.columns);
    add_factor("lora_B.default", weight.rows, rank_);
  }

  void add(ModuleId id, ModuleId parent) {
    const Module& module = from_.modules[static_cast<std::size_t>(id)];
    if (is_target(module)) return add_adapted(module, parent);
    const ModuleId copy = add_module(module, parent);
    move_parameters(module, copy, module.path);
    for (const ModuleId child : module.children) add(child, copy);
  }

  const ModuleTree& from_;
  std::span<const std::string> targets_;
  const std::int64_t rank_;
  std::vector<ParameterId> moved_;  // to where, by parameter of the tree before
  std::vector<Module> modules_;
  std::vector<Parameter> parameters_;
};

}  // namespace

ModuleTree with_adapters(const ModuleTree& tree, std::span<const std::string> targets,
                         std::int64_t rank) {
  return AdaptedTree(tree, targets, rank).build();
}

}  // namespace foreshard
