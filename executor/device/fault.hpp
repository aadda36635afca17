// A fault to order, for tests of what happens when a rank fails: FORESHARD_FAULT=rank:R,step:S,
// kind:throw|exit|hang.
#pragma once

#include <cstdint>
#include <string_view>

#include "executor/device/run_control.hpp"
#include "models/base/error.hpp"

namespace foreshard::executor {

struct Fault {
  enum class Kind : std::uint8_t { throws, exits, hangs };

  int rank = kNoRank;  // kNoRank: never
  std::int64_t step = 0;
  Kind kind = Kind::throws;

  // Fails if it is this rank's turn: throws std::runtime_error, ends the process without a word, or
  // never returns, whatever becomes of the run.
  void maybe_fail(int at_rank, std::int64_t at_step) const;
};

// `text` empty: no fault.
Result<Fault> parse_fault(std::string_view text);
// Reads FORESHARD_FAULT.
Result<Fault> fault_from_environment();

}  // namespace foreshard::executor
