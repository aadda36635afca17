// How far a device's streams have come, as far as the host can tell: when frees that record_stream defers
// are completed. It is the one thing about memory that depends on timing, so that two bounds of it are
// kept: every event is reached as soon as it is recorded (ready), or only once the host has waited for
// it, or for something that comes after it (late).
#pragma once

#include <cstdint>
#include <vector>

#include "models/allocator/allocator_types.hpp"
#include "models/plan/pytorch_plan.hpp"
#include "models/program/step_program.hpp"

namespace foreshard::simulator {

class StreamProgress final : public StreamEvents {
 public:
  StreamProgress(std::size_t streams, GpuTiming timing);

  // Events of a program, which are counted anew in each.
  void begin_program(const Program& program);
  void record(EventId event, Stream stream);
  void wait(Stream stream, EventId event);
  void host_wait(EventId event);

  // Events of the allocator.
  std::int64_t record(int stream) override;
  bool is_done(std::int64_t event) override;
  void wait(std::int64_t event) override;

 private:
  // By stream: up to where it has come.
  using Clock = std::vector<std::int64_t>;
  Clock& at(Stream stream) { return streams_[static_cast<std::size_t>(stream)]; }
  const Clock& mark(std::size_t stream);

  const bool is_late_;
  std::vector<Clock> streams_;  // what each stream's next task comes after
  Clock host_;                  // what the host has waited for
  std::vector<Clock> events_;   // of the program
  struct Mark {
    std::size_t stream;
    Clock clock;
  };
  std::vector<Mark> marks_;  // of the allocator
};

}  // namespace foreshard::simulator
