// A program as somebody else's run might be recorded: nine streams, six groups and two operators that
// are in no operator set, on eight ranks.
#include <algorithm>
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "models/program/check_program.hpp"
#include "models/program/check_set.hpp"
#include "simulator/predict/allocation_history.hpp"
#include "simulator/predict/prediction.hpp"
#include "tests/property/random_job.hpp"
#include "tests/simulator/predict/h100.hpp"
#include "tests/simulator/small_program.hpp"
#include "tests/temporary_folder.hpp"
#include "traces/fst/fst_file.hpp"

namespace foreshard::simulator {
namespace {

constexpr int kRanks = 8, kStreams = 9, kGroups = 6;
constexpr int kWorld = 0, kData = 1, kPipe = 3;  // of the groups

PredictionOptions with_records() {
  PredictionOptions options;
  options.machine = &h100();
  options.keeps_memory_records = true;
  options.wants_path = true;
  return options;
}

// On each stream a buffer of its own pool that one operator fills and the other reads; then the
// collectives of the groups on the streams from 3 on; then the frees.
class ForeignProgram {
 public:
  ForeignProgram() {
    program_.programs.resize(2);
    for (int s = 0; s < kStreams; ++s) {
      const bool communicates = s >= 3;
      program_.streams.push_back({"stream " + std::to_string(s),
                                  communicates ? StreamRole::communication : StreamRole::compute,
                                  communicates ? -1 : 0});
    }
    // Meshes of 8, 4 and 2 neighbours, and of 2, 4 and 2 ranks that stand apart.
    program_.groups = {{"world", 8, 1}, {"data", 4, 1},       {"tensor", 2, 1},
                       {"pipe", 2, 4},  {"data outer", 4, 2}, {"expert", 2, 2}};
    program_.operators = {{"mamba_scan"}, {"paged_copy", true}};
    // Much longer than the host takes to launch it.
    program_.cost_keys = {key(Operator::memory_bound, 2000 * kMib, 2000 * kMib),
                          key(Operator::memory_bound, 1000 * kMib, 1000 * kMib)};
    for (int g = 0; g < kGroups; ++g) {
      program_.cost_keys.push_back(key(g == 0 ? Operator::all_reduce : Operator::all_gather,
                                       8 * kMib,
                                       program_.groups[static_cast<std::size_t>(g)].ranks));
    }
    for (int s = 0; s < kStreams; ++s) fill(s);
    for (int g = 0; g < kGroups; ++g) collective(g);
    for (int s = 0; s < kStreams; ++s) add(Kind::record_event, s, s);
    for (int s = 0; s < kStreams; ++s) add(Kind::host_wait, s, 0);
    for (int s = 0; s < kStreams; ++s) add(Kind::free, s, s);
    step().events = kStreams;
  }

  RankPrograms all() const { return {{program_}, std::vector<int>(kRanks, 0)}; }
  RankProgram& program() { return program_; }
  Program& step() { return program_.programs[1]; }
  Instruction& of_group(int g) { return step().instructions[index_of(g)]; }
  std::size_t index_of(int g) {
    const auto& all = step().instructions;
    const auto found = std::ranges::find_if(all, [&](const Instruction& i) {
      return i.kind == Kind::collective && i.group == static_cast<Group>(g);
    });
    return static_cast<std::size_t>(found - all.begin());
  }
  void erase(int g) {
    step().instructions.erase(step().instructions.begin() +
                              static_cast<std::ptrdiff_t>(index_of(g)));
  }

 private:
  static CostKey key(Operator op, std::int64_t a, std::int64_t b) {
    return {op, DType::fp32, DType::fp32, DType::fp32, {a, b}};
  }

  Instruction& add(Kind kind, std::int32_t target, int stream) {
    Instruction& i = step().instructions.emplace_back();
    i.kind = kind;
    i.stream = static_cast<Stream>(stream);
    i.target = target;
    return i;
  }

  void fill(int s) {
    Buffer buffer;
    buffer.bytes = 20 * kMib;
    buffer.pool = static_cast<Stream>(s);
    program_.buffers.push_back(buffer);
    add(Kind::alloc, s, s);
    for (const auto op : {OperatorId{1}, OperatorId{0}}) {
      Instruction& launch = add(Kind::launch, kNone, s);
      launch.op = op;
      launch.cost_key = op;
      launch.operands = static_cast<std::int32_t>(step().operands.size());
      launch.writes = 1;
      step().operands.push_back(s);
    }
  }

  void collective(int g) {
    Instruction& i = add(Kind::collective, kNone, g + 3);
    i.group = static_cast<Group>(g);
    i.cost_key = 2 + g;
    i.operands = static_cast<std::int32_t>(step().operands.size());
    i.reads = i.writes = 1;
    step().operands.insert(step().operands.end(), {g + 3, g + 3});
  }

  RankProgram program_;
};

TEST(ForeignProgram, IsPredicted) {
  const Prediction p = predict(program_set(ForeignProgram().all()), with_records());
  ASSERT_TRUE(p.fits);
  // Each pool has a segment of its own, and memory of one does not serve another.
  ASSERT_EQ(p.ranks_memory.size(), kRanks);
  EXPECT_EQ(p.ranks_memory[7].peaks.allocated, kStreams * 20 * kMib);
  EXPECT_EQ(p.ranks_memory[7].peaks.reserved, kStreams * 20 * kMib);

  // One of a class stands for its ranks; every stream's work is done one after the other.
  const auto costs = machine_costs(h100(), kRanks, 0);
  const RankProgram& program = p.run.classes[0].program;
  const auto& instructions = program.programs[1].instructions;
  const auto spans = p.run.timelines[0].step(2);
  std::int64_t free_at[kStreams] = {}, all = 0, last = 0;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    if (!runs_on_stream(instructions[i].kind)) continue;
    const auto s = static_cast<std::size_t>(instructions[i].stream);
    EXPECT_GE(spans[i].start, free_at[s]) << i;
    free_at[s] = spans[i].end;
    TaskPlace place;
    const CostKey& key = program.cost_keys[static_cast<std::size_t>(instructions[i].cost_key)];
    const auto ns = std::llround(costs->estimate(key, place).ns);
    EXPECT_GT(ns, 0);
    const std::int64_t took = spans[i].end - spans[i].start;
    if (instructions[i].kind == Kind::collective) {
      EXPECT_GE(took, ns) << i;  // those of several groups share the links
    } else {
      EXPECT_EQ(took, ns) << i;
    }
    all += ns;
    last = std::max(last, spans[i].end);
  }
  EXPECT_GE(p.run.timelines[0].step_end_ns[2], last);
  EXPECT_LT(p.step_time.count(), all);  // the streams run beside each other
  ASSERT_TRUE(p.path);
  for (const PathPart& part : p.path->parts) EXPECT_NE(part.name, "memory_bound");
}

TEST(ForeignProgram, IsDrawnWithItsOwnNames) {
  const Prediction p = predict(program_set(ForeignProgram().all()), with_records());
  const traces::Trace trace = to_trace(p, "test");
  ASSERT_EQ(trace.lanes.size(), 1 + kStreams);
  std::map<std::string, std::int64_t> events;  // "lane kind name" of a step
  for (const traces::Event& e : trace.events) {
    const traces::Lane& lane = trace.lanes[static_cast<std::size_t>(e.lane)];
    if (!lane.device || e.step != 2) continue;
    ++events[trace.strings[lane.name] + " " + std::string(name(e.kind)) + " " +
             trace.strings[e.name]];
  }
  std::map<std::string, std::int64_t> expected;
  for (int s = 0; s < kStreams; ++s) {
    const std::string lane = "stream " + std::to_string(s);
    expected[lane + " compute mamba_scan"] = 1;
    expected[lane + " memory paged_copy"] = 1;
    if (s >= 3) expected[lane + " communication " + (s == 3 ? "all_reduce" : "all_gather")] = 1;
  }
  EXPECT_EQ(events, expected);
  const std::string listing =
      to_text(p.run.classes[0].program, p.run.classes[0].program.programs[1],
              p.run.classes[0].program.tree);
  EXPECT_NE(listing.find("paged_copy: memory_bound"), std::string::npos) << listing;
  EXPECT_NE(listing.find("over data outer"), std::string::npos) << listing;
  EXPECT_EQ(allocation_history(p, 3).streams.back(), "stream 8");
}

TEST(ForeignProgram, ComesBackFromAFile) {
  const RankPrograms programs = ForeignProgram().all();
  const Prediction p = predict(program_set(programs), with_records());
  const tests::TemporaryFolder folder;
  const traces::Trace written = to_trace(p, "test");
  ASSERT_TRUE(traces::write_fst(folder.path("foreign.fst"), written));
  const auto trace = traces::read_fst(folder.path("foreign.fst"));
  ASSERT_TRUE(trace) << trace.error().text();
  const auto read = parse_programs(trace->metadata.at("programs"), "foreign.fst");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(to_json(*read), to_json(programs));
  const RankProgram &a = programs.programs[0], &b = read->programs[0];
  EXPECT_EQ(program_hash(a), program_hash(b));
  EXPECT_EQ(a.streams, b.streams);
  EXPECT_EQ(a.groups, b.groups);
  EXPECT_EQ(a.operators, b.operators);

  const Prediction again = predict(program_set(*read), with_records());
  EXPECT_EQ(again.step_time, p.step_time);
  EXPECT_EQ(again.ranks_memory[0].peaks, p.ranks_memory[0].peaks);
  EXPECT_EQ(trace->events.size(), written.events.size());
}

// Nothing but names is kept of a model, and nothing more decides a prediction.
TEST(ForeignProgram, ProgramsOfJobsComeBackToo) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Job job = tests::JobDrawer(seed).draw();
    ProgramSet set = lower_all(job, static_cast<int>(h100().gpus_per_node));
    auto read = parse_programs(to_json(RankPrograms{set.programs, set.class_of_rank}), "file");
    ASSERT_TRUE(read) << seed << ": " << read.error().text();
    for (std::size_t c = 0; c < set.programs.size(); ++c) {
      EXPECT_EQ(program_hash(read->programs[c]), program_hash(set.programs[c])) << seed;
    }
    ProgramSet again = program_set(std::move(*read));
    again.allocator = set.allocator;
    again.nodes = set.nodes;
    const Prediction a = predict(std::move(set), with_records()),
                     b = predict(std::move(again), with_records());
    EXPECT_EQ(a.step_time, b.step_time) << seed;
    ASSERT_EQ(a.ranks_memory.size(), b.ranks_memory.size());
    for (std::size_t r = 0; r < a.ranks_memory.size(); ++r) {
      EXPECT_EQ(a.ranks_memory[r].peaks, b.ranks_memory[r].peaks) << seed;
      EXPECT_EQ(a.ranks_memory[r].peak_host, b.ranks_memory[r].peak_host) << seed;
    }
  }
}

// One thing is wrong in each, and the error names its place.
TEST(ForeignProgram, ARowThatIsNotInItsTableIsRefused) {
  struct Case {
    std::string position;
    std::function<void(ForeignProgram&)> spoil;
  };
  const auto first_of = [](ForeignProgram& p, Kind kind) -> Instruction& {
    return *std::ranges::find(p.step().instructions, kind, &Instruction::kind);
  };
  const Case cases[] = {
      {"steps[1].instructions[0].stream",
       [](auto& p) { p.step().instructions[0].stream = static_cast<Stream>(9); }},
      {"steps[1].instructions[27].group",
       [&](auto& p) { first_of(p, Kind::collective).group = static_cast<Group>(6); }},
      {"steps[1].instructions[1].operator", [&](auto& p) { first_of(p, Kind::launch).op = 2; }},
      {"steps[1].instructions[1].cost_key",
       [&](auto& p) { first_of(p, Kind::launch).cost_key = 8; }},
      {"steps[1].instructions[1].cost_key",
       [&](auto& p) { first_of(p, Kind::launch).cost_key = kNone; }},
      {"steps[1].instructions[1].cost_key",  // a collective's
       [&](auto& p) { first_of(p, Kind::launch).cost_key = 2; }},
      {"steps[1].instructions[1].unit", [&](auto& p) { first_of(p, Kind::launch).unit = 0; }},
      {"steps[1].instructions[1].module", [&](auto& p) { first_of(p, Kind::launch).module = 0; }},
      {"steps[1].instructions[1].operands",
       [&](auto& p) { first_of(p, Kind::launch).operands = 1000; }},
      {"steps[1].instructions[1].reads", [&](auto& p) { first_of(p, Kind::launch).reads = -1; }},
      {"steps[1].instructions[0].operands",  // of an allocation
       [](auto& p) { p.step().instructions[0].reads = 2; }},
      {"steps[1].instructions[0].target", [](auto& p) { p.step().instructions[0].target = 9; }},
      {"steps[1].instructions[33].target",
       [&](auto& p) { first_of(p, Kind::record_event).target = 9; }},
      {"steps[1].instructions[3].target",  // the first buffer a second time
       [](auto& p) { p.step().instructions[3].target = 0; }},
      {"steps[1].operands", [](auto& p) { p.step().operands[3] = 9; }},
      {"steps[1].events", [](auto& p) { p.step().events = 1 << 30; }},
      {"buffers[2].pool", [](auto& p) { p.program().buffers[2].pool = static_cast<Stream>(9); }},
      {"buffers[2].owner", [](auto& p) { p.program().buffers[2].owner = 0; }},
      {"buffers[2].bytes", [](auto& p) { p.program().buffers[2].bytes = -1; }},
      {"groups[1].ranks", [](auto& p) { p.program().groups[1].ranks = 0; }},
      {"groups[1].stride", [](auto& p) { p.program().groups[1].stride = 0; }},
      {"closing", [](auto& p) { p.program().closing = 2; }},
      {"closing", [](auto& p) { p.program().closing = SIZE_MAX; }},
      {"number of streams", [](auto& p) { p.program().streams.clear(); }},
  };
  ASSERT_TRUE(check_program(ForeignProgram().program(), "file", "programs[0]"));
  for (const Case& wrong : cases) {
    ForeignProgram p;
    wrong.spoil(p);
    const auto checked = check_program(p.program(), "file", "programs[0]");
    ASSERT_FALSE(checked) << wrong.position;
    EXPECT_EQ(checked.error().field, "programs[0]." + wrong.position) << checked.error().text();
    EXPECT_NE(checked.error().message.find("; expected "), std::string::npos);
    const auto read = parse_programs(to_json(p.all()), "file");
    ASSERT_FALSE(read) << wrong.position;
    EXPECT_EQ(read.error().text(), checked.error().text());
  }
}

// Two programs for four ranks each.
RankPrograms two_classes(const ForeignProgram& a, ForeignProgram b) {
  return {{ForeignProgram(a).program(), b.program()}, {0, 0, 0, 0, 1, 1, 1, 1}};
}

TEST(ForeignProgram, OfSeveralProgramsTheErrorNamesTheOneThatIsWrong) {
  ForeignProgram wrong;
  wrong.step().instructions[3].target = 9;
  const auto read = parse_programs(to_json(two_classes({}, wrong)), "file");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().field, "programs[1].steps[1].instructions[3].target");
}

// Ranks of one class wait at a collective that those of the other never begin: whoever predicted it
// would find no end. Ranks 0 and 4, which stand for their classes, meet in "world" and in "pipe".
TEST(ForeignProgram, ProgramsThatWaitForEachOtherForeverAreRefused) {
  const auto text_of = [](const ForeignProgram& one, const ForeignProgram& other) {
    const auto read = parse_programs(to_json(two_classes(one, other)), "file");
    return read ? "" : read.error().text();
  };
  EXPECT_EQ(text_of({}, {}), "");
  const auto programs = parse_programs(to_json(two_classes({}, {})), "file");
  ASSERT_TRUE(programs);
  EXPECT_GT(predict(program_set(*programs), with_records()).step_time.count(), 0);

  ForeignProgram on_one_stream;
  on_one_stream.of_group(kPipe).stream = on_one_stream.of_group(kWorld).stream;
  ForeignProgram swapped = on_one_stream;
  std::swap(swapped.of_group(kPipe), swapped.of_group(kWorld));
  EXPECT_EQ(text_of(on_one_stream, on_one_stream), "");
  EXPECT_EQ(text_of(on_one_stream, swapped),
            "file: programs[0].steps[1].instructions[27]: is a collective of group \"world\" at "
            "which ranks "
            "would wait for each other forever; expected that all of them come to it");
  EXPECT_THROW((void)predict(program_set(two_classes(on_one_stream, swapped)), with_records()),
               std::logic_error);

  ForeignProgram fewer;
  fewer.erase(kPipe);
  EXPECT_EQ(text_of({}, fewer),
            "file: programs[1].steps[1]: has 0 collectives of group \"pipe\", so that ranks would "
            "wait for "
            "each other forever; expected 1, as in programs[0]");

  ForeignProgram longer;
  longer.program().programs.push_back(longer.step());
  EXPECT_EQ(text_of({}, longer),
            "file: programs[1].steps: counts 3; expected 2, as in programs[0]");
}

// Stages of a pipeline: what one issues in its own group the other does not, and in the group of both the one
// that comes first waits.
TEST(ForeignProgram, StagesMeetInTheGroupsOfBothAlone) {
  ForeignProgram first, second;
  second.erase(kData);
  std::erase_if(second.step().instructions, [](const Instruction& i) {
    return i.kind == Kind::launch && i.stream == static_cast<Stream>(kPipe + 3);
  });
  RankPrograms set = two_classes(first, second);
  ASSERT_TRUE(is_staged(set));
  const auto read = parse_programs(to_json(set), "file");
  ASSERT_TRUE(read) << read.error().text();
  const Prediction p = predict(program_set(*read), with_records());
  const auto span_of = [&](std::size_t stage, ForeignProgram& of, int group) {
    return p.run.timelines[stage].step(2)[of.index_of(group)];
  };
  ASSERT_EQ(p.run.timelines.size(), 2U);
  EXPECT_EQ(span_of(0, first, kPipe).start, span_of(1, second, kPipe).start);
  EXPECT_GT(span_of(1, second, kPipe).start - span_of(1, second, kPipe).issue, 1'000'000);
  EXPECT_EQ(span_of(0, first, kWorld).start, span_of(1, second, kWorld).start);
}

TEST(ForeignProgram, TextThatIsNoProgramIsRefused) {
  const std::string whole = to_json(ForeignProgram().all());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = whole;
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  const std::pair<std::string, std::string> cases[] = {
      {"", "is not JSON"},
      {"[]", "format: is missing"},
      {with("\"format\":1", "\"format\":2"), "format: is 2; expected 1"},
      {with("\"class_of_rank\":[0", "\"class_of_rank\":[1"), "class_of_rank: holds 1"},
      {with("\"launch\"", "\"lunch\""), "programs[0].steps[1].instructions[1][0]: is \"lunch\""},
      {with("\"communication\"", "\"talk\""), "programs[0].streams[3][1]: is \"talk\""},
      {with("memory_bound fp32", "memory_bound fp31"),
       "programs[0].cost_keys[0]: is not a cost key"},
      {with("\"events\":9", "\"events\":9000000000"), "programs[0].steps[1].events: is not such"},
      {with("\"names\":[]", "\"names\":{}"), "programs[0].names: is not a list"},
      {with("[\"world\",8,1]", "[\"world\",8]"), "programs[0].groups[0]: is not such a row"},
      {std::string(100, '['), "nests deeper"},
  };
  for (const auto& [text, message] : cases) {
    const auto read = parse_programs(text, "file");
    ASSERT_FALSE(read) << message;
    EXPECT_NE(read.error().text().find(message), std::string::npos) << read.error().text();
  }
}

}  // namespace
}  // namespace foreshard::simulator
