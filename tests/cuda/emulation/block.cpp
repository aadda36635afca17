#include "tests/cuda/emulation/block.hpp"

#include <algorithm>
#include <atomic>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include <ucontext.h>

thread_local uint3 threadIdx, blockIdx;
thread_local dim3 blockDim, gridDim;

namespace foreshard::emulation {
namespace {

constexpr std::size_t kStack = 128 << 10;
constexpr int kWarp = 32;

std::atomic<bool> is_reversed = std::getenv("FORESHARD_EMULATION_REVERSED") != nullptr;

enum class State { ready, waits_for_block, waits_for_warp, ended };

struct Fiber {
  std::unique_ptr<std::byte[]> stack = std::make_unique<std::byte[]>(kStack);
  ucontext_t beginning{};
  jmp_buf place{};  // where it waits, once it has begun
  bool has_begun = false;
  State state = State::ready;
};

// The fibers of this host thread's blocks, used again and again: one that has ended begins the next block's
// thread where it waits. They switch by setjmp and longjmp, which call nothing of the system.
class Scheduler {
 public:
  void run_block(int threads, const std::function<void()>& kernel) {
    kernel_ = &kernel;
    count_ = threads;
    while (fibers_.size() < static_cast<std::size_t>(threads)) {
      fibers_.push_back(std::make_unique<Fiber>());
    }
    slots_.resize(static_cast<std::size_t>(threads + kWarp) * 16);
    for (int i = 0; i < threads; ++i) prepare(i);
    while (run_ready()) release();
  }

  int lane() const { return current_ % kWarp; }
  std::byte* slot(int lane) {
    return slots_.data() + static_cast<std::size_t>(current_ / kWarp * kWarp + lane) * 16;
  }
  void wait(State state) {
    Fiber& me = fiber(current_);
    me.state = state;
    if (_setjmp(me.place) == 0) _longjmp(caller_, 1);
  }

 private:
  Fiber& fiber(int i) { return *fibers_[static_cast<std::size_t>(i)]; }

  void prepare(int number) {
    Fiber& f = fiber(number);
    f.state = State::ready;
    if (f.has_begun) return;
    getcontext(&f.beginning);
    f.beginning.uc_stack.ss_sp = f.stack.get();
    f.beginning.uc_stack.ss_size = kStack;
    f.beginning.uc_link = nullptr;
    makecontext(&f.beginning, &Scheduler::enter, 0);
  }

  // Returns when the fiber waits.
  void resume(Fiber& f) {
    if (_setjmp(caller_) != 0) return;
    if (f.has_begun) _longjmp(f.place, 1);
    f.has_begun = true;
    setcontext(&f.beginning);
  }

  static void enter();

  // Runs every fiber that can; false when all have ended.
  bool run_ready() {
    const bool reversed = is_reversed;
    bool any = false;
    for (int i = 0; i < count_; ++i) {
      current_ = reversed ? count_ - 1 - i : i;
      Fiber& f = fiber(current_);
      if (f.state == State::ready) {
        const auto n = static_cast<unsigned>(current_);
        threadIdx = {n % blockDim.x, n / blockDim.x % blockDim.y, n / (blockDim.x * blockDim.y)};
        resume(f);
      }
      any = any || f.state != State::ended;
    }
    return any;
  }

  // Lets those go on for whom everybody has come.
  void release() {
    bool released = false;
    for (int warp = 0; warp < count_; warp += kWarp) {
      released |= release(warp, std::min(warp + kWarp, count_), State::waits_for_warp);
    }
    if (!released) released = release(0, count_, State::waits_for_block);
    if (released) return;
    std::fputs("a kernel's threads wait for each other at different places\n", stderr);
    std::abort();
  }
  bool release(int begin, int end, State state) {
    bool any = false;
    for (int i = begin; i < end; ++i) {
      if (fiber(i).state == State::ended) continue;
      if (fiber(i).state != state) return false;
      any = true;
    }
    for (int i = begin; any && i < end; ++i) {
      if (fiber(i).state == state) fiber(i).state = State::ready;
    }
    return any;
  }

  const std::function<void()>* kernel_ = nullptr;
  int count_ = 0, current_ = 0;
  jmp_buf caller_{};
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<std::byte> slots_;
};

// Not inlined: a fiber may not keep the address of a thread's variable, but it never changes thread.
Scheduler& scheduler() {
  thread_local Scheduler instance;
  return instance;
}

void Scheduler::enter() {
  for (Scheduler& mine = scheduler();;) {
    (*mine.kernel_)();
    mine.wait(State::ended);
  }
}

}  // namespace

int lane_of_this_thread() {
  return scheduler().lane();
}

void reverse_threads(bool reversed) {
  is_reversed = reversed;
}

void run_grid(dim3 grid, dim3 block, const std::function<void()>& kernel) {
  gridDim = grid;
  blockDim = block;
  const auto threads = static_cast<int>(block.x * block.y * block.z);
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        blockIdx = {x, y, z};
        scheduler().run_block(threads, kernel);
      }
    }
  }
}

void wait_for_block() {
  scheduler().wait(State::waits_for_block);
}

void wait_for_warp() {
  scheduler().wait(State::waits_for_warp);
}

std::byte* warp_slot(int lane) {
  return scheduler().slot(lane);
}

}  // namespace foreshard::emulation
