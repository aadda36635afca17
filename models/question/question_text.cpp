#include "models/question/question_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "models/base/figures.hpp"
#include "models/plan/plan_keys.hpp"
#include "models/plan/plan_words.hpp"
#include "models/question/asked.hpp"
#include "models/sharding/implementation.hpp"
#include "models/sharding/layer_attention.hpp"
#include "models/sharding/pytorch_device.hpp"
#include "models/sharding/pytorch_support.hpp"

namespace foreshard {
namespace {

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

std::string what_runs(const Plan& plan) {
  switch (plan.operators) {
    case OperatorSetName::foreshard: return "Foreshard's operators";
    case OperatorSetName::xla: return "XLA's operators";
    case OperatorSetName::pytorch_eager:
    case OperatorSetName::pytorch_compile: break;
  }
  const bool is_eager = plan.operators == OperatorSetName::pytorch_eager;
  return "PyTorch " + to_string(plan.pytorch.version) + (is_eager ? " eager (" : " compile (") +
         std::string(word(implementation_name(plan))) + ")";
}

std::string machine_of(const Question& question) {
  if (!question.machine_id.empty()) return question.machine_id;
  if (question.machine) return question.machine->id;
  if (describes_pytorch(question.plan.operators)) return default_pytorch_machine().id;
  return question.own_device.kind == DeviceKind::cuda ? "this machine's GPUs"
                                                      : "this machine's CPU";
}

// Keys that are not as the subject has them, but for those that the line says anyway.
std::string other_settings(const Question& question) {
  constexpr std::size_t kShown = 4, kLongest = 40;
  static constexpr std::array<std::string_view, 8> kSaid{
      "operators",        "runtime",           "batch.micro_batch",
      "batch.sequence",   "pytorch.version",   "pytorch.implementation",
      "optimizer.kernel", "batch.accumulation"};
  const std::vector<SpeltKey> changed = changed_keys(question.plan);
  std::string text;
  std::size_t count = 0;
  for (const SpeltKey& key : changed) {
    if (std::find(kSaid.begin(), kSaid.end(), key.name) != kSaid.end()) continue;
    if (++count > kShown) continue;
    text += (text.empty() ? "; " : ", ") + key.name + " = " +
            (key.value.size() <= kLongest ? key.value : key.value.substr(0, kLongest) + "...");
  }
  if (count > kShown) text += " and " + std::to_string(count - kShown) + " more";
  return text;
}

std::string built_on(ModelSetup setup) {
  switch (setup) {
    case ModelSetup::host: return "the model built on the CPU";
    case ModelSetup::device: return "the model built on the GPU";
    case ModelSetup::meta:
    case ModelSetup::automatic: break;
  }
  return "the model built on the meta device";
}

}  // namespace

std::string question_line(const Question& question) {
  const Plan& plan = question.plan;
  const int nodes = node_count(question);
  std::string text = question.model.name + ", " + what_runs(plan) + ", " +
                     upper(word(plan.runtime)) + ", " + plural(question.ranks, "rank") + " on " +
                     (nodes > 1 ? std::to_string(nodes) + " nodes of " : "") +
                     machine_of(question) + ", micro-batch " +
                     std::to_string(plan.batch.micro_batch) + ", sequence " +
                     std::to_string(plan.batch.sequence);
  if (plan.batch.accumulation > 1) {
    text += ", accumulation " + std::to_string(plan.batch.accumulation);
  }
  return text + other_settings(question) + ".";
}

std::vector<std::string> assumptions(const Job& job) {
  std::vector<std::string> found;
  if (!describes_pytorch(job.plan.operators)) {
    if (job.plan.operators == OperatorSetName::foreshard && !job.machine_id.empty()) {
      found.emplace_back("Foreshard's own operators, not PyTorch's");
    }
    const bool is_this_machine = job.machine_id.empty() && job.costs.empty();
    if (is_this_machine && job.device.kind == DeviceKind::cpu) {
      found.emplace_back("a CPU like this one");
    }
    return found;
  }
  const PyTorchPlan& pytorch = job.plan.pytorch;
  found.emplace_back(implementation_of(job.plan).assumed);
  if (pytorch.attention == AttentionBackend::automatic) found.push_back(attention_in_words(job));
  if (pytorch.setup == ModelSetup::automatic) found.push_back(built_on(model_setup(job.plan)));
  if (pytorch.attention_mask == AttentionMask::none) found.emplace_back("no padding");
  if (pytorch.autocast == Autocast::none) found.emplace_back("no autocast");
  if (job.machine_id.empty() && !job.machine) {
    found.push_back("a " + default_pytorch_machine().name + ", as no machine is named");
  }
  return found;
}

std::string question_text(const Job& job) {
  std::string text = question_line(job) + "\n";
  std::string assumed;
  for (const std::string& phrase : assumptions(job)) {
    assumed += (assumed.empty() ? "assumed: " : "; ") + phrase;
  }
  return assumed.empty() ? text : text + assumed + ".\n";
}

}  // namespace foreshard
