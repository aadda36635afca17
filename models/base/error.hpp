// Errors that users can cause: a bad file, key or value. Functions that read external data
// return Result<T>; the command line prints the Error and exits with status 2.
// Failures that users cannot correct (of a device or a library) are exceptions instead.
#pragma once

#include <string>

#include <tl/expected.hpp>

namespace foreshard {

struct Error {
  std::string file;     // path or name of the input, empty when there is none
  std::string field;    // key, flag or position in it, empty when the whole input is wrong
  std::string message;  // "what is wrong; what is expected"

  // "FILE: FIELD: message", leaving out what is empty.
  std::string text() const;
};

template <typename T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(std::string file, std::string field, std::string message) {
  return tl::unexpected<Error>(Error{std::move(file), std::move(field), std::move(message)});
}

// The candidate nearest to a misspelt word by edit distance, or empty when none is near enough to
// be worth suggesting (more than a third of the word wrong).
template <typename Range>
std::string nearest(const std::string& word, const Range& candidates);

// Number of insertions, deletions, substitutions and swaps of neighbours that turn a into b.
int edit_distance(const std::string& a, const std::string& b);

template <typename Range>
std::string nearest(const std::string& word, const Range& candidates) {
  std::string best;
  int best_distance = static_cast<int>(word.size()) / 3 + 2;
  for (const auto& candidate : candidates) {
    const int distance = edit_distance(word, std::string(candidate));
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace foreshard
