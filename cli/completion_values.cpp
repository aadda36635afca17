#include "cli/completion_values.hpp"

#include "cli/commands.hpp"
#include "models/hardware/hardware.hpp"
#include "models/llama/llama_config.hpp"
#include "traces/query/builtin_queries.hpp"

namespace foreshard::cli {

std::vector<std::string> words_of(const OptionInfo& option) {
  if (option.kind == ValueKind::model) return bundled_models();
  std::vector<std::string> names = option.choices;
  if (option.kind == ValueKind::machine) {
    for (const Machine& machine : bundled_machines()) names.push_back(machine.id);
  } else if (option.kind == ValueKind::command) {
    for (const auto& command : all_commands()) names.push_back(command->text().name);
  } else if (option.kind == ValueKind::query) {
    for (const traces::BuiltinQuery& query : traces::builtin_queries()) {
      names.emplace_back(query.name);
    }
  }
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
