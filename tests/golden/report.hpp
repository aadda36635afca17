// Golden reports: what the program prints is kept in files, so that each changed word is seen in
// review. Here is what a report is and how two of them are compared; tests/golden/README.md explains how
// a case is written.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace foreshard::golden {

// `text` without what differs from run to run though the program does the same. Nothing else may be
// hidden: every rule has its reason.
std::string normalised(std::string text);

// The words of a line as a shell splits it: at spaces, "..." and '...' hold words together.
std::vector<std::string> words(std::string_view line);

// The first `lines` lines, and how many there are in all where more follow; all of them where 0.
std::string head(const std::string& text, std::size_t lines);

// JSON with indentation, of whose long arrays only the first elements are there, and how many there
// are: every key is seen, and what it is like.
std::string shortened_json(const std::string& text);

// Empty where both are equal, else their difference as `diff -u` shows it, of which at most
// `most_lines`.
std::string difference(std::string_view expected, std::string_view actual,
                       std::size_t most_lines = 40);

}  // namespace foreshard::golden
