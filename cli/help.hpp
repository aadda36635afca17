// What `--help` prints, made from the commands' texts and options.
#pragma once

#include <string>
#include <vector>

#include "cli/command_line.hpp"

namespace foreshard::cli {

bool is_help(const std::string& argument);  // -h, --help

// "predict [options] --model MODEL --ranks RANKS": what must be given.
std::string usage_line(const CommandLine::Entry& entry);
// An option as help lists it: "-o, --output FILE".
std::string signature(const OptionInfo& option);
// Its description with whether it is required, its choices and its default.
std::string description(const OptionInfo& option);

std::string command_help(const CommandLine::Entry& entry);
std::string general_help(const CommandLine& line);

}  // namespace foreshard::cli
