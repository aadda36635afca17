#include "cli/help.hpp"

#include <algorithm>

namespace foreshard::cli {
namespace {

constexpr std::size_t kWidth = 80, kColumn = 26;

// Words of a paragraph in lines that begin at a column; the first one is there already.
std::string wrapped(const std::string& text, std::size_t column) {
  std::string out;
  std::size_t at = column;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (at > column && at + 1 + word.size() > kWidth) {
      out += "\n" + std::string(column, ' ');
      at = column;
    }
    out += (at > column ? " " : "") + word;
    at += (at > column ? 1 : 0) + word.size();
    begin = end + 1;
  }
  return out;
}

std::string row(const std::string& name, const std::string& text, std::size_t column) {
  std::string line = "  " + name;
  if (line.size() + 2 > column) {
    line += "\n" + std::string(column, ' ');
  } else {
    line.resize(column, ' ');
  }
  return line + wrapped(text, column) + "\n";
}

std::string wrapped_paragraphs(const std::string& text) {
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find("\n\n", begin), text.size());
    out += "\n" + wrapped(text.substr(begin, end - begin), 0) + "\n";
    begin = end + 2;
  }
  return out;
}

std::string rows(const std::vector<OptionInfo>& options, bool positional) {
  std::string text;
  for (const OptionInfo& option : options) {
    if (option.is_positional() != positional) continue;
    text += row(signature(option), description(option), kColumn);
  }
  return text;
}

}  // namespace

bool is_help(const std::string& argument) {
  return argument == "-h" || argument == "--help";
}

std::string usage_line(const CommandLine::Entry& entry) {
  std::string text = entry.text.name;
  for (const OptionInfo& option : entry.options.all()) {
    if (!option.is_positional()) continue;
    const std::string name = option.metavar + (option.is_repeated ? "..." : "");
    text += option.is_required ? " " + name : " [" + name + "]";
  }
  for (const OptionInfo& option : entry.options.all()) {
    if (option.is_positional() || !option.is_required) continue;
    text += " " + option.names.front() + " " + option.metavar;
  }
  return text + " [options]";
}

std::string signature(const OptionInfo& option) {
  std::string text;
  for (const std::string& name : option.names) text += (text.empty() ? "" : ", ") + name;
  if (option.kind != ValueKind::flag) text += (text.empty() ? "" : " ") + option.metavar;
  return text + (option.is_repeated ? "..." : "");
}

std::string description(const OptionInfo& option) {
  std::string text = option.help;
  std::string words;
  for (const std::string& choice : option.choices) words += (words.empty() ? "" : ", ") + choice;
  if (!words.empty()) text += ": " + words;
  if (option.is_required && !option.is_positional()) text += " (required)";
  if (!option.fallback.empty()) text += " (default: " + option.fallback + ")";
  return text;
}

std::string command_help(const CommandLine::Entry& entry) {
  std::string text = "Usage: foreshard " + wrapped(usage_line(entry), 17) + "\n";
  std::string summary = entry.text.summary;
  summary[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(summary[0])));
  text += "\n" + summary + ".\n" + wrapped_paragraphs(entry.text.details);
  const std::string arguments = rows(entry.options.all(), true);
  if (!arguments.empty()) text += "\nArguments:\n" + arguments;
  text += "\nOptions:\n" + rows(entry.options.all(), false) +
          row("-h, --help", "print this help", kColumn);
  text += entry.text.examples.size() == 1 ? "\nExample:\n" : "\nExamples:\n";
  for (const std::string& example : entry.text.examples) text += "  " + example + "\n";
  return text;
}

std::string general_help(const CommandLine& line) {
  std::string text =
      "Usage: foreshard COMMAND [options]\n\n"
      "Trains Llama models under FSDP, records what happened, and predicts memory and\n"
      "step time of other plans and machines.\n";
  std::vector<std::string> groups;
  for (const auto& entry : line.entries()) {
    if (std::find(groups.begin(), groups.end(), entry->text.group) == groups.end()) {
      groups.push_back(entry->text.group);
    }
  }
  for (const std::string& group : groups) {
    text += "\n" + group + ":\n";
    for (const auto& entry : line.entries()) {
      if (entry->text.group == group) text += row(entry->text.name, entry->text.summary, 14);
    }
  }
  return text +
         "\n`foreshard COMMAND --help` lists a command's options, `foreshard --version` prints "
         "the\nversion. Exit status: 0 success, 1 failure of the run, 2 bad usage or input,\n"
         "3 out of device memory, 130 and 143 training ended by SIGINT and SIGTERM.\n";
}

}  // namespace foreshard::cli
