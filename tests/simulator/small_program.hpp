// Step programs written by hand, for tests whose arithmetic fits a comment. Costs are in
// nanoseconds and stand beside the instruction they belong to; everything is put into step 1 unless
// `in` has others.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "models/program/step_program.hpp"
#include "simulator/engine/engine.hpp"

namespace foreshard::simulator {

constexpr std::int64_t kMib = 1 << 20;

constexpr auto kCompute = Stream::compute;
constexpr auto kGather = Stream::all_gather;
constexpr auto kReduce = Stream::reduce_scatter;

class SmallProgram {
 public:
  explicit SmallProgram(int rank = 0, int ranks = 1) {
    program.programs.resize(3);
    program.streams.assign(fsdp2_streams().begin(), fsdp2_streams().end());
    for (const char* group : {"shard", "replicate", "post_forward", "world"}) {
      program.groups.push_back({group, ranks, 1});
    }
    program.place = place_in(program.groups, rank);
  }

  SmallProgram& launch(Stream stream, std::int64_t ns, float cores = 1, float memory = 0) {
    return work(Kind::launch, stream, Group::world, ns, cores, memory);
  }
  SmallProgram& collective(Stream stream, std::int64_t ns, Group group = Group::shard) {
    return work(Kind::collective, stream, group, ns, 1, 0);
  }
  SmallProgram& copy(Stream stream, std::int64_t ns) {
    return work(Kind::copy, stream, Group::world, ns, 0, 0);
  }
  SmallProgram& host_compute(std::int64_t ns) {
    return work(Kind::host_compute, Stream::compute, Group::world, ns, 1, 0);
  }
  SmallProgram& record(Stream stream, EventId event) {
    return add(Kind::record_event, stream, event);
  }
  SmallProgram& wait(Stream stream, EventId event) { return add(Kind::wait_event, stream, event); }
  SmallProgram& host_wait(EventId event) { return add(Kind::host_wait, Stream::compute, event); }

  SmallProgram& add(Kind kind, Stream stream, std::int32_t target) {
    Instruction i;
    i.kind = kind;
    i.stream = stream;
    i.target = target;
    if (target >= step().events) step().events = target + 1;
    step().instructions.push_back(i);
    return *this;
  }

  SimulatedRank simulated(const std::vector<HostDelay>* delays = nullptr) const {
    SimulatedRank rank{&program, costs, {}, program.place};
    if (delays != nullptr) rank.delays = *delays;
    return rank;
  }

  Program& step() { return program.programs[1]; }
  TaskCost& cost(const Instruction& i) { return costs[cost_index(i, cost_places(program.place))]; }

  RankProgram program;
  std::vector<TaskCost> costs;

 private:
  SmallProgram& work(Kind kind, Stream stream, Group group, std::int64_t ns, float cores,
                     float memory) {
    Instruction i;
    i.kind = kind;
    i.stream = stream;
    i.group = group;
    i.cost_key = static_cast<CostKeyId>(program.cost_keys.size());
    program.cost_keys.push_back({.op = Operator::add});
    costs.resize(program.cost_keys.size() * cost_places(program.place));
    cost(i) = {ns, {cores, memory}};
    step().instructions.push_back(i);
    return *this;
  }
};

}  // namespace foreshard::simulator
