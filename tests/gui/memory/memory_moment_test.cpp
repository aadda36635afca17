// Who owns what, and the map of blocks, against the tally that replays every event from the
// beginning.
#include "gui/models/memory/memory_moment.hpp"

#include <gtest/gtest.h>

#include "gui/models/memory/rank_memory.hpp"
#include "models/llama/llama_config.hpp"
#include "simulator/predict/prediction.hpp"
#include "tests/gui/memory/random_memory.hpp"

namespace foreshard::gui {
namespace {

std::int64_t sum_of(const std::vector<MemoryOwner>& owners) {
  std::int64_t sum = 0;
  for (const MemoryOwner& owner : owners) {
    sum += owner.bytes;
    if (owner.parts.empty()) continue;
    EXPECT_EQ(sum_of(owner.parts), owner.bytes) << owner.name.toStdString();
  }
  return sum;
}

TEST(AllocatorStates, AnyMomentIsWhatReplayingFromTheBeginningGives) {
  const auto trace = std::make_shared<traces::Trace>(tests::random_memory(30000, 5));
  const AllocatorStates states(trace, 0);
  for (const std::size_t count : {0u, 1u, 777u, 9000u, 20000u, 31234u, 1u << 30}) {
    AllocatorState naive;
    const std::size_t events = std::min(count, trace->memory.size());
    for (std::size_t n = 0; n < events; ++n) naive.apply(trace->memory.pointer_to(n));
    const AllocatorState found = states.after(count);
    EXPECT_EQ(found.tally.levels(), naive.tally.levels());
    EXPECT_EQ(found.tally.device_blocks(), naive.tally.device_blocks());
    EXPECT_EQ(found.awaiting_free, naive.awaiting_free);
    EXPECT_EQ(found.segments.size(), naive.segments.size());
  }
}

TEST(AllocatorState, GivesBackTheMiddleOfASegment) {
  AllocatorState state;
  traces::MemoryEventList events;
  traces::MemoryEvent event;
  event.action = traces::MemoryAction::segment_alloc;
  event.address = 100;
  event.bytes = 100;
  events.push_back(event);
  event.action = traces::MemoryAction::segment_free;
  event.address = 130;
  event.bytes = 20;
  events.push_back(event);
  for (auto at = events.begin(); at != events.end(); ++at) state.apply(at);
  ASSERT_EQ(state.segments.size(), 2u);
  EXPECT_EQ(state.segments.at(100).bytes, 30);
  EXPECT_EQ(state.segments.at(150).bytes, 50);
}

TEST(BlockMap, CoversTheSegmentsAndHoldsTheLiveBlocks) {
  const auto trace = std::make_shared<traces::Trace>(tests::random_memory(9000, 8));
  const AllocatorStates states(trace, 0);
  for (std::size_t events = 0; events < trace->memory.size(); events += 501) {
    const AllocatorState state = states.after(events);
    const BlockMap map = block_map(*trace, state);
    std::int64_t reserved = 0, allocated = 0, covered = 0;
    std::size_t blocks = 0;
    for (const MapPool& pool : map.pools) {
      reserved += pool.reserved;
      allocated += pool.allocated;
      std::int64_t offset = 0;
      for (const MapBlock& block : pool.blocks) {
        ASSERT_EQ(block.offset, offset);
        offset += block.bytes;
        covered += block.bytes;
        if (block.use != MapBlock::Use::allocated) continue;
        ++blocks;
        ASSERT_EQ(state.tally.device_blocks().at(block.address), block.allocation);
      }
    }
    EXPECT_EQ(reserved, state.tally.levels().reserved);
    EXPECT_EQ(covered, reserved);
    EXPECT_EQ(allocated, state.tally.levels().allocated);
    EXPECT_EQ(blocks, state.tally.device_blocks().size());
    EXPECT_EQ(map.misfits, 0);
  }
}

TEST(BlockMap, RowsAreAPowerOfTwoAndAsManyAsFit) {
  BlockMap map;
  map.pools.resize(2);
  map.pools[0].reserved = (std::int64_t{5} << 30) + 1;
  map.pools[1].reserved = std::int64_t{1} << 20;
  EXPECT_EQ(map.bytes_per_row(7), std::int64_t{1} << 30);
  EXPECT_EQ(map.bytes_per_row(6), std::int64_t{2} << 30);
  EXPECT_EQ(map.bytes_per_row(0), std::int64_t{8} << 30);  // a pool has at least one
}

TEST(OwnerName, IsTakenApart) {
  EXPECT_EQ(owner_name("model.layers.21.mlp.gate_proj.weight: shard"),
            (OwnerName{"layers", "layers.21", "mlp.gate_proj", "shard"}));
  EXPECT_EQ(owner_name("layers.0: linear"), (OwnerName{"layers", "layers.0", "", "linear"}));
  EXPECT_EQ(owner_name("lm_head: logits"), (OwnerName{"", "lm_head", "", "logits"}));
  EXPECT_EQ(owner_name("model.embed_tokens.weight: shard"),
            (OwnerName{"", "embed_tokens", "", "shard"}));
  EXPECT_EQ(owner_name("rope table"), (OwnerName{"", "", "", "rope table"}));
  EXPECT_EQ(owner_name(""), OwnerName());
}

TEST(MemoryMoment, SharesAndTreesAddUpToWhatIsAllocated) {
  const auto trace = std::make_shared<traces::Trace>(tests::random_memory(4000, 3));
  const RankMemory memory({trace, nullptr, nullptr, false}, 0);
  for (std::size_t sample = 0; sample < memory.curve()->size(); sample += 201) {
    const MemoryMoment moment = memory.moment(sample).moment;
    EXPECT_EQ(moment.allocated, memory.curve()->allocated(sample));
    EXPECT_EQ(moment.reserved, memory.curve()->reserved(sample));
    std::int64_t shares = 0;
    for (const CategoryShare& share : moment.categories) shares += share.bytes;
    EXPECT_EQ(shares, moment.allocated);
    EXPECT_EQ(sum_of(moment.by_unit), moment.allocated);
    EXPECT_EQ(sum_of(moment.by_operator), moment.allocated);
    EXPECT_EQ(sum_of(moment.by_code), moment.allocated);
  }
}

TEST(MemoryMoment, CodeIsATreeFromWhereStacksPart) {
  const auto trace = std::make_shared<traces::Trace>(tests::random_memory(4000, 3));
  const RankMemory memory({trace, nullptr, nullptr, false}, 0);
  const MemoryMoment moment = memory.moment(memory.curve()->peak()).moment;
  ASSERT_EQ(moment.by_code.size(), 1u);
  const MemoryOwner& shared = moment.by_code[0];
  EXPECT_EQ(shared.name, QStringLiteral("forward  model.py:81"));
  EXPECT_EQ(shared.detail, QStringLiteral("forward model.py:81\nmain /home/x/train.py:12"));
  ASSERT_EQ(shared.parts.size(), 3u);
  EXPECT_TRUE(shared.parts[0].name.startsWith(QStringLiteral("linear  linear.py:")));
  EXPECT_TRUE(shared.parts[0].detail.startsWith(QStringLiteral("linear /torch/nn/linear.py:")));
}

TEST(ProgramFrames, AreThoseOfPythonWhereThereAreAny) {
  EXPECT_EQ(program_frames("at::empty\nlinear F.py:3\n_call_impl /torch/nn/modules/module.py:7\n"
                           "PyEval /src/eval.c:1\nmain train.py:9"),
            (std::vector<std::string_view>{"linear F.py:3", "main train.py:9"}));
  EXPECT_EQ(program_frames("at::empty\nmain main.cpp:9"),
            (std::vector<std::string_view>{"at::empty", "main main.cpp:9"}));
  EXPECT_TRUE(program_frames("").empty());
  EXPECT_EQ(short_frame("<lambda> C:\\a b\\train.py:9"), QStringLiteral("<lambda>  train.py:9"));
  EXPECT_EQ(short_frame("at::Tensor at::empty(long) /src/empty.cpp:9"),
            QStringLiteral("at::Tensor at::empty(long)  empty.cpp:9"));
  EXPECT_EQ(short_frame("at::Tensor at::empty(long)"),
            QStringLiteral("at::Tensor at::empty(long)"));
}

TEST(MemoryMoment, WithoutStacksThereIsNoCode) {
  traces::Trace trace = tests::random_memory(500, 3);
  for (std::size_t n = 0; n < trace.memory.size(); ++n) {
    trace.memory.update(n, [](traces::MemoryEvent& event) { event.stack = 0; });
  }
  const RankMemory memory({std::make_shared<traces::Trace>(trace), nullptr, nullptr, false}, 0);
  EXPECT_TRUE(memory.moment(memory.curve()->peak()).moment.by_code.empty());
}

// Against the levels of the curve, and the live blocks of both moments.
TEST(MemoryDifference, IsWhatCameLessWhatWent) {
  const auto trace = std::make_shared<traces::Trace>(tests::random_memory(4000, 6));
  const RankMemory memory({trace, nullptr, nullptr, false}, 0);
  const std::size_t size = memory.curve()->size();
  for (std::size_t since = 10; since < size; since += 577) {
    for (std::size_t sample = 0; sample < size; sample += 391) {
      const MomentOfRank found = memory.moment(sample, since);
      ASSERT_TRUE(found.since);
      const MemoryMoment& difference = found.since->difference;
      EXPECT_EQ(difference.allocated,
                memory.curve()->allocated(sample) - memory.curve()->allocated(since));
      EXPECT_EQ(difference.reserved,
                memory.curve()->reserved(sample) - memory.curve()->reserved(since));
      std::int64_t shares = 0, blocks = 0;
      for (const CategoryShare& share : difference.categories) {
        shares += share.bytes;
        blocks += share.blocks;
      }
      EXPECT_EQ(shares, difference.allocated);
      const auto count = [&](std::size_t at) {
        const auto state = memory.states().after(memory.curve()->events(at));
        return std::ssize(state.tally.device_blocks());
      };
      EXPECT_EQ(blocks, count(sample) - count(since));
      for (const auto by : {OwnersBy::unit, OwnersBy::operator_name, OwnersBy::code}) {
        EXPECT_EQ(sum_of(difference.owners(by)), difference.allocated);
      }
      if (sample == since) {
        EXPECT_TRUE(difference.by_unit.empty() && difference.categories.empty());
      }
    }
  }
}

TEST(BlockLife, IsWhatASearchThroughAllEventsFinds) {
  const auto trace = std::make_shared<traces::Trace>(tests::random_memory(3000, 12));
  const auto& all = trace->memory;
  std::size_t freed = 0, reused = 0;
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (all[n].action != traces::MemoryAction::alloc) continue;
    const BlockLife life = block_life(memory_of_rank(*trace, 0), all.pointer_to(n));
    traces::MemoryEventPointer expected[4] = {nullptr, nullptr, nullptr, nullptr};
    const auto& [before, after, request, completion] = expected;
    for (std::size_t k = 0; k < all.size(); ++k) {
      const auto place = [&](traces::MemoryAction action) {
        return action == all[k].action && k != n &&
               all[k].address < all[n].address + all[n].bytes &&
               all[n].address < all[k].address + all[k].bytes;
      };
      if (k < n && place(traces::MemoryAction::alloc)) expected[0] = all.pointer_to(k);
      if (k <= n || after != nullptr) continue;
      if (place(traces::MemoryAction::alloc)) expected[1] = all.pointer_to(k);
      if (place(traces::MemoryAction::free_requested) && request == nullptr)
        expected[2] = all.pointer_to(k);
      if (place(traces::MemoryAction::free_completed) && completion == nullptr)
        expected[3] = all.pointer_to(k);
    }
    EXPECT_EQ(life.before, before);
    EXPECT_EQ(life.after, after);
    EXPECT_EQ(life.freed, request);
    EXPECT_EQ(life.completed, completion);
    freed += life.freed != nullptr;
    reused += life.after != nullptr;
  }
  EXPECT_GT(freed, 100u);
  EXPECT_GT(reused, 100u);
}

class TinyPrediction : public testing::Test {
 protected:
  TinyPrediction() {
    const auto model = load_llama_config("llama-tiny-3m");
    const auto job = make_job(*model, Plan(), "plan", 2);
    simulator::PredictionOptions options;
    options.keeps_memory_records = options.wants_explanation = true;
    options.device_memory = std::int64_t{1} << 30;
    prediction = std::make_shared<simulator::Prediction>(simulator::predict(*job, options));
    trace = std::make_shared<traces::Trace>(simulator::to_trace(*job, *prediction, "test"));
    analysis = std::make_shared<profiler::Analysis>(profiler::analyse(*trace));
  }
  std::shared_ptr<const simulator::Prediction> prediction;
  std::shared_ptr<const traces::Trace> trace;
  std::shared_ptr<const profiler::Analysis> analysis;
};

TEST_F(TinyPrediction, PeaksAreTheAllocatorsOwn) {
  const RankMemory memory({trace, analysis, prediction, true}, 0);
  const auto& peaks = prediction->ranks_memory.at(0).peaks;
  EXPECT_EQ(memory.curve()->allocated(memory.curve()->peak()), peaks.allocated);
  EXPECT_EQ(memory.curve()->peak_reserved(), peaks.reserved);
  EXPECT_EQ(memory.curve()->best_clock(), MemoryClock::device_time);
  EXPECT_EQ(memory.capacity(), prediction->capacity);
  EXPECT_EQ(memory.answer().state, Role::ok);
  EXPECT_EQ(memory.answer().lead, QStringLiteral("The step fits:"));
  EXPECT_EQ(memory.answer().explanation,
            QString::fromStdString(peak_sentence(*prediction->explanation)));
}

TEST_F(TinyPrediction, BlocksOfEqualLayersAreOneOwner) {
  const RankMemory memory({trace, analysis, prediction, true}, 0);
  const MemoryMoment moment = memory.moment(memory.curve()->peak()).moment;
  const auto group = std::find_if(
      moment.by_unit.begin(), moment.by_unit.end(),
      [](const auto& owner) { return owner.name == QStringLiteral("decoder blocks × 4"); });
  ASSERT_NE(group, moment.by_unit.end());
  EXPECT_EQ(group->parts.size(), 4u);
  EXPECT_TRUE(group->parts[0].name.startsWith(QStringLiteral("layers.")));
  EXPECT_FALSE(moment.by_operator.empty());
}

TEST(RankMemory, OfATraceWithoutMemorySaysSo) {
  const RankMemory memory({std::make_shared<traces::Trace>(), nullptr, nullptr, false}, 0);
  EXPECT_TRUE(memory.is_empty());
  EXPECT_EQ(memory.answer().state, Role::warn);
  EXPECT_FALSE(memory.answer().lead.isEmpty());
}

}  // namespace
}  // namespace foreshard::gui
