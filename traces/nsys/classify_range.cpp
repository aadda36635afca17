#include "traces/nsys/classify_range.hpp"

#include <algorithm>
#include <cctype>
#include <string>

namespace foreshard::traces::nsys {
namespace {

constexpr std::size_t kLongestWord = 200;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
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

// "MmBackward0"
bool is_autograd(std::string_view name) {
  while (!name.empty() && is_digit(name.back())) name.remove_suffix(1);
  return name.ends_with("Backward") && name.size() > 8;
}

std::string_view phase_of_word(std::string_view name) {
  std::string word;
  for (const char c : name.substr(0, kLongestWord)) {
    if (c != '#' && c != ' ')
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  for (const std::string_view phase : {"forward", "backward", "optimizer"}) {
    if (word == phase || word == std::string(phase) + "_pass" ||
        word == std::string(phase) + "pass")
      return phase;
  }
  if (word == "loss.backward" || word == "bwd") return "backward";
  if (word == "fwd") return "forward";
  if (word.starts_with("optimizer.") || word == "optimizer_step") return "optimizer";
  return {};
}

}  // namespace

Annotation classify_range(std::string_view name) {
  Annotation meaning = annotation_of(name);
  if (name.empty() || !meaning.phase.empty() || !meaning.unit.empty() || meaning.step) {
    return meaning;
  }
  meaning.phase = is_autograd(name) ? "backward" : phase_of_word(name);
  if (is_module_path(name)) meaning.unit = name;
  return meaning;
}

std::string_view operator_name(std::string_view name) {
  for (const std::string_view addition : {", seq = ", ", op_id = ", ", sizes = "}) {
    if (const auto at = name.find(addition); at != std::string_view::npos && at > 0) {
      name = name.substr(0, at);
    }
  }
  return name;
}

}  // namespace foreshard::traces::nsys
