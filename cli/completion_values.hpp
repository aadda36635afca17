// What completion offers for an option's value; only for the sources of this folder.
#pragma once

#include <string>

#include "cli/common/options.hpp"

namespace foreshard::cli {

// The words of a choice, the bundled models, the catalogue's machines, the commands or the built-in
// queries; none for other kinds.
std::vector<std::string> words_of(const OptionInfo& option);
// Whether it may also be a file.
bool takes_file(const OptionInfo& option);

std::string joined(const std::vector<std::string>& words, const std::string& between = " ");
// A text between single quotes, for bash and zsh.
std::string quoted(const std::string& text);

}  // namespace foreshard::cli
