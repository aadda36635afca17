// Laws every step program must obey, checked by walking it with vector clocks.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/program/step_program.hpp"

namespace foreshard::tests {

// Everything wrong with the run set-up, first step, steady step, steady step. Empty when:
//   - every buffer is allocated once, freed at most once, used only in between, and what is not
//     persistent is gone at the end of its step;
//   - whoever reads or writes a buffer comes after its last writer, and whoever writes it after its
//     readers (no races between streams, host included);
//   - a free comes after every use, as the buffer's own stream sees it: its memory may be handed to
//     the next request of that stream at once. For streams that record_stream named the allocator
//     waits, as far as they have come by the free;
//   - a recomputation writes none of the activations that were kept for it;
//   - events are recorded before they are waited for, ranges nest.
std::vector<std::string> broken_laws(const RankProgram& program);

}  // namespace foreshard::tests
