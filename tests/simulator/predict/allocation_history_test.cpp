// Predicted allocation histories: every event fits those before it, peaks are the prediction's, labels
// are those of the program, and what is written comes back, for replay as well.
#include "simulator/predict/allocation_history.hpp"

#include <algorithm>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/property/random_job.hpp"
#include "tests/simulator/predict/h100.hpp"
#include "tests/small_llama.hpp"
#include "traces/allocator/allocator_replay.hpp"
#include "traces/allocator/history_writer.hpp"
#include "traces/snapshot/history.hpp"
#include "traces/snapshot/history_snapshot.hpp"
#include "traces/snapshot/snapshot_writer.hpp"

namespace foreshard::simulator {
namespace {

using traces::AllocatorAction;
using traces::HistoryEvent;
using traces::LabelledHistory;

Prediction prediction_of(const Job& job, std::optional<std::int64_t> device_memory = {}) {
  PredictionOptions options;
  options.machine = &h100();
  options.device_memory = device_memory;
  options.keeps_memory_records = true;
  return predict(job, options);
}

LabelledHistory written_and_read(const LabelledHistory& history) {
  std::ostringstream text;
  write_allocator_history({"model", 2, 1, {}}, history, text);
  const auto read = traces::parse_labelled_history(text.str(), "history.jsonl");
  EXPECT_TRUE(read) << read.error().text();
  return *read;
}

// Blocks and segments by their addresses, kept by adding and removing.
class Memory {
 public:
  void apply(const HistoryEvent& event) {
    switch (event.action) {
      case AllocatorAction::segment_alloc:
      case AllocatorAction::segment_map: add(segments_, event); break;
      case AllocatorAction::segment_free:
      case AllocatorAction::segment_unmap:
        // An expandable segment is given back in other parts than it came.
        reserved_ -= event.bytes;
        if (event.action == AllocatorAction::segment_free) remove(segments_, event);
        break;
      case AllocatorAction::alloc:
        add(requested_, event);
        EXPECT_GT(event.bytes, 0);
        break;
      case AllocatorAction::free_requested: remove(requested_, event); break;
      default: break;
    }
    if (reserves(event.action)) reserved_ += event.bytes;
    peak_reserved_ = std::max(peak_reserved_, reserved_);
  }
  std::int64_t peak_reserved() const { return peak_reserved_; }

 private:
  using Parts = std::map<Address, std::int64_t>;

  static void add(Parts& parts, const HistoryEvent& event) {
    const auto next = parts.lower_bound(event.address);
    if (next != parts.end()) {
      EXPECT_LE(event.address + event.bytes, next->first);
    }
    if (next != parts.begin()) {
      EXPECT_LE(std::prev(next)->first + std::prev(next)->second, event.address);
    }
    parts[event.address] = event.bytes;
  }
  static void remove(Parts& parts, const HistoryEvent& event) {
    const auto found = parts.find(event.address);
    ASSERT_NE(found, parts.end());
    EXPECT_EQ(found->second, event.bytes);
    parts.erase(found);
  }

  Parts segments_, requested_;
  std::int64_t reserved_ = 0, peak_reserved_ = 0;
};

TEST(AllocationHistory, FitsTogetherAndComesBack) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Job job = tests::JobDrawer(seed).draw();
    const Prediction p = prediction_of(job);
    const int rank = job.ranks - 1;
    const LabelledHistory history = allocation_history(p, rank);
    ASSERT_EQ(history.labels.size(), history.history.events.size());
    Memory memory;
    std::int32_t step = 0;
    for (std::size_t n = 0; n < history.labels.size(); ++n) {
      memory.apply(history.history.events[n]);
      EXPECT_GE(history.labels[n].step, step);
      step = history.labels[n].step;
    }
    EXPECT_EQ(step, 2);
    const auto& peaks = p.ranks_memory[static_cast<std::size_t>(rank)].peaks;
    EXPECT_EQ(memory.peak_reserved(), peaks.reserved) << seed;

    const LabelledHistory read = written_and_read(history);
    ASSERT_EQ(read.labels.size(), history.labels.size());
    for (std::size_t n = 0; n < read.labels.size(); ++n) {
      const HistoryEvent &a = history.history.events[n], &b = read.history.events[n];
      ASSERT_EQ(a.action, b.action);
      ASSERT_EQ(a.address, b.address);
      ASSERT_EQ(a.bytes, b.bytes);
      ASSERT_EQ(history.streams[static_cast<std::size_t>(a.stream)],
                read.streams[static_cast<std::size_t>(b.stream)]);
    }
    const auto replayed = replay(read.history, {});
    ASSERT_TRUE(replayed) << replayed.error().text();
    EXPECT_EQ(replayed->statistics.peak_allocated, peaks.allocated) << seed;
    EXPECT_EQ(replayed->statistics.peak_reserved, peaks.reserved) << seed;
    EXPECT_EQ(replayed->addresses_equal, replayed->addresses_total) << seed;
  }
}

Job sharded_job() {
  Plan plan;
  plan.batch.micro_batch = 2;
  plan.batch.sequence = 64;
  return *make_job(tests::small_llama({64, 160, 3, 4, 2, 300}), plan, "plan", 2);
}

TEST(AllocationHistory, NamesWhatTheMemoryIsFor) {
  const LabelledHistory history =
      written_and_read(allocation_history(prediction_of(sharded_job()), 0));
  const auto text = [&](traces::StringId id) { return history.texts[id]; };
  // The first product of the first block: its result, which its operator writes.
  const auto is_first_product = [&](const traces::EventLabels& l) {
    return l.step == 1 && text(l.module) == "model.layers.0.self_attn.q_proj";
  };
  const auto product = std::find_if(history.labels.begin(), history.labels.end(), is_first_product);
  ASSERT_NE(product, history.labels.end());
  EXPECT_EQ(text(product->op), "matmul");
  EXPECT_EQ(text(product->phase), "forward");
  EXPECT_EQ(text(product->category), "activations");
  EXPECT_EQ(text(product->call), "");
  // What is gathered, on a stream of its own.
  const auto gathered =
      std::find_if(history.labels.begin(), history.labels.end(), [&](const auto& l) {
        return text(l.call) == "all_gather" && text(l.module) == "model.layers.0";
      });
  ASSERT_NE(gathered, history.labels.end());
  EXPECT_EQ(text(gathered->category), "all_gather");
  const auto n = static_cast<std::size_t>(gathered - history.labels.begin());
  EXPECT_EQ(history.streams[static_cast<std::size_t>(history.history.events[n].stream)],
            "all_gather_copy_in");
}

// A snapshot holds the same events, and at its end what the replayed events lead to.
TEST(AllocationHistory, IsASnapshotToo) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Job job = tests::JobDrawer(seed).draw();
    const LabelledHistory history = allocation_history(prediction_of(job), 0);
    std::ostringstream pickle;
    write_snapshot(snapshot_of(history), pickle);
    const std::string bytes = pickle.str();
    const auto snapshot = traces::parse_snapshot(bytes, "snapshot.pickle");
    ASSERT_TRUE(snapshot) << snapshot.error().text();
    EXPECT_TRUE(snapshot->dropped.empty());
    EXPECT_EQ(traces::history_of(*snapshot, 0).misfits, 0);
    const LabelledHistory read = labelled_history_of(*snapshot, 0);
    EXPECT_TRUE(read.history.start.empty());
    EXPECT_EQ(read.history.rules, history.history.rules);
    ASSERT_EQ(read.labels.size(), history.labels.size());
    for (std::size_t n = 0; n < read.labels.size(); ++n) {
      const HistoryEvent &a = history.history.events[n], &b = read.history.events[n];
      ASSERT_EQ(a.action, b.action);
      ASSERT_EQ(a.stream, b.stream);
      ASSERT_EQ(a.address, b.address);
      ASSERT_EQ(a.bytes, b.bytes);
      ASSERT_EQ(history.labels[n].step, read.labels[n].step);
      ASSERT_EQ(history.labels[n].time_us, read.labels[n].time_us);
      for (const auto& [key, label] : traces::kTextLabels) {
        ASSERT_EQ(history.texts[history.labels[n].*label], read.texts[read.labels[n].*label])
            << key;
      }
    }
    const auto replayed = replay(history.history, {});
    ASSERT_TRUE(replayed);
    ASSERT_EQ(replayed->end.size(), snapshot->segments.size());
    for (std::size_t s = 0; s < replayed->end.size(); ++s) {
      const auto& blocks = snapshot->segments[s].blocks;
      ASSERT_EQ(replayed->end[s].address, snapshot->segments[s].address);
      ASSERT_EQ(replayed->end[s].blocks.size(), blocks.size());
      for (std::size_t b = 0; b < blocks.size(); ++b) {
        ASSERT_EQ(replayed->end[s].blocks[b].bytes, blocks[b].bytes);
        ASSERT_EQ(replayed->end[s].blocks[b].use, blocks[b].use);
        ASSERT_EQ(blocks[b].stack < 0, blocks[b].use == SegmentState::Use::free);
      }
    }
  }
}

TEST(AllocationHistory, EndsWhereMemoryRunsOut) {
  const Job job = sharded_job();
  const std::int64_t too_little = prediction_of(job).ranks_memory[0].peaks.reserved - 1;
  const Prediction p = prediction_of(job, too_little);
  ASSERT_TRUE(p.oom);
  const LabelledHistory history = written_and_read(allocation_history(p, 0));
  const HistoryEvent& last = history.history.events.back();
  EXPECT_EQ(last.action, AllocatorAction::oom);
  EXPECT_EQ(last.bytes, p.oom->request.requested);
  EXPECT_EQ(last.device_free, too_little - p.oom->request.reserved);
  EXPECT_EQ(history.labels.back().step, p.oom->step);
  EXPECT_EQ(history.labels.back().instruction, p.oom->instruction);
  EXPECT_EQ(history.texts[history.labels.back().op], p.oom->operator_name);
}

}  // namespace
}  // namespace foreshard::simulator
