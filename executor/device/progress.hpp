// What a rank has done so far, counted where the work is done: the watchdog (watchdog.hpp) takes a
// rank that counts nothing for long for one that hangs.
//
// Instructions count when they retire. Work that can take longer than anybody waits, a large kernel
// or the drawing of a large parameter, counts its parts as well, with `note_progress`.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace foreshard::executor {

struct Progress {
  std::uint64_t retired = 0;           // instructions, and parts of long ones
  std::uint64_t last_instruction = 0;  // tag of the last task begun

  Progress& operator+=(const Progress& other) {
    retired += other.retired;
    last_instruction = std::max(last_instruction, other.last_instruction);
    return *this;
  }
};

// Of one rank, written by its threads.
struct alignas(64) RankProgress {
  std::atomic<std::uint64_t> retired{0};
  std::atomic<std::uint64_t> last_instruction{0};

  [[gnu::always_inline]] void retire() { retired.fetch_add(1, std::memory_order_relaxed); }
  Progress now() const {
    return {retired.load(std::memory_order_relaxed),
            last_instruction.load(std::memory_order_relaxed)};
  }
};

// The rank that the calling thread works for; nullptr: none, and nothing is counted.
inline thread_local RankProgress* progress_of_this_thread = nullptr;

// Inlined everywhere, also into code for other instruction sets.
[[gnu::always_inline]] inline void note_progress() {
  if (progress_of_this_thread != nullptr) progress_of_this_thread->retire();
}

}  // namespace foreshard::executor
