#include "simulator/predict/memory.hpp"

#include <algorithm>
#include <limits>

#include "models/allocator/virtual_segments.hpp"
#include "simulator/predict/copy_memory.hpp"
#include "simulator/predict/stream_progress.hpp"

namespace foreshard::simulator {
namespace {

bool is_of_segment(AllocatorEvent::Action action) {
  using enum AllocatorEvent::Action;
  return action == segment_alloc || action == segment_free || action == segment_map ||
         action == segment_unmap;
}

class MemoryWalk final : private AllocatorListener {
 public:
  MemoryWalk(const RankProgram& program, const AllocatorRules& rules, const MemoryOptions& options)
      : program_(program),
        options_(options),
        is_planned_(program.device.kind == DeviceKind::xla),
        segments_(is_planned_ ? VirtualSegments::kUnlimited
                              : options.capacity.value_or(VirtualSegments::kUnlimited)),
        allocator_(is_planned_ ? AllocatorRules() : rules,
                   is_planned_ ? std::nullopt : memory_limit(rules, options.capacity), segments_),
        progress_(program.streams.size(), options.gpu_timing),
        blocks_(program.buffers.size(), kNoBlock) {
    allocator_.set_stream_events(&progress_);
    if (options.keeps_records) allocator_.set_listener(this);
    if (options.lists_alive) allocated_in_.resize(program.buffers.size());
  }

  RankMemory run() {
    const auto closing = static_cast<std::int64_t>(program_.closing);
    const std::int64_t last = options_.stop ? options_.stop->step : options_.steps + closing;
    for (step_ = 0; step_ <= last && !result_.failure; ++step_) {
      allocator_.reset_peaks();
      run_step(program_.programs[program_.number_of(step_, options_.steps)]);
      result_.run.include(statistics());
      if (step_ > 0 && step_ <= options_.steps) result_.steps.emplace_back().include(statistics());
    }
    const bool keeps_end = options_.keeps_records || options_.lists_alive;
    if (keeps_end && !is_planned_) result_.end = allocator_.segments();
    if (options_.lists_alive) list_alive();
    return std::move(result_);
  }

 private:
  void run_step(const Program& step) {
    const bool stops = options_.stop && options_.stop->step == step_;
    end_ = stops ? options_.stop->instruction + 1 : std::numeric_limits<std::int32_t>::max();
    skipped_ = 0;
    progress_.begin_program(step);
    const auto count = static_cast<std::int32_t>(step.instructions.size());
    const Repetition& repetition = step.repetition;
    if (repetition.more == 0) return walk(step, 0, count);
    walk(step, 0, repetition.begin - repetition.length());
    run_repetition(step);
    walk(step, repetition.end, count);
  }

  // The two copies that are written down and those that follow, of which whole periods are skipped.
  void run_repetition(const Program& step) {
    const Repetition& r = step.repetition;
    found_.forget();
    find_shared_buffers(step);
    BufferId made = kNone;  // by the copy before
    period(r, made);
    walk(step, r.begin - r.length(), r.begin);
    made = r.first_buffer - r.buffers();
    for (std::int32_t copy = 0; copy <= r.more && !result_.failure; ++copy) {
      if (r.begin + copy * r.length() >= end_) break;
      if (const std::int32_t copies = period(r, made)) {
        copy += (r.more + 1 - copy) / copies * copies;
        if (copy > r.more) break;
      }
      if (made == r.first_buffer) hand_over(r);
      skipped_ = copy * r.length();
      walk(step, r.begin, r.end);
      made = r.first_buffer;
    }
    skipped_ = r.more * r.length();
  }

  // 0 also where copies must be walked whatever they find.
  std::int32_t period(const Repetition& r, BufferId made) {
    const bool stops_before_last = end_ < r.end + r.more * r.length();
    auto cache = options_.keeps_records || stops_before_last ? std::nullopt : allocator_.cache();
    if (!cache) {
      found_.forget();
      return 0;
    }
    return found_.period(
        {std::move(*cache), held_blocks(r, made), segments_taken_, segments_released_, host_});
  }

  std::vector<HeldBlock> held_blocks(const Repetition& r, BufferId made) const {
    std::vector<HeldBlock> held;
    const auto add = [&](BufferId place, BufferId buffer) {
      const BlockId block = blocks_[static_cast<std::size_t>(buffer)];
      if (block == kNoBlock) return;
      held.push_back({place, allocator_.address(block), allocator_.bytes(block)});
    };
    for (const BufferId buffer : shared_) add(-1 - buffer, buffer);
    for (BufferId n = 0; made != kNone && n < r.buffers(); ++n) add(n, made + n);
    return held;
  }

  // Those that a copy allocates or frees, but none makes.
  void find_shared_buffers(const Program& step) {
    const Repetition& r = step.repetition;
    shared_.clear();
    for (std::int32_t n = r.begin; n < r.end; ++n) {
      const Instruction& i = step.instructions[static_cast<std::size_t>(n)];
      const bool changes = i.kind == Kind::alloc || i.kind == Kind::free;
      if (changes && i.target < r.first_buffer - r.buffers()) shared_.push_back(i.target);
    }
  }

  // What the copy before made is what the next one finds in its place.
  void hand_over(const Repetition& r) {
    const auto made = blocks_.begin() + r.first_buffer;
    std::copy(made, made + r.buffers(), made - r.buffers());
    if (options_.lists_alive) {
      const auto phases = allocated_in_.begin() + r.first_buffer;
      std::copy(phases, phases + r.buffers(), phases - r.buffers());
    }
    std::fill(made, made + r.buffers(), kNoBlock);
  }

  // Instructions [begin, end) of the program as it is written down.
  void walk(const Program& step, std::int32_t begin, std::int32_t end) {
    if (result_.failure) return;
    end = std::min(end, end_ - skipped_);
    for (std::int32_t number = begin; number < end; ++number) {
      instruction_ = number + skipped_;
      const Instruction& i = step.instructions[static_cast<std::size_t>(number)];
      switch (i.kind) {
        case Kind::alloc:
          if (!allocate(i)) return;
          break;
        case Kind::free: free(i); break;
        case Kind::record_stream:
          allocator_.record_stream(blocks_[static_cast<std::size_t>(i.target)],
                                   static_cast<int>(i.stream));
          break;
        case Kind::empty_cache: allocator_.empty_cache(); break;
        case Kind::record_event: progress_.record(i.target, i.stream); continue;
        case Kind::wait_event: progress_.wait(i.stream, i.target); continue;
        case Kind::host_wait: progress_.host_wait(i.target); continue;
        default: continue;
      }
      note_delay();
    }
  }

  bool allocate(const Instruction& i) {
    const Buffer& buffer = program_.buffers[static_cast<std::size_t>(i.target)];
    if (buffer.on_host) {
      host_ += round_up(buffer.bytes, kHostAlignment);
      result_.peak_host = std::max(result_.peak_host, host_);
      record_host(AllocatorEvent::Action::alloc, buffer.bytes);
      return true;
    }
    const auto allocation = allocator_.allocate(buffer.bytes, static_cast<int>(buffer.pool));
    if (!allocation) {
      const OutOfMemory& oom = allocation.error();
      result_.failure = {step_, instruction_, oom.requested, oom.allocated, oom.reserved};
      return false;
    }
    blocks_[static_cast<std::size_t>(i.target)] = allocation->block;
    if (is_planned_ && options_.capacity &&
        allocator_.statistics().allocated > *options_.capacity) {
      const std::int64_t before = allocator_.statistics().allocated - allocation->bytes;
      result_.failure = {step_, instruction_, buffer.bytes, before, before};
      return false;
    }
    if (options_.lists_alive) allocated_in_[static_cast<std::size_t>(i.target)] = i.phase;
    by_category_[static_cast<std::size_t>(buffer.category)] += allocation->bytes;
    const std::int64_t allocated = allocator_.statistics().allocated;
    if (allocated > highest_) {
      highest_ = allocated;
      result_.peak = {step_, instruction_, i.phase, i.unit, by_category_};
    }
    return true;
  }

  void free(const Instruction& i) {
    const Buffer& buffer = program_.buffers[static_cast<std::size_t>(i.target)];
    if (buffer.on_host) {
      host_ -= round_up(buffer.bytes, kHostAlignment);
      record_host(AllocatorEvent::Action::free_requested, buffer.bytes);
      return;
    }
    BlockId& block = blocks_[static_cast<std::size_t>(i.target)];
    if (block == kNoBlock) return;
    by_category_[static_cast<std::size_t>(buffer.category)] -= allocator_.bytes(block);
    allocator_.free(block);
    block = kNoBlock;
  }

  // A plan made ahead holds what lives, and nothing in reserve.
  AllocatorStatistics statistics() const {
    AllocatorStatistics now = allocator_.statistics();
    if (is_planned_) now.peak_reserved = now.peak_active = now.peak_allocated;
    return now;
  }

  void list_alive() {
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      if (blocks_[b] == kNoBlock) continue;
      result_.alive.push_back(
          {static_cast<BufferId>(b), allocator_.bytes(blocks_[b]), allocated_in_[b]});
    }
  }

  // New segments and released ones cost the host time; a release waits for the device.
  void note_delay() {
    if (is_planned_) return;
    const AllocatorStatistics& now = allocator_.statistics();
    const std::int64_t taken = now.segments_allocated - segments_taken_;
    const std::int64_t released = now.segments_released - segments_released_;
    if (taken == 0 && released == 0) return;
    segments_taken_ = now.segments_allocated;
    segments_released_ = now.segments_released;
    result_.delays.push_back(
        {static_cast<std::int32_t>(step_), instruction_,
         taken * options_.segment_alloc_ns + released * options_.segment_free_ns, released > 0});
  }

  void on_event(const AllocatorEvent& event) override {
    if (is_planned_ && is_of_segment(event.action)) return;
    result_.records.push_back({static_cast<std::int32_t>(step_), instruction_, false, event});
  }

  void record_host(AllocatorEvent::Action action, std::int64_t bytes) {
    if (!options_.keeps_records) return;
    AllocatorEvent event;
    event.action = action;
    event.bytes = round_up(bytes, kHostAlignment);
    event.requested = bytes;
    result_.records.push_back({static_cast<std::int32_t>(step_), instruction_, true, event});
  }

  const RankProgram& program_;
  const MemoryOptions& options_;
  const bool is_planned_;  // by a compiler, ahead of the run
  VirtualSegments segments_;
  CachingAllocator allocator_;
  StreamProgress progress_;
  std::vector<BlockId> blocks_;      // by BufferId
  std::vector<Phase> allocated_in_;  // likewise
  FoundMemories found_;              // by the copies of a repetition
  std::vector<BufferId> shared_;     // by them
  RankMemory result_;
  std::array<std::int64_t, static_cast<std::size_t>(kCategories)> by_category_{};
  std::int64_t step_ = 0, host_ = 0, highest_ = 0;
  std::int64_t segments_taken_ = 0, segments_released_ = 0;
  std::int32_t instruction_ = 0;
  std::int32_t end_ = 0;      // instructions of the step that are walked at most
  std::int32_t skipped_ = 0;  // what the number of an instruction has to what is written down
};

}  // namespace

RankMemory simulate_memory(const RankProgram& program, const AllocatorRules& rules,
                           const MemoryOptions& options) {
  return MemoryWalk(program, rules, options).run();
}

bool walks_alike(const RankMemory& memory, const AllocatorRules& rules,
                 const MemoryOptions& options, const MemoryOptions& other) {
  const bool is_asked_alike =
      options.steps == other.steps && options.keeps_records == other.keeps_records &&
      options.lists_alive == other.lists_alive && options.gpu_timing == other.gpu_timing &&
      options.segment_alloc_ns == other.segment_alloc_ns &&
      options.segment_free_ns == other.segment_free_ns;
  if (!is_asked_alike || memory.failure || options.stop || other.stop) return false;
  if (options.capacity == other.capacity) return true;
  if (memory_limit(rules, options.capacity) || memory_limit(rules, other.capacity)) return false;
  // A range of addresses has room for more than its device holds, unless parts of it are given back.
  const bool has_released = std::any_of(memory.delays.begin(), memory.delays.end(),
                                        [](const HostDelay& delay) { return delay.drains; });
  if (rules.expandable_segments && has_released) return false;
  const std::int64_t limit = options.capacity.value_or(VirtualSegments::kUnlimited);
  const std::int64_t lower = other.capacity.value_or(VirtualSegments::kUnlimited);
  return lower <= limit && memory.run.reserved <= lower;
}

}  // namespace foreshard::simulator
