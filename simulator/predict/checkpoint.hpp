// What saving and loading a job's checkpoint costs: bytes, time and memory, sharded and as one full
// state dictionary. Bytes are exactly those of the tensors that `foreshard train --save` writes:
// every rank's shards without padding, and the optimizer's states of each; under hybrid sharding
// one replica's. Files add their headers to that.
//
// A sharded checkpoint is copied to staging memory of the hosts by all its writers at once
// (simulator/costs/host_copies.hpp), while it is written: it takes as long as the slowest of the
// copies, each host's way to the storage, and the storage that all hosts share. Saved
// asynchronously, training waits for the copies alone, and the host keeps the staging memory
// pinned. Each rank loads its own part.
//
// A full state dictionary is gathered unit by unit, each of its tensors by one all-gather, copied
// to rank 0's host and written by it alone once all is there; loading reads, copies and distributes
// as much.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/hardware/hardware.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::simulator {

struct ShardedCheckpointCost {
  std::int64_t bytes = 0;       // of all ranks' tensors
  std::int64_t rank_bytes = 0;  // of the rank that holds most
  int writers = 1;
  std::int64_t staging_bytes = 0;           // host memory, on one host
  std::optional<std::int64_t> blocking_ns;  // that training waits when it saves asynchronously
  std::optional<std::int64_t> write_ns, read_ns;  // nothing: not known, as the storage's bandwidth
};

struct FullCheckpointCost {
  std::int64_t device_bytes = 0;          // of the unit that is gathered, on every device
  std::int64_t host_bytes = 0;            // on rank 0's host: all of it
  std::optional<std::int64_t> gather_ns;  // with the copies to the host
  std::optional<std::int64_t> write_ns, read_ns;
};

struct CheckpointCost {
  std::string
      storage;  // by its name in the catalogue, "shared" where a bandwidth was given; or none
  ShardedCheckpointCost sharded;
  FullCheckpointCost full;
};

// Bytes of the tensors that one rank holds for a checkpoint.
std::int64_t checkpoint_bytes(const Job& job, int rank);

// `machine`: what the job runs on; nullptr: not one of the catalogue, so that no time is known.
// `shared_bandwidth`: of the storage, all hosts together, in bytes a second; 0: each host has the
// storage of the catalogue, if that has one.
CheckpointCost checkpoint_cost(const Job& job, const Machine* machine, double shared_bandwidth = 0);

// For people, of several lines.
std::string checkpoint_text(const CheckpointCost& cost);

}  // namespace foreshard::simulator
