#include "traces/meaning/annotations.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string>

namespace foreshard::traces {
namespace {

using Scope = Annotation::Scope;

constexpr std::string_view kForward = "forward";
constexpr std::string_view kBackward = "backward";
constexpr std::string_view kOptimizer = "optimizer";

constexpr std::size_t kLongestWord = 200;

struct Word {
  std::string_view text;
  std::string_view phase;
  Scope scope;
};

constexpr std::array kFsdp2{Word{"root_pre_forward", kForward, Scope::resets},
                            Word{"inputs_to_device", kForward, Scope::none},
                            Word{"cast_forward_inputs", kForward, Scope::none},
                            Word{"cast_forward_outputs", kForward, Scope::none},
                            Word{"pre_forward", kForward, Scope::begins},
                            Word{"forward_prefetch", kForward, Scope::none},
                            Word{"post_forward", kForward, Scope::ends},
                            Word{"pre_backward", kBackward, Scope::begins},
                            Word{"backward_prefetch", kBackward, Scope::none},
                            Word{"post_backward_accumulate", kBackward, Scope::ends},
                            Word{"post_backward_reshard", kBackward, Scope::ends},
                            Word{"post_backward_reduce", kBackward, Scope::ends},
                            Word{"post_backward_rs_wait", kBackward, Scope::none},
                            Word{"finalize_backward", kBackward, Scope::resets},
                            Word{"root_post_backward_callback", kBackward, Scope::resets},
                            Word{"all_gather_copy_out", "", Scope::none},
                            Word{"all_gather", "", Scope::none}};

constexpr std::array<std::string_view, 9> kStepWords{kMarkedStep, "ProfilerStep", "step",
                                                     "Step",      "iteration",    "Iteration",
                                                     "iter",      "train_step",   "training_step"};

// "pre_forward (layers.0)", "backward_prefetch for layers.1", "all_gather", and all of them with
// " [pg=1]" behind where there are several process groups
Annotation fsdp2(std::string_view text) {
  Annotation out;
  text = text.substr(0, text.rfind(" [pg="));
  const std::size_t end = text.find(' ');
  const std::string_view word = text.substr(0, end);
  const auto known = std::find_if(kFsdp2.begin(), kFsdp2.end(),
                                  [&](const Word& candidate) { return candidate.text == word; });
  if (known != kFsdp2.end()) {
    out.phase = known->phase;
    out.scope = known->scope;
  }
  out.unit = "root";
  if (end == std::string_view::npos) return out;
  std::string_view rest = text.substr(end + 1);
  if (rest.starts_with("for ")) {
    out.unit = rest.substr(4);
  } else if (rest.size() > 2 && rest.front() == '(' && rest.back() == ')') {
    out.unit = rest.substr(1, rest.size() - 2);
  }
  return out;
}

// FSDP1's annotations do not contain the module.
Annotation fsdp1(std::string_view word) {
  Annotation out;
  if (word.find("backward") != std::string_view::npos) {
    out.phase = kBackward;
  } else if (word.find("forward") != std::string_view::npos || word == "_to_kwargs") {
    out.phase = kForward;
  }
  return out;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The number that ends the name after one of " #_", where the word before it is one for a step.
std::optional<std::int32_t> step_of(std::string_view name) {
  std::size_t digits = name.size();
  while (digits > 0 && is_digit(name[digits - 1])) --digits;
  if (digits == 0 || std::string_view(" #_").find(name[digits - 1]) == std::string_view::npos) {
    return std::nullopt;
  }
  if (std::ranges::find(kStepWords, name.substr(0, digits - 1)) == kStepWords.end()) {
    return std::nullopt;
  }
  std::int32_t step = 0;
  const auto parsed = std::from_chars(name.data() + digits, name.data() + name.size(), step);
  return parsed.ec == std::errc() ? std::optional(step) : std::nullopt;
}

// "layers.0", "model.layers.3.mlp": names joined by dots, one of them a number.
bool is_module_path(std::string_view text) {
  if (text.size() > kLongestWord || !std::isalpha(static_cast<unsigned char>(text.front()))) {
    return false;
  }
  bool has_number = false;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t dot = std::min(text.find('.', at), text.size());
    const std::string_view part = text.substr(at, dot - at);
    if (part.empty()) return false;
    if (!std::all_of(part.begin(), part.end(), [](char c) {
          return c == '_' || std::isalnum(static_cast<unsigned char>(c));
        })) {
      return false;
    }
    has_number = has_number || (at > 0 && std::all_of(part.begin(), part.end(), is_digit));
    at = dot + 1;
  }
  return has_number;
}

// Of autograd's "MmBackward0", of modules and DDP, and of the words that people use.
std::string_view phase_of(std::string_view name) {
  if (name.starts_with("autograd::engine::evaluate_function")) return kBackward;
  if (name == "DistributedDataParallel.forward" || name.starts_with("nn.Module: ")) return kForward;
  const std::string_view stem = name.substr(0, name.find_last_not_of("0123456789") + 1);
  if (stem.ends_with("Backward") && stem != "Backward") return kBackward;
  std::string word;
  for (const char c : name.substr(0, kLongestWord)) {
    if (c != '#' && c != ' ')
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (word.ends_with("_pass")) word.resize(word.size() - 5);
  if (word.ends_with("pass")) word.resize(word.size() - 4);
  if (word == "forward" || word == "fwd") return kForward;
  if (word == "backward" || word == "loss.backward" || word == "bwd") return kBackward;
  if (word == "optimizer" || word == "optimizer_step" || word.starts_with("optimizer.")) {
    return kOptimizer;
  }
  return {};
}

}  // namespace

Annotation annotation_of(std::string_view name) {
  constexpr std::string_view kFsdp2Prefix = "FSDP::";
  constexpr std::string_view kFsdp1Prefix = "FullyShardedDataParallel.";
  if (name.starts_with(kFsdp2Prefix)) return fsdp2(name.substr(kFsdp2Prefix.size()));
  if (name.starts_with(kFsdp1Prefix)) return fsdp1(name.substr(kFsdp1Prefix.size()));
  Annotation out;
  if (const auto step = step_of(name)) {
    out.step = step;
    out.scope = Scope::resets;
  } else if (name.starts_with("Optimizer.")) {
    out.phase = kOptimizer;
    out.scope = Scope::resets;
  } else if (is_module_path(name)) {
    out.unit = name;
  } else {
    out.phase = phase_of(name);
  }
  return out;
}

}  // namespace foreshard::traces
