#include "tests/models/lowering/program_checks.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace foreshard::tests {
namespace {

// Per lane, which are the streams and then the host: how much of it is known to have happened.
using Clock = std::vector<int>;

void join(Clock& into, const Clock& other) {
  for (std::size_t l = 0; l < other.size(); ++l) into[l] = std::max(into[l], other[l]);
}

struct Access {
  int lane = -1, time = 0;
};

struct BufferState {
  bool allocated = false, freed = false;
  int recomputation = 0;  // in which it was allocated, counted from 1; 0: in none
  Access written;
  std::set<int> recorded;  // streams that defer the free
  std::vector<Access> reads;
};

class Walk {
 public:
  explicit Walk(const RankProgram& program)
      : program_(program),
        host_(static_cast<int>(program.streams.size())),
        buffers_(program.buffers.size()),
        clocks_(program.streams.size() + 1, Clock(program.streams.size() + 1)) {}

  void run(const Program& step, const std::string& name) {
    step_ = name;
    events_.clear();
    recomputation_ = 0;
    int depth = 0;
    for (index_ = 0; index_ < step.instructions.size(); ++index_) {
      const Instruction& i = step.instructions[index_];
      if (i.kind == Kind::range_begin) ++depth;
      if (begins_recomputation(i)) ++recomputation_;
      if (i.kind == Kind::range_end && --depth < 0) complain("range closed that was not open");
      instruction(step, i);
    }
    if (depth != 0) complain("range left open");
    for (const auto& [made, left] : program_.carried) {
      BufferState& state = buffers_[static_cast<std::size_t>(made)];
      if (!state.allocated || state.freed) continue;
      buffers_[static_cast<std::size_t>(left)] = std::exchange(state, {});
      carried_.insert(left);
    }
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
      if (carried_.contains(static_cast<BufferId>(b))) continue;
      if (buffers_[b].allocated && !buffers_[b].freed && !program_.buffers[b].persistent) {
        complain("buffer " + describe(static_cast<BufferId>(b)) + " outlives its step");
        buffers_[b].freed = true;
      }
    }
  }

  std::vector<std::string> complaints;

 private:
  void instruction(const Program& step, const Instruction& i) {
    const int stream = static_cast<int>(i.stream);
    switch (i.kind) {
      case Kind::alloc: {
        BufferState& b = buffers_[static_cast<std::size_t>(i.target)];
        if (b.allocated && !b.freed) complain("allocated twice: " + describe(i.target));
        b = {};
        b.allocated = true;
        b.recomputation = i.phase == Phase::recompute ? recomputation_ : 0;
        // Memory may have been used on its pool's stream until now: users must come after that.
        if (!program_.buffers[static_cast<std::size_t>(i.target)].on_host) {
          b.written = {stream,
                       clocks_[static_cast<std::size_t>(stream)][static_cast<std::size_t>(stream)]};
        }
        break;
      }
      case Kind::free: {
        BufferState& b = buffers_[static_cast<std::size_t>(i.target)];
        if (!b.allocated || b.freed) complain("freed without being alive: " + describe(i.target));
        b.freed = true;
        const bool on_host = program_.buffers[static_cast<std::size_t>(i.target)].on_host;
        Clock seen = on_host ? clocks_[static_cast<std::size_t>(host_)] : after_issue(stream);
        for (const int named : b.recorded) join(seen, after_issue(named));
        for (const Access& a : b.reads) expect_seen(seen, a, i.target, "freed before a read");
        expect_seen(seen, b.written, i.target, "freed before a write");
        break;
      }
      case Kind::launch:
      case Kind::copy:
      case Kind::collective: use(step, i, stream); break;
      case Kind::host_compute: use(step, i, host_); break;
      case Kind::record_stream:
        if (BufferState* b = alive(i.target)) b->recorded.insert(stream);
        break;
      case Kind::record_event: events_[i.target] = after_issue(stream); break;
      case Kind::wait_event:
        if (!events_.contains(i.target)) complain("waits for an event never recorded");
        join(clocks_[static_cast<std::size_t>(stream)], events_[i.target]);
        break;
      case Kind::host_wait:
        if (!events_.contains(i.target)) complain("host waits for an event never recorded");
        join(clocks_[static_cast<std::size_t>(host_)], events_[i.target]);
        break;
      default: break;
    }
  }

  bool begins_recomputation(const Instruction& i) const {
    return i.kind == Kind::range_begin && i.phase == Phase::recompute &&
           program_.name(i.target) == "recompute";
  }

  // What a stream's next task comes after: its own past and what the host knew when it issued it.
  const Clock& after_issue(int stream) {
    join(clocks_[static_cast<std::size_t>(stream)], clocks_[static_cast<std::size_t>(host_)]);
    return clocks_[static_cast<std::size_t>(stream)];
  }

  void use(const Program& step, const Instruction& i, int lane) {
    if (lane != host_) after_issue(lane);
    Clock& clock = clocks_[static_cast<std::size_t>(lane)];
    const int now = ++clock[static_cast<std::size_t>(lane)];
    for (const auto operands : {step.reads(i), step.writes(i)}) {
      for (const BufferId id : operands) {
        if (lane == host_ && !program_.buffers[static_cast<std::size_t>(id)].on_host) {
          complain("the host touches memory of the device: " + describe(id));
        }
      }
    }
    for (const BufferId id : step.reads(i)) {
      if (BufferState* b = alive(id)) {
        expect_seen(clock, b->written, id, "read before it was written");
        b->reads.push_back({lane, now});
      }
    }
    for (const BufferId id : step.writes(i)) {
      if (BufferState* b = alive(id)) {
        const bool was_kept =
            i.phase == Phase::recompute && b->recomputation != recomputation_ &&
            program_.buffers[static_cast<std::size_t>(id)].category == Category::activations;
        if (was_kept) complain("kept for backward but written in a recomputation: " + describe(id));
        expect_seen(clock, b->written, id, "written before an earlier write");
        for (const Access& a : b->reads) expect_seen(clock, a, id, "written before a read");
        b->reads.clear();
        b->written = {lane, now};
      }
    }
  }

  BufferState* alive(BufferId id) {
    BufferState& b = buffers_[static_cast<std::size_t>(id)];
    if (program_.buffers[static_cast<std::size_t>(id)].bytes == 0) return nullptr;
    if (!b.allocated || b.freed) complain("used without being alive: " + describe(id));
    return &b;
  }

  void expect_seen(const Clock& clock, const Access& access, BufferId id, const char* what) {
    if (access.lane >= 0 && clock[static_cast<std::size_t>(access.lane)] < access.time) {
      complain(std::string(what) + ": " + describe(id));
    }
  }

  std::string describe(BufferId id) const {
    const Buffer& b = program_.buffers[static_cast<std::size_t>(id)];
    return std::to_string(id) + " (" + program_.name(b.role) + " of " + program_.name(b.owner) +
           ")";
  }

  void complain(const std::string& what) {
    if (complaints.size() < 20)
      complaints.push_back(step_ + " " + std::to_string(index_) + ": " + what);
  }

  const RankProgram& program_;
  const int host_;  // lane of the host
  std::vector<BufferState> buffers_;
  std::vector<Clock> clocks_;
  std::set<BufferId> carried_;  // for the next step to free
  std::map<EventId, Clock> events_;
  std::string step_;
  std::size_t index_ = 0;
  int recomputation_ = 0;  // the last one that began in this step
};

}  // namespace

std::vector<std::string> broken_laws(const RankProgram& program) {
  Walk walk(program);
  // All that differ, then once more those that repeat.
  const auto steady = static_cast<std::int64_t>(program.steady_begin());
  for (std::int64_t step = 0; step < steady + 2 * program.cycle; ++step) {
    const std::string name = program_name(program, program.number_of(step));
    walk.run(program.step(step), step < steady + program.cycle ? name : name + " again");
  }
  for (std::size_t n = program.programs.size() - program.closing; n < program.programs.size();
       ++n) {
    walk.run(program.programs[n], program_name(program, n));
  }
  return walk.complaints;
}

}  // namespace foreshard::tests
