// The devices that programs see: how many, how large, and what they say of themselves. Read from
// the environment once (interface.h); without it one H100 SXM of 80 GB.
#pragma once

#include <cstddef>
#include <string>

namespace foreshard::rehearsal {

// The keys of FORESHARD_REHEARSAL_DEVICE stand behind the fields.
struct Machine {
  int devices = 1;
  std::size_t memory_bytes = 85'520'809'984;
  bool is_late = false;  // infinitely far behind the host, where it is not waited for
  std::string name = "NVIDIA H100 80GB HBM3";  // name
  int capability = 90;                         // cc: compute capability, times ten
  int multiprocessors = 132;                   // sms
  int l2_bytes = 52'428'800;                   // l2
  int clock_khz = 1'980'000;                   // clock_khz
  int memory_clock_khz = 2'619'000;            // memory_clock_khz
  int bus_bits = 5'120;                        // bus_bits: of the memory
  int threads_per_multiprocessor = 2'048;      // threads_per_sm
  int blocks_per_multiprocessor = 32;          // blocks_per_sm
  int shared_per_multiprocessor = 233'472;     // shared_per_sm: bytes of shared memory
  int shared_per_block = 232'448;              // shared_per_block: bytes, with opting in
};

const Machine& machine();

// Of every GPU since compute capability 7.0 (the table of technical specifications in the CUDA C++
// Programming Guide).
inline constexpr int kSharedPerBlock = 49'152;  // without opting in
inline constexpr int kReservedShared = 1'024;   // of each block, for the system
inline constexpr int kRegisters = 65'536;
inline constexpr int kWarp = 32;
inline constexpr int kThreadsPerBlock = 1'024;

}  // namespace foreshard::rehearsal
