// A question in words: the first two lines of every answer.
#pragma once

#include <string>
#include <vector>

#include "models/sharding/job.hpp"

namespace foreshard {

// One line without its end: the model, what runs, ranks and machine, the batch, and what else the plan sets
// that is no default.
std::string question_line(const Question& question);

// What nobody asked for and yet decides the answer, a phrase each.
std::vector<std::string> assumptions(const Job& job);

// Both, each line with its end: "llama-3.1-8b ...\nassumed: ...\n".
std::string question_text(const Job& job);

}  // namespace foreshard
