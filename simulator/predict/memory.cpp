#include "simulator/predict/memory.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

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
  // `settles`: pools that only repeat are walked no further.
  MemoryWalk(const RankProgram& program, const AllocatorRules& rules, const MemoryOptions& options,
             bool settles)
      : program_(program),
        rules_(rules),
        options_(options),
        settles_(settles && program.device.kind != DeviceKind::xla),
        is_planned_(program.device.kind == DeviceKind::xla),
        segments_(is_planned_ ? VirtualSegments::kUnlimited
                              : options.capacity.value_or(VirtualSegments::kUnlimited)),
        allocator_(is_planned_ ? AllocatorRules() : rules,
                   is_planned_ ? std::nullopt : memory_limit(rules, options.capacity), segments_),
        progress_(program.streams.size(), options.gpu_timing),
        blocks_(program.buffers.size(), kNoBlock) {
    allocator_.set_stream_events(&progress_);
    if (options.keeps_records) allocator_.set_listener(this);
    if (options.lists_peak) peak_.emplace(allocator_, program.streams.size());
  }

  RankMemory run() {
    const auto closing = static_cast<std::int64_t>(program_.closing);
    const std::int64_t last = options_.stop ? options_.stop->step : options_.steps + closing;
    for (step_ = 0; step_ <= last && !result_.failure; ++step_) {
      allocator_.reset_peaks();
      run_step(program_.programs[program_.number_of(step_, options_.steps)]);
      for (const auto& [made, left] : program_.carried) {
        if (blocks_[static_cast<std::size_t>(made)] != kNoBlock) hand_over(made, left, 1);
      }
      note_peak();
      result_.run.include(statistics());
      if (step_ > 0 && step_ <= options_.steps) result_.steps.emplace_back().include(statistics());
      if (peak_) peak_->end_step();
    }
    forget_growth_of_last_step();
    if (options_.keeps_records && !is_planned_) result_.end = allocator_.segments();
    if (peak_) result_.at_peak = peak_->take();
    return std::move(result_);
  }

  // Whether a pool gave segments back, or memory ran out, while others were not walked.
  bool has_erred() const { return has_erred_; }

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
    settled_.clear();
    find_changed_buffers(step);
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
      if (made == r.first_buffer) {
        hand_over(made, made - r.buffers(), r.buffers());
      } else if (!settled_.empty()) {
        move_blocks(made, r.first_buffer, r.buffers(), true);
      }
      skipped_ = copy * r.length();
      const std::int64_t released = segments_released_;
      walk(step, r.begin, r.end);
      has_erred_ |= !settled_.empty() && (result_.failure || segments_released_ != released);
      made = r.first_buffer;
    }
    settled_.clear();
    if (made != r.first_buffer) hand_over(made, r.first_buffer, r.buffers());
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
    CopyMemory now{std::move(*cache), held_blocks(r, made), segments_taken_, segments_released_,
                   host_};
    if (settles_ && !records_streams_) settle(now);
    return found_.period(std::move(now));
  }

  // Which pools are to be walked no further.
  void settle(const CopyMemory& now) {
    const CopyMemory* const before = found_.last();
    if (before == nullptr || before->segments_released != now.segments_released) return;
    settled_ = pools_alike(*before, now, 2 * program_.streams.size());
  }

  // As the allocator counts its pools.
  std::int32_t pool_of(const Buffer& buffer) const {
    const bool is_small = AllocatorRules::is_small(rules_.round_size(buffer.bytes));
    return 2 * static_cast<std::int32_t>(buffer.pool) + (is_small ? 1 : 0);
  }
  bool is_settled(BufferId id) const {
    const Buffer& buffer = program_.buffers[static_cast<std::size_t>(id)];
    return !buffer.on_host && settled_[static_cast<std::size_t>(pool_of(buffer))];
  }

  std::vector<HeldBlock> held_blocks(const Repetition& r, BufferId made) const {
    std::vector<HeldBlock> held;
    const auto add = [&](BufferId place, BufferId buffer) {
      const BlockId block = blocks_[static_cast<std::size_t>(buffer)];
      if (block == kNoBlock) return;
      held.push_back({place, allocator_.address(block), allocator_.bytes(block),
                      pool_of(program_.buffers[static_cast<std::size_t>(buffer)])});
    };
    for (const BufferId buffer : shared_) add(-1 - buffer, buffer);
    if (made == kNone) {
      for (const auto& [place, buffer] : first_) add(place, buffer);
    } else {
      for (BufferId n = 0; n < r.buffers(); ++n) add(n, made + n);
    }
    std::stable_sort(held.begin(), held.end(),
                     [](const HeldBlock& a, const HeldBlock& b) { return a.pool < b.pool; });
    return held;
  }

  // What a copy allocates or frees of others' buffers: those that are the same in every copy, and, in
  // the place of what the copy before makes, those that the first copy finds there.
  void find_changed_buffers(const Program& step) {
    const Repetition& r = step.repetition;
    const BufferId first_made = r.first_buffer - r.buffers();
    shared_.clear();
    first_.clear();
    records_streams_ = false;
    for (std::int32_t n = r.begin; n < r.end; ++n) {
      const Instruction& i = step.instructions[static_cast<std::size_t>(n)];
      records_streams_ |= i.kind == Kind::record_stream || i.kind == Kind::empty_cache;
      if (i.kind != Kind::alloc && i.kind != Kind::free) continue;
      if (i.target < first_made) {
        shared_.push_back(i.target);
      } else if (i.target < r.first_buffer) {
        const auto in_first = static_cast<std::size_t>(n - r.length());
        first_.emplace_back(i.target - first_made, step.instructions[in_first].target);
      }
    }
    std::sort(first_.begin(), first_.end());
    first_.erase(std::unique(first_.begin(), first_.end()), first_.end());
  }

  // What one copy made stands where the next one, or what follows, finds it; in settled pools it stays.
  void hand_over(BufferId from, BufferId to, BufferId count) {
    if (!settled_.empty()) return move_blocks(from, to, count, false);
    const auto made = blocks_.begin() + from;
    std::copy(made, made + count, blocks_.begin() + to);
    std::fill(made, made + count, kNoBlock);
  }
  void move_blocks(BufferId from, BufferId to, BufferId count, bool settled) {
    for (BufferId n = 0; n < count; ++n) {
      if (is_settled(from + n) != settled) continue;
      BlockId& block = blocks_[static_cast<std::size_t>(from + n)];
      blocks_[static_cast<std::size_t>(to + n)] = std::exchange(block, kNoBlock);
    }
  }

  // Instructions [begin, end) of the program as it is written down.
  void walk(const Program& step, std::int32_t begin, std::int32_t end) {
    if (result_.failure) return;
    const bool some_settled = !settled_.empty();
    end = std::min(end, end_ - skipped_);
    for (std::int32_t number = begin; number < end; ++number) {
      instruction_ = number + skipped_;
      const Instruction& i = step.instructions[static_cast<std::size_t>(number)];
      switch (i.kind) {
        case Kind::alloc:
          if (some_settled && is_settled(i.target)) break;
          if (!allocate(i)) return;
          note_delay();
          break;
        case Kind::free:
          if (!some_settled || !is_settled(i.target)) free(i);
          break;
        case Kind::record_stream:
          allocator_.record_stream(blocks_[static_cast<std::size_t>(i.target)],
                                   static_cast<int>(i.stream));
          break;
        case Kind::empty_cache:
          allocator_.empty_cache();
          note_delay();
          break;
        case Kind::record_event: progress_.record(i.target, i.stream); break;
        case Kind::wait_event: progress_.wait(i.stream, i.target); break;
        case Kind::host_wait: progress_.host_wait(i.target); break;
        default: break;
      }
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
    if (peak_ && allocation->block != kNoBlock) peak_->allocated(i, buffer, *allocation);
    if (is_planned_ && options_.capacity &&
        allocator_.statistics().allocated > *options_.capacity) {
      const std::int64_t before = allocator_.statistics().allocated - allocation->bytes;
      result_.failure = {step_, instruction_, buffer.bytes, before, before};
      return false;
    }
    by_category_[static_cast<std::size_t>(buffer.category)] += allocation->bytes;
    const std::int64_t allocated = allocator_.statistics().allocated;
    if (allocated > highest_) {
      highest_ = allocated;
      highest_request_ = &i;
      result_.peak.instruction = instruction_;
      if (peak_) peak_->note_peak();
    }
    return true;
  }

  // Of requests that follow one another only the last can be the peak: what it consists of is noted
  // before it ends.
  void note_peak() {
    if (highest_request_ == nullptr) return;
    result_.peak.step = step_;
    result_.peak.phase = highest_request_->phase;
    result_.peak.unit = highest_request_->unit;
    result_.peak.by_category = by_category_;
    highest_request_ = nullptr;
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
    note_peak();
    by_category_[static_cast<std::size_t>(buffer.category)] -= allocator_.bytes(block);
    if (peak_) peak_->freed(block);
    allocator_.free(block);
    block = kNoBlock;
  }

  // A plan made ahead holds what lives, and nothing in reserve.
  AllocatorStatistics statistics() const {
    AllocatorStatistics now = allocator_.statistics();
    if (is_planned_) now.peak_reserved = now.peak_active = now.peak_allocated;
    return now;
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

  // Where segments are released, the step after takes them again.
  void forget_growth_of_last_step() {
    const auto is_of_last = [this](const HostDelay& delay) { return delay.step == options_.steps; };
    const bool recurs = result_.failure || std::any_of(result_.delays.begin(), result_.delays.end(),
                                                       [&](const HostDelay& delay) {
                                                         return is_of_last(delay) && delay.drains;
                                                       });
    if (!recurs) std::erase_if(result_.delays, is_of_last);
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
  const AllocatorRules& rules_;
  const MemoryOptions& options_;
  const bool settles_;
  const bool is_planned_;  // by a compiler, ahead of the run
  VirtualSegments segments_;
  CachingAllocator allocator_;
  StreamProgress progress_;
  std::vector<BlockId> blocks_;                       // by BufferId
  FoundMemories found_;                               // by the copies of a repetition
  std::vector<BufferId> shared_;                      // by them
  std::vector<std::pair<BufferId, BufferId>> first_;  // place among what a copy makes, and buffer
  std::vector<bool> settled_;     // by pool, in a repetition: it only repeats; empty: none does
  bool records_streams_ = false;  // its copies do, or they empty the cache
  bool has_erred_ = false;
  std::optional<PeakRecorder> peak_;
  RankMemory result_;
  std::array<std::int64_t, static_cast<std::size_t>(kCategories)> by_category_{};
  const Instruction* highest_request_ = nullptr;  // that reached the peak, while it lasts
  std::int64_t step_ = 0, host_ = 0, highest_ = 0;
  std::int64_t segments_taken_ = 0, segments_released_ = 0;
  std::int32_t instruction_ = 0;
  std::int32_t end_ = 0;      // instructions of the step that are walked at most
  std::int32_t skipped_ = 0;  // what the number of an instruction has to what is written down
};

}  // namespace

RankMemory simulate_memory(const RankProgram& program, const AllocatorRules& rules,
                           const MemoryOptions& options) {
  MemoryWalk walk(program, rules, options, true);
  RankMemory memory = walk.run();
  return walk.has_erred() ? MemoryWalk(program, rules, options, false).run() : memory;
}

bool walks_alike(const RankMemory& memory, const AllocatorRules& rules,
                 const MemoryOptions& options, const MemoryOptions& other) {
  const bool is_asked_alike =
      options.steps == other.steps && options.keeps_records == other.keeps_records &&
      options.lists_peak == other.lists_peak && options.gpu_timing == other.gpu_timing &&
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
