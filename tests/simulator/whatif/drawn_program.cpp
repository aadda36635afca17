#include "tests/simulator/whatif/drawn_program.hpp"

#include <algorithm>
#include <random>
#include <string>

#include "tests/simulator/whatif/drawn_recording.hpp"

namespace foreshard::simulator {
namespace {

// What the driver and the device of these programs take, in microseconds.
constexpr double kCallUs = 4, kLatencyUs = 6, kGapUs = 1.2, kEventUs = 1.5, kReturnUs = 3;

}  // namespace

DrawnProgram draw_program(std::uint32_t seed, int calls) {
  using Kind = DrawnProgram::Kind;
  std::mt19937 random(seed);
  const auto up_to = [&](std::uint32_t n) { return static_cast<int>(random() % n); };
  DrawnProgram program;
  program.streams = 1 + up_to(3);
  const int longest_work = 20 + up_to(400), longest_host = 5 + up_to(200);
  for (int i = 0; i < calls; ++i) {
    DrawnProgram::Call call;
    const int dice = up_to(100);
    call.kind = dice < 84   ? Kind::launch
                : dice < 87 ? Kind::copy
                : dice < 96 ? Kind::stream_waits
                : dice < 98 ? Kind::synchronize
                            : Kind::synchronize_all;
    call.stream = up_to(static_cast<std::uint32_t>(program.streams));
    call.other = up_to(static_cast<std::uint32_t>(program.streams));
    call.name = up_to(kDrawnNames);
    call.host_us = 1 + up_to(static_cast<std::uint32_t>(longest_host));
    call.work_us = 2 + up_to(static_cast<std::uint32_t>(longest_work));
    program.calls.push_back(call);
  }
  return program;
}

traces::Trace run_program(const DrawnProgram& program, const std::vector<double>& factors) {
  using Kind = DrawnProgram::Kind;
  DrawnRecording draw;
  const int host = draw.thread();
  std::vector<int> lanes;
  for (int s = 0; s < program.streams; ++s) {
    lanes.push_back(draw.stream(0, "stream " + std::to_string(s)));
  }
  const auto count = static_cast<std::size_t>(program.streams);
  std::vector<double> over(count), awaited(count);  // by stream
  double now = 0;
  for (const DrawnProgram::Call& call : program.calls) {
    const auto stream = static_cast<std::size_t>(call.stream);
    const double begin = now += call.host_us;
    switch (call.kind) {
      case Kind::launch:
      case Kind::copy: {
        const double start =
            std::max({begin + kLatencyUs, over[stream] + kGapUs, awaited[stream] + kEventUs});
        over[stream] = start + call.work_us * factors[static_cast<std::size_t>(call.name)];
        const bool is_copy = call.kind == Kind::copy;
        now = is_copy ? over[stream] + kReturnUs : begin + kCallUs;
        draw.work(lanes[stream], start, over[stream],
                  draw.call(host, begin, now, is_copy ? "cudaMemcpyAsync" : "cudaLaunchKernel"),
                  "work " + std::to_string(call.name),
                  is_copy ? traces::EventKind::memory : traces::EventKind::compute);
        break;
      }
      case Kind::stream_waits:
        awaited[stream] = std::max(awaited[stream], over[static_cast<std::size_t>(call.other)]);
        draw.call(host, begin, now += 1, "cudaStreamWaitEvent");
        break;
      case Kind::synchronize:
        now = std::max(begin + kCallUs, over[stream] + kReturnUs);
        draw.call(host, begin, now, "cudaStreamSynchronize");
        break;
      case Kind::synchronize_all:
        now = std::max(begin + kCallUs, *std::max_element(over.begin(), over.end()) + kReturnUs);
        draw.call(host, begin, now, "cudaDeviceSynchronize");
        break;
    }
  }
  draw.step(0, 1, 0, now);
  return draw.trace();
}

}  // namespace foreshard::simulator
