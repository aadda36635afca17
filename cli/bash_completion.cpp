#include "cli/completion.hpp"
#include "cli/completion_values.hpp"

namespace foreshard::cli {
namespace {

// `_foreshard_value "COMMAND --option"` offers an option's values and fails where it takes none;
// `_foreshard_argument "COMMAND PLACE"` offers those of an argument without a name.
constexpr const char* kFunctions = R"bash(
_foreshard_offer() {  # KIND WORDS
  mapfile -t COMPREPLY < <(compgen -W "$2" -- "$current")
  case $1 in
    file)
      compopt -o filenames
      mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$current")
      ;;
    folder)
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -d -- "$current")
      ;;
  esac
}

_foreshard() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
  local command=${COMP_WORDS[1]} place=0 word
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    _foreshard_offer words "$_foreshard_commands"
    return
  fi
  # --option=VALUE is three words.
  if [[ $current == = ]]; then
    current=""
  elif [[ $previous == = ]]; then
    previous=${COMP_WORDS[COMP_CWORD-2]}
  fi
  _foreshard_value "$command $previous" && return
  if [[ $current == -* ]]; then
    _foreshard_offer words "$(_foreshard_flags "$command")"
    return
  fi
  for ((word = 2; word < COMP_CWORD; ++word)); do
    if [[ ${COMP_WORDS[word]} != -* ]]; then
      ((++place))
    elif [[ ${COMP_WORDS[word+1]} == = ]]; then
      ((word += 2))
    elif _foreshard_value "$command ${COMP_WORDS[word]}"; then
      ((++word))
    fi
  done
  COMPREPLY=()
  _foreshard_argument "$command $place" || _foreshard_argument "$command more"
}
complete -F _foreshard foreshard
)bash";

std::string offer(const OptionInfo& option) {
  const std::string kind = takes_file(option)                 ? "file"
                           : option.kind == ValueKind::folder ? "folder"
                                                              : "words";
  return "_foreshard_offer " + kind + " \"" + joined(words_of(option)) + "\"";
}

std::string function(const std::string& name, const std::string& cases) {
  return "\n" + name + "() {\n  case $1 in\n" + cases + "    *) return 1 ;;\n  esac\n}\n";
}

}  // namespace

std::string bash_completion(const CommandLine& line) {
  std::vector<std::string> commands;
  std::string flags, values, arguments;
  for (const auto& entry : line.entries()) {
    const std::string& command = entry->text.name;
    commands.push_back(command);
    std::vector<std::string> names;
    int place = 0;
    for (const OptionInfo& option : entry->options.all()) {
      if (option.is_positional()) {
        const std::string where = option.is_repeated ? "more" : std::to_string(place++);
        arguments += "    \"" + command + " " + where + "\") " + offer(option) + " ;;\n";
        continue;
      }
      std::string pattern;
      for (const std::string& name : option.names) {
        pattern += (pattern.empty() ? "\"" : " | \"") + (command + " " + name) + "\"";
      }
      names.insert(names.end(), option.names.begin(), option.names.end());
      if (option.kind != ValueKind::flag)
        values += "    " + pattern + ") " + offer(option) + " ;;\n";
    }
    names.emplace_back("--help");
    flags += "    " + command + ") echo \"" + joined(names) + "\" ;;\n";
  }
  commands.insert(commands.end(), {"help", "--help", "--version"});
  return "# Bash completion for foreshard: source <(foreshard completion bash)\n\n"
         "_foreshard_commands=\"" +
         joined(commands) + "\"\n" + function("_foreshard_flags", flags) +
         function("_foreshard_value", values) + function("_foreshard_argument", arguments) +
         kFunctions;
}

}  // namespace foreshard::cli
