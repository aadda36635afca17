// The files that a name of training data stands for, whose tokens follow each other as one list: one file; all
// token files of a folder, by their names, as datatrove and nanotron keep them; or those that a pattern of names
// matches, as llm.c is given them (data/fineweb_train_*.bin).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "executor/data/tokens.hpp"
#include "models/base/error.hpp"

namespace foreshard::executor {

constexpr const char* kTokenFiles = "tokens (.npy, .bin, .ds or .txt)";

// At least one, each of a format that is known.
Result<std::vector<std::string>> token_files(const std::string& path);

// The type that datatrove has noted beside its file, in the first line of FILE.metadata ("tokenizer|bytes of
// a token"); nothing where there is no such file, or it is an older one without the number. An error where it says anything but 2 or 4 bytes.
Result<std::optional<TokenType>> datatrove_type(const std::string& file);

}  // namespace foreshard::executor
