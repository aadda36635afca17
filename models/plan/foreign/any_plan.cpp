// parse_any_plan: which tool a file is of, by what stands in it.
#include <algorithm>
#include <array>

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
  return has_any(root, {"distributed_type", "compute_environment", "fsdp_config"});
}

bool is_of_deepspeed(const Value& root) {
  return has_any(root, {"zero_optimization", "train_batch_size", "train_micro_batch_size_per_gpu",
                        "bf16", "bfloat16", "fp16", "gradient_accumulation_steps"});
}

Result<ConvertedPlan> own_plan(std::string_view text, const std::string& file) {
  Result<Plan> plan = parse_plan(text, file);
  if (!plan) return tl::unexpected(plan.error());
  ConvertedPlan converted;
  converted.plan = std::move(*plan);
  return converted;
}

}  // namespace

Result<ConvertedPlan> parse_any_plan(std::string_view text, const std::string& file) {
  const std::string_view body =
      text.substr(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
  switch (language_of(body)) {
    case Language::json: {
      Result<Value> root = foreign::parse_json_document(body, file);
      if (!root) return tl::unexpected(root.error());
      if (is_of_accelerate(*root)) return foreign::accelerate_plan(std::move(*root), file);
      if (is_of_deepspeed(*root)) return foreign::deepspeed_plan(std::move(*root), file);
      return fail(file, "",
                  "is JSON without a key of DeepSpeed's; expected a DeepSpeed configuration with "
                  "zero_optimization or train_micro_batch_size_per_gpu, or a plan in TOML");
    }
    case Language::yaml: {
      Result<Value> root = foreign::parse_yaml_document(body, file);
      if (!root) return tl::unexpected(root.error());
      if (is_of_accelerate(*root)) return foreign::accelerate_plan(std::move(*root), file);
      return fail(
          file, "",
          "is YAML without a key of Accelerate's; expected an Accelerate configuration with "
          "distributed_type, or a plan in TOML");
    }
    case Language::toml: break;
  }
  Result<Value> root = foreign::parse_toml_document(body, file);
  if (!root || !is_of_torchtitan(*root)) return own_plan(text, file);
  return foreign::torchtitan_plan(std::move(*root), file);
}

Result<ConvertedPlan> read_any_plan(const std::string& path) {
  Result<std::string> text = read_text_file(
      path, "a plan in TOML, or a configuration of Accelerate, torchtitan or DeepSpeed", kMiB);
  if (!text) return tl::unexpected(text.error());
  return parse_any_plan(*text, path);
}

}  // namespace foreshard
