#include "executor/data/token_files.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include <fnmatch.h>

#include "models/base/input_file.hpp"

namespace foreshard::executor {
namespace {

namespace fs = std::filesystem;

bool has_known_format(const std::string& file) {
  constexpr std::array<std::string_view, 4> kFormats{".npy", ".bin", ".ds", ".txt"};
  return std::ranges::find(kFormats, fs::path(file).extension().string()) != kFormats.end();
}

}  // namespace

Result<std::vector<std::string>> token_files(const std::string& path) {
  std::error_code ignored;
  const bool is_folder = fs::is_directory(path, ignored);
  const std::string name = fs::path(path).filename().string();
  const bool is_pattern =
      !is_folder && !fs::exists(path, ignored) && name.find_first_of("*?[") != std::string::npos;
  if (!is_folder && !is_pattern) {
    if (!has_known_format(path)) {
      return fail(path, "", "has an unknown format; expected a .npy, .bin, .ds or .txt file");
    }
    return std::vector{path};
  }
  const fs::path parent = fs::path(path).parent_path();
  auto files = files_in_folder(is_folder        ? path
                               : parent.empty() ? "."
                                                : parent.string(),
                               kTokenFiles);
  if (!files) return files;
  std::erase_if(*files, [&](const std::string& file) {
    const std::string of = fs::path(file).filename().string();
    return !has_known_format(file) || (is_pattern && ::fnmatch(name.c_str(), of.c_str(), 0) != 0);
  });
  if (files->empty()) {
    return fail(path, "",
                std::string(is_folder ? "contains" : "matches") + " no file of " + kTokenFiles +
                    "; expected at least one");
  }
  return files;
}

Result<std::optional<TokenType>> datatrove_type(const std::string& file) {
  const std::string beside = file + ".metadata";
  std::ifstream in(beside);
  std::string line;
  std::getline(in, line);
  const std::size_t bar = line.rfind('|');
  if (bar == std::string::npos) return std::nullopt;
  const std::string bytes = line.substr(bar + 1);
  if (bytes == "2") return TokenType::u16;
  if (bytes == "4") return TokenType::u32;
  return fail(beside, "line 1", "does not say how long a token is; expected NAME|2 or NAME|4");
}

}  // namespace foreshard::executor
