// Programs as JSON, for those that cannot be lowered again from a model and a plan, such as programs
// recorded from somebody else's run. A prediction's trace carries them among its metadata.
//
//   {"format": 1,
//    "class_of_rank": [0, 0, 1],          the program of each rank
//    "programs": [{
//      "device": [kind, compute capability, multiprocessors, workspace bytes],
//      "streams": [[name, role, priority]], "groups": [[name, ranks, stride, first]],
//      "operators": [[name, only moves data, launches]], "units": [name], "modules": [path], "names": [text],
//      "cost_keys": [text],
//      "buffers": [[bytes, on host, persistent, pool, category, unit, owner, role]],
//      "closing": 0,
//      "steps": [{"events": 1, "operands": [buffer],
//                 "instructions": [[kind, stream, phase, group, micro-step, operator, unit, target,
//                                   module, cost key, aux, operands, reads, writes]]}],
//      "cycle": 4, "carried": [[made, left]]}]}      left out where 1, or empty; a group's first where 0
//
// Steps are RankProgram::programs. Kinds, phases, categories and roles are words; all else that refers
// to a table is a row number of it, -1 for none. Names count the modules first. Of units, modules and
// parameters only the names are kept: what the executor needs to train is the lowering's to make.
// What collectives of several programs have in common: check_set.hpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/error.hpp"
#include "models/program/step_program.hpp"

namespace foreshard {

struct RankPrograms {
  std::vector<RankProgram> programs;
  std::vector<int> class_of_rank;  // index into `programs`
};

std::string to_json(const RankPrograms& programs);

// What it returns has passed check_program and check_set. `file` is named by errors.
Result<RankPrograms> parse_programs(std::string_view json, const std::string& file);

}  // namespace foreshard
