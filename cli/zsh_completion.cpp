#include "cli/completion.hpp"
#include "cli/completion_values.hpp"

namespace foreshard::cli {
namespace {

// Text inside a specification of _arguments.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// ":METAVAR:ACTION"
std::string value_specification(const OptionInfo& option) {
  std::string action = " ";
  const std::vector<std::string> words = words_of(option);
  if (!words.empty()) {
    action = "(" + joined(words) + ")";
    if (takes_file(option)) action = "{compadd -- " + joined(words) + "; _files}";
  } else if (takes_file(option)) {
    action = "_files";
  } else if (option.kind == ValueKind::folder) {
    action = "_files -/";
  }
  return ":" + escaped(option.metavar) + ":" + action;
}

std::string specification(const OptionInfo& option) {
  if (option.is_positional())
    return quoted((option.is_repeated ? "*" : "") + value_specification(option));
  const std::string tail = "[" + escaped(option.help) + "]" +
                           (option.kind == ValueKind::flag ? "" : value_specification(option));
  if (option.names.size() == 1) return quoted(option.names[0] + tail);
  return quoted("(" + joined(option.names) + ")") + "{" + joined(option.names, ",") + "}" +
         quoted(tail);
}

}  // namespace

std::string zsh_completion(const CommandLine& line) {
  std::string names, cases;
  for (const auto& entry : line.entries()) {
    names += "    " + quoted(entry->text.name + ":" + escaped(entry->text.summary)) + "\n";
    cases += "    " + entry->text.name + ")\n      _arguments";
    for (const OptionInfo& option : entry->options.all()) {
      cases += " \\\n        " + specification(option);
    }
    cases += " \\\n        '(- *)'{-h,--help}'[print this help]' ;;\n";
  }
  return "#compdef foreshard\n"
         "# Zsh completion for foreshard: source <(foreshard completion zsh)\n\n"
         "_foreshard() {\n  local -a commands=(\n" +
         names +
         "  )\n"
         "  if (( CURRENT == 2 )); then\n"
         "    _describe command commands\n    return\n  fi\n"
         "  shift words\n  (( CURRENT-- ))\n"
         "  case $words[1] in\n" +
         cases +
         "  esac\n}\n\n"
         "if [[ $funcstack[1] == _foreshard ]]; then\n  _foreshard \"$@\"\nelse\n"
         "  compdef _foreshard foreshard\nfi\n";
}

}  // namespace foreshard::cli
