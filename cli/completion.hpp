// Completion scripts for shells, made from the parser: commands, options, choices, the names of
// bundled models and machines, and files where a file is expected.
#pragma once

#include <string>

#include "cli/command_line.hpp"

namespace foreshard::cli {

std::string bash_completion(const CommandLine& line);
std::string zsh_completion(const CommandLine& line);
std::string fish_completion(const CommandLine& line);

}  // namespace foreshard::cli
