#include "cli/command_line.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>

#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "cli/common/output.hpp"
#include "cli/help.hpp"
#include "models/base/nearest_names.hpp"

namespace foreshard::cli {
namespace {

const OptionInfo* find_option(const Options& options, const std::string& name) {
  for (const OptionInfo& option : options.all()) {
    if (std::find(option.names.begin(), option.names.end(), name) != option.names.end()) {
      return &option;
    }
  }
  return nullptr;
}

bool looks_like_option(const std::string& argument) {
  return argument.size() > 1 && argument[0] == '-' && argument != "--" &&
         std::string("0123456789.").find(argument[1]) == std::string::npos;
}

// The first option among the arguments that the command does not have; values are passed over.
std::optional<std::string> unknown_option(const Options& options,
                                          const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--") break;
    if (!looks_like_option(arguments[i])) continue;
    const std::size_t equals = arguments[i].find('=');
    const OptionInfo* option = find_option(options, arguments[i].substr(0, equals));
    const bool is_short = option == nullptr && arguments[i][1] != '-' &&
                          find_option(options, arguments[i].substr(0, 2)) != nullptr;
    if (option == nullptr && !is_short) return arguments[i].substr(0, equals);
    const bool takes_next =
        option != nullptr && option->kind != ValueKind::flag && equals == std::string::npos;
    i += takes_next ? 1 : 0;
  }
  return std::nullopt;
}

Error unknown_option_error(const CommandLine::Entry& entry, const std::string& name) {
  std::vector<std::string> known;
  for (const OptionInfo& option : entry.options.all()) {
    for (const std::string& each : option.names) {
      if (each.starts_with("--")) known.push_back(each);
    }
  }
  return {"", entry.text.name,
          "unknown option '" + name + "'; expected one that `foreshard " + entry.text.name +
              " --help` lists" + did_you_mean(nearest_names(name, known))};
}

// What CLI11 reports as a sentence of its own, in ours. A value's error is complete already.
Error explain(const CLI::ParseError& error, const CommandLine::Entry& entry) {
  const std::string text = error.what();
  const std::string name = text.substr(0, text.find(':'));
  if (dynamic_cast<const CLI::ValidationError*>(&error) != nullptr) return {"", "", text};
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const OptionInfo* option = find_option(entry.options, name);
    const bool is_repeated = text.find("At Most") != std::string::npos;
    return {"", entry.text.name,
            name + (is_repeated
                        ? " is given more than once"
                        : " needs a value" + (option != nullptr ? ": " + signature(*option) : ""))};
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    const std::string extra = text.substr(text.rfind(": ") + 2);
    return {"", entry.text.name,
            "unexpected argument '" + extra + "'; expected: foreshard " + usage_line(entry)};
  }
  return {"", entry.text.name, text};
}

}  // namespace

CommandLine::CommandLine() : app_(std::make_unique<CLI::App>()) {
  app_->require_subcommand(0, 1);
  for (std::unique_ptr<Command>& command : all_commands()) {
    CommandText text = command->text();
    CLI::App* const app = app_->add_subcommand(text.name, text.summary);
    entries_.push_back(
        std::make_unique<Entry>(Entry{std::move(command), std::move(text), Options(*app)}));
    Entry& entry = *entries_.back();
    app->set_help_flag();
    entry.command->add_to(entry.options);
  }
}

CommandLine::~CommandLine() = default;

const CommandLine::Entry* CommandLine::find(const std::string& name) const {
  for (const auto& entry : entries_) {
    if (entry->text.name == name) return entry.get();
  }
  return nullptr;
}

Error CommandLine::unknown_command(const std::string& name) const {
  std::vector<std::string> names;
  for (const auto& entry : entries_) names.push_back(entry->text.name);
  const std::string what = looks_like_option(name) ? "unknown option '" : "unknown command '";
  return {"", "",
          what + name + "'; expected one that `foreshard --help` lists" +
              did_you_mean(nearest_names(name, names))};
}

Result<void> CommandLine::parse(const Entry& entry, std::vector<std::string> arguments) {
  if (const auto unknown = unknown_option(entry.options, arguments)) {
    return tl::unexpected(unknown_option_error(entry, *unknown));
  }
  arguments.insert(arguments.begin(), entry.text.name);
  std::reverse(arguments.begin(), arguments.end());
  try {
    app_->parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return tl::unexpected(explain(error, entry));
  }
  return entry.options.prepare_files(piped_);
}

Result<int> CommandLine::run(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    const int shown = written(show(general_help(*this)));
    return shown == kSuccess ? kBadInput : shown;
  }
  const std::string& first = arguments[0];
  const bool asks_for_help = first == "help" || is_help(first);
  if (asks_for_help && (first != "help" || arguments.size() == 1)) {
    return written(show(general_help(*this)));
  }
  if (first == "--version") {
    std::printf("foreshard %s\n", FORESHARD_VERSION);
    return kSuccess;
  }
  const std::string& name = asks_for_help ? arguments[1] : first;
  const Entry* entry = find(name);
  if (entry == nullptr) return tl::unexpected(unknown_command(name));
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  const auto end = std::find(rest.begin(), rest.end(), "--");
  if (asks_for_help || std::any_of(rest.begin(), end, is_help)) {
    return written(show(command_help(*entry)));
  }
  if (auto parsed = parse(*entry, rest); !parsed) return tl::unexpected(parsed.error());
  auto status = entry->command->run();
  if (!status) status.error().file = as_given(std::move(status.error().file));
  return status;
}

}  // namespace foreshard::cli
