// Manual pages in roff, made from the commands' texts and options as help is.
#pragma once

#include <string>

#include "cli/command_line.hpp"

namespace foreshard::cli {

// The page of one command, foreshard-COMMAND(1), and that of the program, foreshard(1).
std::string manual_page(const CommandLine::Entry& entry);
std::string manual_page(const CommandLine& line);

}  // namespace foreshard::cli
