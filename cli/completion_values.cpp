#include "cli/completion_values.hpp"

#include "models/hardware/hardware.hpp"
#include "models/llama/llama_config.hpp"

namespace foreshard::cli {

std::vector<std::string> words_of(const OptionInfo& option) {
  if (option.kind == ValueKind::model) return bundled_models();
  if (option.kind != ValueKind::machine) return option.choices;
  std::vector<std::string> names;
  for (const Machine& machine : bundled_machines()) names.push_back(machine.id);
  return names;
}

bool takes_file(const OptionInfo& option) {
  return option.kind == ValueKind::file || option.kind == ValueKind::model;
}

std::string joined(const std::vector<std::string>& words, const std::string& between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace foreshard::cli
