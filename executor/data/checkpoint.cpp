#include "executor/data/checkpoint.hpp"

#include <cstring>
#include <filesystem>
#include <map>
#include <unordered_set>
#include <utility>

#include <nlohmann/json.hpp>

#include "executor/data/checkpoint_contents.hpp"
#include "executor/data/checkpoint_files.hpp"
#include "executor/data/checkpoint_index.hpp"
#include "executor/data/model_folder.hpp"
#include "executor/data/replace_folder.hpp"
#include "models/base/input_file.hpp"
#include "models/base/json_limits.hpp"
#include "models/base/utf8.hpp"
#include "models/plan/plan_words.hpp"

namespace foreshard::executor {

namespace {

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
  CheckpointIndex index;
  contents->state_file = index_path(folder);
  std::error_code error;
  const bool is_ours = std::filesystem::exists(contents->state_file, error);
  if (!is_ours && is_dcp(folder)) {
    contents->state_file = dcp_metadata_path(folder);
    contents->has_run = false;
    index.format = CheckpointFormat::dcp;
  } else if (!is_ours && holds_weights(folder)) {
    return fail(folder, "",
                "is a model without the state of a run; expected --init for its weights");
  } else {
    const auto file = MappedFile::open(contents->state_file, kCheckpoint);
    if (!file) return tl::unexpected(file.error());
    auto parsed = parse_checkpoint_index(file->bytes(), contents->state_file);
    if (!parsed) return tl::unexpected(parsed.error());
    index = std::move(*parsed);
    contents->state = index.state;
  }
  auto found = checkpoint_files(index.format).find(folder, index, *contents);
  if (!found) return tl::unexpected(found.error());
  Checkpoint checkpoint;
  checkpoint.state_ = contents->state;
  checkpoint.contents_ = std::move(contents);
  return checkpoint;
}

bool Checkpoint::has_run() const {
  return contents_->has_run;
}

const RunState& Checkpoint::state() const {
  return state_;
}

const std::string& Checkpoint::index_file() const {
  return contents_->state_file;
}

Checkpoint Checkpoint::of_run(RunState state) const {
  Checkpoint other = *this;
  other.state_ = std::move(state);
  return other;
}

Result<void> Checkpoint::check_model(const LlamaConfig& config, const ModuleTree& tree) const {
  const auto& file = contents_->state_file;
  if (has_run()) {
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
  }
  std::unordered_set<std::string> known;
  for (const auto& p : tree.parameters) {
    known.insert(p.name);
    const auto place = contents_->parameters.find(p.name);
    if (place == contents_->parameters.end()) return fail(file, p.name, "is missing");
    const auto& found = place->second;
    if (found.rows != p.rows || found.columns != p.columns) {
      return fail(file, p.name,
                  "has shape " + shape_text(std::vector{found.rows, found.columns}) +
                      "; expected " + shape_text(std::vector{p.rows, p.columns}));
    }
  }
  for (const auto& [name, parameter] : contents_->parameters) {
    // A tied head is stored beside the embedding that it is.
    if (known.contains(name) || (config.tied_embeddings && name == "lm_head.weight")) continue;
    return fail(file, name, "is not a parameter of the model; expected a checkpoint of it");
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

std::string_view name(CheckpointFormat format) {
  constexpr std::string_view names[] = {"native", "dcp", "hf", "torchtitan"};
  return names[static_cast<int>(format)];
}

Result<void> check_format(CheckpointFormat format, const LlamaConfig& config,
                          const ModuleTree& tree) {
  if (format != CheckpointFormat::torchtitan) return {};
  if (config.tied_embeddings) {
    return fail(config.name, "tie_word_embeddings",
                "is true, and torchtitan's Llama has a head of its own; expected another "
                "--save-format, such as dcp");
  }
  for (const auto& p : tree.parameters) {
    if (own_name(StateNames::torchtitan, p.name)) continue;
    return fail(config.name, p.name,
                "has no place in torchtitan's Llama; expected another --save-format, such as dcp");
  }
  return {};
}

Result<void> Checkpoint::check_plan(const ModuleTree& tree, const Plan& plan) const {
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
  const std::string& file = contents_->state_file;
  for (const auto& p : tree.parameters) {
    const auto place = contents_->parameters.find(p.name);
    if (place == contents_->parameters.end()) return fail(file, p.name, "is missing");
    const auto& values = place->second.values;
    for (const auto& [role, stored] : values) {
      if (wanted.contains(role)) continue;
      return fail(file, p.name,
                  "has " + role + ", which the plan's optimizer " + optimizer +
                      " does not keep; expected a checkpoint of the same optimizer");
    }
    for (const auto& [role, type] : wanted) {
      const auto value = values.find(role);
      if (value == values.end()) {
        return fail(file, p.name,
                    "has no " + role + ", which the plan's optimizer " + optimizer +
                        " needs; expected a checkpoint of the same optimizer");
      }
      const StoredType stored = value->second.type;
      if (stored != stored_type(type)) {
        return fail(file, p.name,
                    "has " + role + " in " + std::string(executor::name(stored)) + "; expected " +
                        std::string(executor::name(stored_type(type))) + ", the plan's " +
                        (role == parameter ? "precision.storage" : "precision.optimizer_state"));
      }
    }
  }
  return {};
}

namespace {

// To a dense region, from the parts that have some of it.
void copy_region(const StoredValue& value, const Region& wanted, std::int64_t item, std::byte* to) {
  const auto size = static_cast<std::size_t>(item);
  for (const auto& part : value.parts) {
    const Region shared = intersection(wanted, part.region);
    if (shared.elements() == 0) continue;
    for_each_run(shared, part.region, wanted,
                 [&](std::int64_t source, std::int64_t target, std::int64_t count) {
                   std::memcpy(to + static_cast<std::size_t>(target) * size,
                               part.data + static_cast<std::size_t>(source) * size,
                               static_cast<std::size_t>(count) * size);
                 });
  }
}

}  // namespace

Result<void> Checkpoint::read(const ModuleTree& tree, const ParameterShard& shard, ValueRole of,
                              DType type, std::int64_t capacity, void* out) const {
  const std::string role(executor::name(of));
  const auto& name = tree.parameters[static_cast<std::size_t>(shard.parameter)].name;
  const auto& file = contents_->state_file;
  const auto place = contents_->parameters.find(name);
  if (place == contents_->parameters.end()) return fail(file, name, "is missing");
  const StoredParameter& p = place->second;
  if (p.rows != shard.rows || p.columns != shard.columns) {
    return fail(file, name, "has another shape; expected a checkpoint of this model");
  }
  const auto value = p.values.find(role);
  if (value == p.values.end()) return fail(file, name, "has no " + role);
  if (value->second.type != stored_type(type)) {
    return fail(file, name,
                "has " + role + " in " + std::string(executor::name(value->second.type)) +
                    "; expected " + std::string(executor::name(stored_type(type))));
  }
  const auto size = static_cast<std::size_t>(item_size(type));
  auto* to = static_cast<std::byte*>(out);
  const Region mine = region_of(shard);
  std::int64_t head = 0;
  if (contents_->names != StateNames::transformers) {
    const auto config = parse_llama_config(state().model, file);
    if (!config) return tl::unexpected(config.error());
    head = rows_in_pairs(contents_->names, name, *config);
  }
  if (head == 0) {
    copy_region(value->second, mine, item_size(type), to);
  } else {
    for (std::int64_t row = 0; row < mine.rows; ++row) {
      const std::int64_t stored = paired_row(mine.first_row + row, head);
      const Region one{stored, 1, mine.first_column, mine.columns};
      copy_region(value->second, one, item_size(type),
                  to + static_cast<std::size_t>(row * mine.columns) * size);
    }
  }
  if (capacity > shard.local) {
    std::memset(to + static_cast<std::size_t>(shard.local) * size, 0,
                static_cast<std::size_t>(capacity - shard.local) * size);
  }
  return {};
}

}  // namespace foreshard::executor
