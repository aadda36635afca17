#include "cli/completion.hpp"
#include "cli/completion_values.hpp"

namespace foreshard::cli {
namespace {

std::string fish_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

// What a value may be: -x forbids files, -r requires a value.
std::string value_arguments(const OptionInfo& option) {
  if (option.kind == ValueKind::flag) return "";
  std::string text = takes_file(option) || option.kind == ValueKind::folder ? " -r -F" : " -x";
  const std::vector<std::string> words = words_of(option);
  if (!words.empty()) text += " -a " + fish_quoted(joined(words));
  if (option.kind == ValueKind::folder) text += " -a '(__fish_complete_directories)'";
  return text;
}

std::string line_of(const std::string& command, const OptionInfo& option) {
  std::string text = "complete -c foreshard -n '__fish_seen_subcommand_from " + command + "'";
  if (option.is_positional()) {
    const std::vector<std::string> words = words_of(option);
    if (!words.empty()) text += " -a " + fish_quoted(joined(words));
    return text + (takes_file(option) ? " -F\n" : " -f\n");
  }
  for (const std::string& name : option.names) {
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  return text + value_arguments(option) + " -d " + fish_quoted(option.help) + "\n";
}

}  // namespace

std::string fish_completion(const CommandLine& line) {
  std::string text =
      "# Fish completion for foreshard: foreshard completion fish | source\n\n"
      "complete -c foreshard -f\n";
  for (const auto& entry : line.entries()) {
    text += "complete -c foreshard -n __fish_use_subcommand -a " + entry->text.name + " -d " +
            fish_quoted(entry->text.summary) + "\n";
    for (const OptionInfo& option : entry->options.all()) {
      text += line_of(entry->text.name, option);
    }
    text += "complete -c foreshard -n '__fish_seen_subcommand_from " + entry->text.name +
            "' -s h -l help -d 'print this help'\n";
  }
  return text;
}

}  // namespace foreshard::cli
