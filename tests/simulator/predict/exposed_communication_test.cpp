// Exposed communication of a step whose copies stand in the timeline once: as of the unrolled one.
#include <gtest/gtest.h>

#include "models/program/unrolled.hpp"
#include "simulator/predict/prediction.hpp"

namespace foreshard::simulator {
namespace {

// A kernel of 40 ns and a collective that begins with it and takes `collective_ns`, four times, one every
// 100 ns; two of them are written down, two follow.
struct FourCopies {
  RankProgram program;
  RankTimeline timeline;

  explicit FourCopies(std::int64_t collective_ns) {
    program.programs.resize(1);
    program.cost_keys = {{Operator::memory_bound, DType::fp32, DType::fp32, DType::fp32, {8, 8}}};
    Program& step = program.programs[0];
    for (int copy = 0; copy < 2; ++copy) {
      const std::int64_t at = 100 * copy;
      add(step, Kind::launch, Stream::compute, {at, at, at + 40});
      add(step, Kind::collective, Stream::all_gather, {at, at, at + collective_ns});
    }
    step.repetition.more = 2;
    step.repetition.begin = 2;
    step.repetition.end = 4;
    timeline.first_span = {0, 4};
    timeline.step_end_ns = {400};
    timeline.repeated = {{2, 2, 2, 100, 100}};
  }

  void add(Program& step, Kind kind, Stream stream, const Span& span) {
    Instruction& i = step.instructions.emplace_back();
    i.kind = kind;
    i.stream = stream;
    i.cost_key = 0;
    timeline.spans.push_back(span);
  }

  std::int64_t exposed() const { return exposed_communication_ns(program, timeline, 0); }
  std::int64_t exposed_unrolled() const {
    return exposed_communication_ns(unrolled(program), unrolled(timeline, program), 0);
  }
};

// 70 - 40 in each copy.
TEST(ExposedCommunication, OfCopiesThatStandApart) {
  EXPECT_EQ(FourCopies(70).exposed(), 4 * 30);
  EXPECT_EQ(FourCopies(70).exposed_unrolled(), 4 * 30);
}

// Each collective runs on into the next copy, whose kernel hides 30 of it: what is left between kernels
// is 3 x 60 and, after the last, 130 - 40.
TEST(ExposedCommunication, OfCopiesThatOverlap) {
  EXPECT_EQ(FourCopies(130).exposed(), 3 * 60 + 90);
  EXPECT_EQ(FourCopies(130).exposed_unrolled(), 3 * 60 + 90);
}

}  // namespace
}  // namespace foreshard::simulator
