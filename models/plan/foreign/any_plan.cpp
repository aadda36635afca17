// parse_any_plan: which tool a file is of, by what stands in it.
#include <algorithm>
#include <array>
#include <filesystem>

#include "models/base/text_file.hpp"
#include "models/plan/foreign/conversion.hpp"

namespace foreshard {
namespace {

using foreign::Value;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kSpace = " \t\r\n";

enum class Language : std::uint8_t { json, toml, yaml };

// The first line that is neither empty nor a comment, without the space around it.
std::string_view first_line(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(kSpace), line.size()));
    if (!line.empty() && !line.starts_with('#'))
      return line.substr(0, line.find_last_not_of(kSpace) + 1);
  }
  return {};
}

// A first line is "{" in JSON, "---" or "key: value" in YAML, "[section]" or "key = value" in TOML.
Language language_of(std::string_view text) {
  const std::string_view line = first_line(text);
  if (line.starts_with('{') || line.starts_with("//") || line.starts_with("/*")) {
    return Language::json;
  }
  if (line.starts_with("---") || line.starts_with('%')) return Language::yaml;
  const std::size_t colon = line.find(':');
  const bool ends_a_key = colon != std::string_view::npos &&
                          (colon + 1 == line.size() || kSpace.find(line[colon + 1]) != kSpace.npos);
  return ends_a_key && !line.starts_with('[') && colon < line.find('=') ? Language::yaml
                                                                        : Language::toml;
}

bool has_any(const Value& root, std::initializer_list<std::string_view> keys) {
  return std::any_of(keys.begin(), keys.end(),
                     [&root](std::string_view key) { return root.find(key) != nullptr; });
}

// torchtitan's sections, and none that only a plan has. Both have [optimizer].
bool is_of_torchtitan(const Value& root) {
  return has_any(root, {"job", "model", "training", "parallelism", "activation_checkpoint",
                        "lr_scheduler", "experimental", "metrics", "profiling"}) &&
         !has_any(root, {"operators", "runtime", "batch", "wrap", "sharding", "prefetch",
                         "precision", "offload", "checkpointing", "allocator", "pytorch"});
}

bool is_of_accelerate(const Value& root) {
  return has_any(root, {"distributed_type", "compute_environment"});
}

bool is_section(const Value& root, std::string_view key) {
  const Value* value = root.find(key);
  return value != nullptr && value->kind == Value::Kind::map;
}

bool is_of_deepspeed(const Value& root) {
  return has_any(root,
                 {"zero_optimization", "train_batch_size", "train_micro_batch_size_per_gpu"}) ||
         is_section(root, "bf16") || is_section(root, "bfloat16") || is_section(root, "fp16");
}

bool is_of_axolotl(const Value& root) {
  return has_any(root, {"base_model", "sequence_len", "micro_batch_size"});
}

bool is_of_llama_factory(const Value& root) {
  return has_any(root, {"finetuning_type", "cutoff_len"});
}

bool is_of_trainer(const Value& root) {
  return has_any(root, {"per_device_train_batch_size", "output_dir", "learning_rate", "optim",
                        "num_train_epochs", "gradient_accumulation_steps", "fsdp", "fsdp_config",
                        "gradient_checkpointing"});
}

// The file that fsdp_config of TrainingArguments may name.
bool is_fsdp_config(const Value& root) {
  return has_any(root, {"transformer_layer_cls_to_wrap", "auto_wrap_policy",
                        "reshard_after_forward", "cpu_ram_efficient_loading", "backward_prefetch",
                        "xla", "fsdp_transformer_layer_cls_to_wrap", "fsdp_auto_wrap_policy",
                        "fsdp_reshard_after_forward", "fsdp_backward_prefetch"});
}

constexpr std::string_view kTools =
    "a configuration of Accelerate, DeepSpeed, torchtitan, transformers' Trainer, axolotl or "
    "LLaMA-Factory";

using Reader = Result<ConvertedPlan> (*)(foreign::Source);

// Nothing: of no tool that is known.
Reader reader_of(const Value& root) {
  if (is_of_accelerate(root)) return foreign::accelerate_plan;
  if (is_of_axolotl(root)) return foreign::axolotl_plan;
  if (is_of_llama_factory(root)) return foreign::llama_factory_plan;
  if (is_of_deepspeed(root)) return foreign::deepspeed_plan;
  if (is_of_trainer(root)) return foreign::trainer_plan;
  if (is_fsdp_config(root)) return foreign::fsdp_config_plan;
  if (is_of_torchtitan(root)) return foreign::torchtitan_plan;
  return nullptr;
}

Result<ConvertedPlan> converted(Result<Value> root, const std::string& file,
                                std::optional<std::int64_t> ranks, const std::string& language) {
  if (!root) return tl::unexpected(root.error());
  const Reader reader = reader_of(*root);
  if (reader == nullptr) {
    return fail(file, "",
                "is " + language + " without a key of a tool that is known; expected " +
                    std::string(kTools) + ", or a plan in TOML");
  }
  return reader({std::move(*root), file, ranks});
}

Result<ConvertedPlan> own_plan(std::string_view text, const std::string& file) {
  Result<PlanFile> plan = parse_plan_file(text, file);
  if (!plan) return tl::unexpected(plan.error());
  return ConvertedPlan{std::move(*plan), "", {}, {}, {}, {}, {}};
}

}  // namespace

Result<ConvertedPlan> parse_any_plan(std::string_view text, const std::string& file,
                                     std::optional<std::int64_t> ranks) {
  const std::string_view body =
      text.substr(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
  switch (language_of(body)) {
    case Language::json:
      return converted(foreign::parse_json_document(body, file), file, ranks, "JSON");
    case Language::yaml:
      return converted(foreign::parse_yaml_document(body, file), file, ranks, "YAML");
    case Language::toml: break;
  }
  Result<Value> root = foreign::parse_toml_document(body, file);
  if (!root || !is_of_torchtitan(*root)) return own_plan(text, file);
  return foreign::torchtitan_plan({std::move(*root), file, ranks});
}

Result<ConvertedPlan> read_any_plan(const std::string& path, std::optional<std::int64_t> ranks) {
  Result<std::string> text =
      read_text_file(path, "a plan in TOML, or " + std::string(kTools), kMiB);
  if (!text) return tl::unexpected(text.error());
  return parse_any_plan(*text, path, ranks);
}

bool is_any_plan(const std::string& path) {
  if (std::filesystem::path(path).extension() == ".toml") return true;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  const auto bytes = std::filesystem::file_size(path, error);
  if (error || bytes == 0 || bytes > static_cast<std::uintmax_t>(kMiB.count)) return false;
  const Result<std::string> text = read_text_file(path, "text", kMiB);
  if (!text) return false;
  switch (language_of(*text)) {
    case Language::json: {
      const Result<Value> root = foreign::parse_json_document(*text, path);
      return root && reader_of(*root) != nullptr;
    }
    case Language::yaml: {
      const Result<Value> root = foreign::parse_yaml_document(*text, path);
      return root && reader_of(*root) != nullptr;
    }
    case Language::toml: break;
  }
  const Result<Value> root = foreign::parse_toml_document(*text, path);
  return root && (is_of_torchtitan(*root) || parse_plan_file(*text, path));
}

}  // namespace foreshard
