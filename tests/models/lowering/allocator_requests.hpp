// What a rank's caching allocator is asked for, in the order of the host, as lines that can be compared:
// `+ BYTES STREAM`, or `- N` for a free of the Nth allocation of the list, counted from 0.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "models/program/step_program.hpp"

namespace foreshard::tests {

using Requests = std::vector<std::string>;

// Of the steps `first` to `last`, 0 being the set-up; frees of what is older are left out.
Requests requests(const RankProgram& program, int first, int last);

// Of the lines of an event log.
Requests requests(const std::vector<nlohmann::json>& log);

// Where two lists part, with what stands around, ours on the left; nothing where they are equal.
std::string difference(const Requests& ours, const Requests& theirs);

}  // namespace foreshard::tests
