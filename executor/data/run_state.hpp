// What a training run is: the question that it answers (model, plan, ranks), the tokens it reads, its
// seed and schedule, and how far it has come. A checkpoint stores it; a run that goes on from one, and
// the processes of one run, are compared by it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/base/error.hpp"

namespace foreshard::executor {

// Tells token files apart by their content, wherever they lie and whatever their format.
struct DataIdentity {
  std::string path;               // absolute; empty: the shipped text
  std::int64_t tokens = 0;        // 0: not known, in checkpoints of before it was stored
  std::uint64_t fingerprint = 0;  // of tokens at the beginning, at the end and in between
  std::string type;               // "uint16" or "uint32", where the file does not say it itself

  bool has_same_tokens(const DataIdentity& other) const {
    return tokens == other.tokens && fingerprint == other.fingerprint;
  }
};

struct RunState {
  std::int64_t step = 0;         // the last one completed
  std::int64_t skipped = 0;      // of its steps those that updated nothing, for not being finite
  std::int64_t total_steps = 0;  // the schedule's length
  std::uint64_t seed = 0;        // of the first weights, and of the order of shuffled samples
  bool is_shuffled = false;      // each epoch in an order of its own
  std::int64_t samples = 0;      // read by all ranks together so far, of the plan's sequence
  int ranks = 1;
  int nodes = 0;
  DataIdentity data;
  std::string plan;   // TOML, every key written out
  std::string model;  // config.json

  std::optional<std::uint64_t> shuffle_seed() const {
    return is_shuffled ? std::optional(seed) : std::nullopt;
  }
};

struct RunDifference {
  std::string name;  // "optimizer.lr", "seed", ...
  std::string before, now;

  std::string text() const { return name + " " + before + " -> " + now; }
};

// In what one run is asked otherwise than another of the same model, wherever either of them stands.
// An error where the earlier one's plan cannot be read; `file`: where it is stored.
Result<std::vector<RunDifference>> differences(const RunState& before, const RunState& now,
                                               const std::string& file);

}  // namespace foreshard::executor
