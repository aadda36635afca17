#include "executor/data/checkpoint.hpp"

#include <cstring>
#include <map>
#include <unordered_map>
#include <utility>

#include <nlohmann/json.hpp>

#include "executor/data/checkpoint_index.hpp"
#include "executor/data/replace_folder.hpp"
#include "models/base/input_file.hpp"
#include "models/base/json_limits.hpp"
#include "models/base/utf8.hpp"
#include "models/plan/plan_words.hpp"

namespace foreshard::executor {

struct CheckpointContents {
  std::string index_file;
  CheckpointIndex index;
  std::vector<SafetensorsReader> files;
  std::unordered_map<std::string, std::size_t> places;  // of parameters in the index
};

namespace {

// Whether every part of every parameter is in its file, in the shape and dtype of the index.
Result<void> check_files(const CheckpointContents& contents) {
  for (const auto& p : contents.index.parameters) {
    for (const auto& [role, type] : p.values) {
      for (const auto& part : p.parts) {
        const auto& file = contents.files[static_cast<std::size_t>(part.file)];
        const auto name = value_name(role, p.name);
        const auto* tensor = file.find(name);
        const std::vector shape{part.region.rows, part.region.columns};
        if (tensor != nullptr && tensor->shape == shape && tensor->type == type) continue;
        return fail(file.path(), name,
                    (tensor == nullptr ? "is missing" : "has another shape or dtype") +
                        std::string("; expected ") + shape_text(shape) + " of " +
                        std::string(executor::name(type)));
      }
    }
  }
  return {};
}

// The first member of a config in which the model differs from the checkpoint's; "config" when the
// difference lies in none.
std::string differing_member(const std::string& stored, const std::string& wanted) {
  constexpr int kDeepest = 64;  // comparing and showing values recurses
  if (!json_excess(stored, kDeepest).empty()) return "config";
  const auto ours = nlohmann::json::parse(wanted, nullptr, false);
  const auto theirs = nlohmann::json::parse(stored, nullptr, false);
  if (!ours.is_object() || !theirs.is_object()) return "config";
  for (const auto& [key, value] : ours.items()) {
    if (!theirs.contains(key)) return key;
    if (theirs[key] != value) {
      return key + " " + excerpt(theirs[key].dump()) + " (the model's is " + excerpt(value.dump()) +
             ")";
    }
  }
  return "config";
}

}  // namespace

Result<Checkpoint> Checkpoint::open(const std::string& path) {
  const auto folder = existing_folder(plain_path(path));
  if (auto ok = check_input_folder(folder, kCheckpoint); !ok) return tl::unexpected(ok.error());
  auto contents = std::make_shared<CheckpointContents>();
  contents->index_file = index_path(folder);
  const auto file = MappedFile::open(contents->index_file, kCheckpoint);
  if (!file) return tl::unexpected(file.error());
  auto index = parse_checkpoint_index(file->bytes(), contents->index_file);
  if (!index) return tl::unexpected(index.error());
  contents->index = std::move(*index);
  for (int i = 0; i < contents->index.files; ++i) {
    auto shard = SafetensorsReader::open(shard_path(folder, i, contents->index.files));
    if (!shard) return tl::unexpected(shard.error());
    contents->files.push_back(std::move(*shard));
  }
  for (std::size_t i = 0; i < contents->index.parameters.size(); ++i) {
    contents->places[contents->index.parameters[i].name] = i;
  }
  if (auto good = check_files(*contents); !good) return tl::unexpected(good.error());
  Checkpoint checkpoint;
  checkpoint.contents_ = std::move(contents);
  return checkpoint;
}

const RunState& Checkpoint::state() const {
  return contents_->index.state;
}

const std::string& Checkpoint::index_file() const {
  return contents_->index_file;
}

Result<void> Checkpoint::check_model(const LlamaConfig& config, const ModuleTree& tree) const {
  const auto& file = contents_->index_file;
  auto stored = parse_llama_config(state().model, file);
  if (!stored) return fail(file, "model", "is damaged: " + stored.error().text());
  LlamaConfig wanted = config;
  wanted.name = stored->name;  // one model may be called by several names
  if (*stored != wanted) {
    return fail(file, "model",
                "belongs to another model, with " +
                    differing_member(state().model, to_json(wanted)) +
                    "; expected a checkpoint of the model being trained");
  }
  for (const auto& p : tree.parameters) {
    const auto place = contents_->places.find(p.name);
    if (place == contents_->places.end()) return fail(file, p.name, "is missing");
    const auto& found = contents_->index.parameters[place->second];
    if (found.rows != p.rows || found.columns != p.columns) {
      return fail(file, p.name,
                  "has shape " + shape_text(std::vector{found.rows, found.columns}) +
                      "; expected " + shape_text(std::vector{p.rows, p.columns}));
    }
  }
  return {};
}

std::string_view name(ValueRole role) {
  switch (role) {
    case ValueRole::parameter: return "parameter";
    case ValueRole::exp_avg: return "exp_avg";
    case ValueRole::exp_avg_sq: break;
  }
  return "exp_avg_sq";
}

Result<void> Checkpoint::check_plan(const Plan& plan) const {
  const bool is_adamw = plan.optimizer.name == OptimizerName::adamw;
  const std::string optimizer(word(plan.optimizer.name));
  const auto text = [](ValueRole role) { return std::string(executor::name(role)); };
  const std::string parameter = text(ValueRole::parameter);
  std::map<std::string, DType> wanted = {{parameter, plan.precision.storage}};
  if (is_adamw && state().step > 0) {
    for (const ValueRole state : {ValueRole::exp_avg, ValueRole::exp_avg_sq}) {
      wanted[text(state)] = plan.precision.optimizer_state;
    }
  }
  for (const auto& p : contents_->index.parameters) {
    for (const auto& [role, type] : p.values) {
      if (wanted.contains(role)) continue;
      return fail(contents_->index_file, p.name,
                  "has " + role + ", which the plan's optimizer " + optimizer +
                      " does not keep; expected a checkpoint of the same optimizer");
    }
    for (const auto& [role, type] : wanted) {
      const auto value = p.values.find(role);
      if (value == p.values.end()) {
        return fail(contents_->index_file, p.name,
                    "has no " + role + ", which the plan's optimizer " + optimizer +
                        " needs; expected a checkpoint of the same optimizer");
      }
      if (value->second != stored_type(type)) {
        return fail(contents_->index_file, p.name,
                    "has " + role + " in " + std::string(executor::name(value->second)) +
                        "; expected " + std::string(executor::name(stored_type(type))) +
                        ", the plan's " +
                        (role == parameter ? "precision.storage" : "precision.optimizer_state"));
      }
    }
  }
  return {};
}

Result<void> Checkpoint::read(const ModuleTree& tree, const ParameterShard& shard, ValueRole of,
                              DType type, std::int64_t capacity, void* out) const {
  const std::string role(executor::name(of));
  const auto& name = tree.parameters[static_cast<std::size_t>(shard.parameter)].name;
  const auto& file = contents_->index_file;
  const auto place = contents_->places.find(name);
  if (place == contents_->places.end()) return fail(file, name, "is missing");
  const auto& p = contents_->index.parameters[place->second];
  if (p.rows != shard.rows || p.columns != shard.columns) {
    return fail(file, name, "has another shape; expected a checkpoint of this model");
  }
  const auto value = p.values.find(role);
  if (value == p.values.end()) return fail(file, name, "has no " + role);
  if (value->second != stored_type(type)) {
    return fail(file, name,
                "has " + role + " in " + std::string(executor::name(value->second)) +
                    "; expected " + std::string(executor::name(stored_type(type))));
  }
  const auto size = static_cast<std::size_t>(item_size(type));
  auto* to = static_cast<std::byte*>(out);
  const Region mine = region_of(shard);
  for (const auto& part : p.parts) {
    const Region shared = intersection(mine, part.region);
    if (shared.elements() == 0) continue;
    const auto& shard_file = contents_->files[static_cast<std::size_t>(part.file)];
    const std::byte* from = shard_file.find(value_name(role, name))->data.data();
    for_each_run(shared, part.region, mine,
                 [&](std::int64_t source, std::int64_t target, std::int64_t count) {
                   std::memcpy(to + static_cast<std::size_t>(target) * size,
                               from + static_cast<std::size_t>(source) * size,
                               static_cast<std::size_t>(count) * size);
                 });
  }
  if (capacity > shard.local) {
    std::memset(to + static_cast<std::size_t>(shard.local) * size, 0,
                static_cast<std::size_t>(capacity - shard.local) * size);
  }
  return {};
}

}  // namespace foreshard::executor
