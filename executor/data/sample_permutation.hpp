// A pseudorandom order of the samples of an epoch that is computed, not stored: any place in it is known
// from the seed, the epoch and the number of samples alone, so that a run can go on anywhere.
//
// The numbers below a power of two are permuted by a Feistel network (Luby and Rackoff, 1988), whose round
// function is a hash; what falls outside of the samples goes through it again until it is inside (cycle walking,
// Black and Rogaway, 2002), which takes less than four turns on average.
#pragma once

#include <cstdint>

namespace foreshard::executor {

class SamplePermutation {
 public:
  // `samples`: at least 1.
  SamplePermutation(std::uint64_t seed, std::int64_t epoch, std::int64_t samples);

  // The sample at a place of the epoch's order, from 0 on; each of them once.
  std::int64_t sample_at(std::int64_t place) const;

 private:
  std::uint64_t permuted(std::uint64_t number) const;

  std::uint64_t key_;
  std::uint64_t samples_;
  int half_bits_ = 1;
};

}  // namespace foreshard::executor
