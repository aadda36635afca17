// Variants of a command: braces in the words of --vary stand for each of their alternatives in turn, and every
// combination is rehearsed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/rehearsed_ranks.hpp"
#include "models/base/error.hpp"

namespace foreshard::cli {

struct Variant {
  std::vector<std::string> words;                  // added to the command
  std::map<std::string, std::string> environment;  // added to its variables

  std::string text() const;  // as a shell takes it
};

// Of the texts of --vary, "NAME={a,b} --layers {2,4}": words of the form NAME=VALUE in front are variables. The
// last braces vary fastest. Braces without a comma stand for themselves. More than 64 are an error.
Result<std::vector<Variant>> variants_of(const std::vector<std::string>& texts);

// "run.fst" is "run.3.fst" for the third.
std::string numbered_file(const std::string& path, std::size_t number);

struct RehearsedVariant {
  Variant variant;
  std::string file;  // its trace
  RehearsedRanks ranks;
};

// What was asked in the order of the variants; the first of those that fit with the least reserved memory is
// marked.
class RehearsedVariants {
 public:
  void add(RehearsedVariant rehearsed) { all_.push_back(std::move(rehearsed)); }

  // Success where one fits; else what the first one ended with, where memory ran out before all others.
  int status() const;
  std::string ended_because() const;
  nlohmann::ordered_json as_json() const;
  std::string text() const;

 private:
  const RehearsedVariant* best() const;  // null where none fits

  std::vector<RehearsedVariant> all_;
};

}  // namespace foreshard::cli
