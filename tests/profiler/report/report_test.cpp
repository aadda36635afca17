// The report for a person: what stands first, how it reads, and that it fits on a screen.
#include <algorithm>
#include <cstdlib>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "models/base/number_ranges.hpp"
#include "profiler/report/analysis_report.hpp"
#include "profiler/report/format.hpp"
#include "profiler/report/numbered_names.hpp"
#include "profiler/report/report_memory.hpp"
#include "profiler/report/report_notes.hpp"
#include "profiler/report/report_sentences.hpp"
#include "tests/profiler/analysis/hand_made_trace.hpp"

namespace foreshard::profiler {
namespace {

using traces::EventKind;
using traces::MemoryAction;

std::string without_breaks(std::string text) {
  for (std::size_t at = 0; (at = text.find("\n  ", at)) != std::string::npos;)
    text.replace(at, 3, " ");
  return text;
}

TEST(Report, PutsTheAnswerFirst) {
  HandMadeTrace t;
  t.step(0, 1, 0, 20'000'000);
  t.event(0, 0, EventKind::compute, 0, 10'000'000, 1, "matmul");
  t.event(0, 1, EventKind::communication, 5'000'000, 20'000'000, 1, "all_gather");
  t.memory(0, MemoryAction::segment_alloc, 1, 0, 3 << 20)
      .memory(0, MemoryAction::alloc, 2, 0, 3 << 19, "activations", "x");
  const std::string text = without_breaks(report_text(analyse(t.trace)));
  // Compute 10 of 20 ms, never idle, communication 15 of 20 ms of which 5 are hidden.
  EXPECT_TRUE(text.starts_with(
      "A steady step takes 20.00 ms: 50.0 % compute, 75.0 % communication (33.3 % of it overlapped "
      "with compute), 0.0 % idle.\n"
      "Exposed communication takes 10.00 ms (50.0 % of the step), mostly all_gather; more "
      "prefetching, less resharding or larger units would hide some of it.\n"
      "Memory peaks at 1.50 MiB allocated (3.00 MiB reserved) in step 1 during forward: 100.0 % "
      "activations.\n"
      "At the peak, 1.50 MiB (50.0 %) of the reserved memory is not allocated"))
      << text;
}

TEST(Report, SaysWhichStepIsSlowestAndOfWhatItHasMore) {
  HandMadeTrace t;
  std::int64_t at = 0;
  for (int step = 1; step <= 8; ++step) {
    const std::int64_t work = step == 6 ? 16'000'000 : 10'000'000;
    t.step(0, step, at, at + work);
    t.event(0, 0, EventKind::compute, at, at + work, step, "matmul");
    at += work;
  }
  const std::string text = without_breaks(report_text(analyse(t.trace)));
  EXPECT_NE(text.find("Step 6 is the slowest: 16.00 ms against a median of 10.00 ms; the largest "
                      "difference is 6.000 ms more of compute."),
            std::string::npos)
      << text;
}

TEST(Report, AdvisesPrefetchingOfGathersAlone) {
  for (const auto& [name, is_advised] :
       {std::pair("AllGather", true), std::pair("ReduceScatter", false)}) {
    HandMadeTrace t;
    t.step(0, 1, 0, 20'000'000);
    t.event(0, 0, EventKind::compute, 0, 10'000'000, 1, "matmul");
    t.event(0, 1, EventKind::communication, 10'000'000, 20'000'000, 1, name);
    const std::string text = without_breaks(report_text(analyse(t.trace)));
    EXPECT_EQ(text.find("more prefetching") != std::string::npos, is_advised) << text;
  }
}

// A step that its device is done with after its host: 20 ms of work from 2 ms on, while the host takes 21.
TEST(Report, SaysWhatTheSharesAreOfWhereTheDeviceTakesLongerThanTheHost) {
  HandMadeTrace t;
  t.step(0, 1, 0, 21'000'000);
  t.event(0, 0, EventKind::compute, 2'000'000, 22'000'000, 1, "matmul");
  const std::string text = without_breaks(report_text(analyse(t.trace)));
  EXPECT_TRUE(text.starts_with(
      "A steady step takes 21.00 ms, on its device 22.00 ms: 90.9 % compute, 9.1 % idle.\n"))
      << text;
  EXPECT_NE(text.find("step 1  22.0   90.9 %  9.1 %"), std::string::npos) << text;
}

TEST(Report, ShowsLittleMemoryOfTheHostNeitherOfARankNorOfItsSteps) {
  HandMadeTrace t;
  t.step(0, 1, 0, 100);
  t.memory(0, MemoryAction::segment_alloc, 1, 0x10, 3 << 20)
      .memory(0, MemoryAction::alloc, 2, 0x10, 3 << 20)
      .memory(0, MemoryAction::alloc, 3, 0x20, 8, "", "", 1, true);
  const std::string text = report_text(analyse(t.trace));
  EXPECT_EQ(text.find("reserved  host"), std::string::npos) << text;
}

TEST(Report, NamesOfWhatARankHasLess) {
  HandMadeTrace t(2);
  t.memory(0, MemoryAction::alloc, 1, 1, 6 << 20, "parameters", "p")
      .memory(0, MemoryAction::alloc, 2, 2, 4 << 20, "activations", "a")
      .memory(1, MemoryAction::alloc, 1, 1, 6 << 20, "parameters", "p")
      .memory(1, MemoryAction::alloc, 2, 2, 1 << 20, "activations", "a");
  const std::string text = without_breaks(report_text(analyse(t.trace)));
  EXPECT_NE(text.find("Rank 1 peaks at 7.00 MiB, 3.00 MiB less than rank 0; the largest difference "
                      "is 3.00 MiB less activations."),
            std::string::npos)
      << text;
}

TEST(Report, HasNoRowOfARankWithoutTimesAndMemory) {
  HandMadeTrace t;
  t.event(0, -1, EventKind::host, 0, 10'000, 1, "aten::mm");
  EXPECT_EQ(report_text(analyse(t.trace)).find("rank 0"), std::string::npos);
}

TEST(Report, LeavesOutTheRanksOfALargeGroup) {
  for (const auto& [group, text] :
       {std::pair("0 [0, 1]", "all_gather of 2 ranks, group 0 [0, 1]\n"),
        std::pair("0 [0, 1, 2, 3, 4, 5, 6, 7]", "all_gather of 8 ranks, group 0\n")}) {
    Analysis analysis;
    CollectiveCost& cost = analysis.collectives.emplace_back();
    cost.name = "ncclDevKernel_AllGather_RING_LL";
    cost.group = group;
    cost.count = cost.matched = 1;
    cost.total_ns = cost.transfer_ns = 1'000'000;
    cost.bytes = 1 << 20;
    cost.key.op = Operator::all_gather;
    cost.key.dims = {1 << 20, group == std::string("0 [0, 1]") ? 2 : 8};
    EXPECT_NE(report_text(analysis).find(text), std::string::npos) << report_text(analysis);
  }
}

TEST(Report, SaysWhatAStepComputes) {
  Analysis analysis;
  analysis.source = "kineto";
  analysis.step_time_ns = 100'000;
  analysis.steady_step.emplace();
  analysis.steady_step->time.span_ns = 100'000;
  analysis.steady_step->time.compute_ns = 90'000;
  const auto text = [&] { return report_sentences(analysis)[0]; };
  const auto has_note = [&](const std::string& words) {
    const std::vector<std::string> notes = report_notes(analysis);
    return std::any_of(notes.begin(), notes.end(),
                       [&](const std::string& note) { return note.find(words) == 0; });
  };
  EXPECT_EQ(text().find("computes"), std::string::npos);
  EXPECT_TRUE(has_note("FLOPs are not known without shapes"));

  analysis.steady_step->work = StepWork{4e9, 0.5, 0.04, 4096};
  EXPECT_NE(text().find(" It computes 4.00 GFLOP, 40.00 TFLOP/s: 4.0 % MFU, recomputed operators "
                        "included; 40960000 tokens/s (shapes are known of 50.0 % of the compute "
                        "time)."),
            std::string::npos)
      << text();
  EXPECT_FALSE(has_note("FLOPs are not known without shapes") || has_note("MFU"));

  analysis.steady_step->work->mfu = 1.3;
  EXPECT_EQ(text().find("MFU"), std::string::npos);
  EXPECT_TRUE(has_note("MFU is not known: it would be 130.0 %"));
  const auto json = nlohmann::json::parse(to_json(analysis));
  EXPECT_TRUE(json.at("steady_step").at("mfu").is_null());
  EXPECT_EQ(json.at("steady_step").at("flops"), 4e9);
}

TEST(Report, CountsMemoryOutsideTheAllocatorByItself) {
  HandMadeTrace t;
  t.memory(0, MemoryAction::outside_alloc, 1, 0x10, 1 << 20)
      .memory(0, MemoryAction::segment_alloc, 2, 0x20, 3 << 20)
      .memory(0, MemoryAction::outside_alloc, 3, 0x30, 2 << 20)
      .memory(0, MemoryAction::outside_free, 4, 0x10, 1 << 20)
      .memory(0, MemoryAction::alloc, 5, 0x20, 3 << 20);
  const Analysis analysis = analyse(t.trace);
  EXPECT_EQ(analysis.ranks[0].peak.outside_bytes, 3 << 20);
  EXPECT_EQ(analysis.ranks[0].peak.reserved_bytes, 3 << 20);
  EXPECT_EQ(analysis.ranks[0].peak.allocated_bytes, 3 << 20);
  const std::string text = without_breaks(report_text(analysis));
  EXPECT_NE(
      text.find(
          "Libraries and streams ask CUDA for up to 3.00 MiB of a device, outside the allocator."),
      std::string::npos)
      << text;
}

TEST(Report, SaysNothingOfWhatThereIsNot) {
  HandMadeTrace t;
  t.event(0, 0, EventKind::compute, 0, 10'000'000, 1, "matmul");
  const std::string text = report_text(analyse(t.trace));
  EXPECT_TRUE(text.starts_with(
      "Device work spans 10.00 ms: 100.0 % compute, 0.0 % idle.\n"
      "The most expensive device operation is matmul: 100.0 % of all device time (1 call).\n"))
      << text;
  for (const char* absent : {"ommunicat", "emory", "comm.", "allocated", "warning", "0 B", "- "}) {
    EXPECT_EQ(text.find(absent), std::string::npos) << absent << "\n" << text;
  }
}

TEST(Report, NamesTheOwnersWhereNoCategoryIsKnown) {
  HandMadeTrace t;
  t.memory(0, MemoryAction::alloc, 1, 0x10, 300, "before the recording")
      .memory(0, MemoryAction::alloc, 2, 0x20, 400, "", "aten::mm")
      .memory(0, MemoryAction::alloc, 3, 0x30, 290, "", "aten::add")
      .memory(0, MemoryAction::alloc, 4, 0x40, 10, "", "aten::mul");
  const std::string text = without_breaks(report_text(analyse(t.trace)));
  EXPECT_TRUE(
      text.starts_with("Memory peaks at 1000 B allocated during forward: 40.0 % by aten::mm, "
                       "30.0 % from before the recording, 29.0 % by aten::add.\n"))
      << text;
}

TEST(Report, BeginsWithWhatRanOut) {
  HandMadeTrace t;
  t.trace.metadata["source"] = "snapshot";
  t.memory(0, MemoryAction::segment_alloc, 1, 0x10, 4 << 20)
      .memory(0, MemoryAction::alloc, 2, 0x10, 3 << 20, "activations", "x")
      .memory(0, MemoryAction::out_of_memory, 3, 0, 2 << 20);
  EXPECT_TRUE(without_breaks(report_text(analyse(t.trace)))
                  .starts_with("Rank 0 ran out of device memory: allocating 2.00 MiB failed with "
                               "3.00 MiB allocated and 4.00 MiB reserved. `foreshard replay`"));
}

// What was left out by an importer stands last, what our own recorder lost first.
TEST(Report, PutsCountsWhereTheyMatter) {
  HandMadeTrace t(2);
  t.event(0, 0, EventKind::compute, 0, 10, 1, "matmul");
  t.trace.metadata["ranks"] = "4";
  t.trace.dropped["flows"] = 12;
  EXPECT_TRUE(
      report_text(analyse(t.trace)).starts_with("warning: records were lost: flows (12)\n"));
  t.trace.metadata["source"] = "nsys";
  const std::string text = report_text(analyse(t.trace));
  EXPECT_TRUE(text.starts_with("Device work")) << text;
  EXPECT_TRUE(
      text.ends_with("\nThe run has 4 ranks; this trace contains 2.\n"
                     "No device work was recorded on rank 1.\nSkipped records: flows (12).\n"))
      << text;
  t.trace.complete = false;
  EXPECT_TRUE(report_text(analyse(t.trace)).starts_with("warning: this recording is incomplete"));
}

TEST(Report, ShowsMemoryOverTimeWithTheSteps) {
  HandMadeTrace t;
  t.step(0, 1, 0, 64).step(0, 2, 64, 128);
  t.memory(0, MemoryAction::segment_alloc, 0, 0x10, 2048)
      .memory(0, MemoryAction::alloc, 32, 0x10, 1024)
      .memory(0, MemoryAction::free_requested, 64, 0x10, 1024)
      .memory(0, MemoryAction::segment_free, 127, 0x10, 2048);
  const auto times = [](const std::string& text, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += text;
    return all;
  };
  EXPECT_EQ(memory_over_time(analyse(t.trace).ranks[0]),
            "\n  memory of rank 0 over 128 ns\n  allocated |" + times(" ", 16) + times("▄", 17) +
                times(" ", 31) + "| 1.00 KiB\n  reserved  |" + times("█", 64) +
                "| 2.00 KiB\n  steps      |1" + times(" ", 30) + "|2\n");
}

TEST(Report, FitsOnAScreen) {
  HandMadeTrace t(12);
  for (int rank = 0; rank < 12; ++rank) {
    for (int step = 1; step <= 30; ++step) {
      const std::int64_t at = step * 1'000'000'000LL;
      t.trace.steps.push_back({rank, step, at, at + 900'000'000, 0, 0});
      for (int i = 0; i < 3; ++i) {
        traces::Event e;
        e.lane = 3 * rank + 1 + i % 2;
        e.start_ns = at + 200'000'000 * i + rank * 1'000'000;
        e.end_ns = e.start_ns + 250'000'000;
        e.step = step;
        e.kind = i % 2 == 0 ? EventKind::compute : EventKind::communication;
        e.name = t.trace.strings.intern(
            "void at::native::vectorized_elementwise_kernel<" + std::to_string((step + i) % 11) +
            ", at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int)");
        e.unit = t.trace.strings.intern("model.layers." + std::to_string(step));
        t.trace.events.push_back(e);
      }
      traces::MemoryEvent m;
      m.rank = rank;
      m.time_ns = at;
      m.address = step;
      m.bytes = 100LL << 30;
      m.step = step;
      m.category = t.trace.strings.intern("category_" + std::string(1, char('a' + step % 12)));
      m.owner = t.trace.strings.intern(std::string(90, 'o') + std::to_string(step) + "x: role");
      t.trace.memory.push_back(m);
    }
    t.trace.dropped["a reason that takes some words to say " + std::to_string(rank)] = 1000;
  }
  t.trace.metadata["source"] = "kineto";
  traces::sort(t.trace);
  std::istringstream lines(report_text(analyse(t.trace)));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_LE(width(line), report_width()) << line;
  }
  EXPECT_LE(count, 60);
}

TEST(NumberedNames, AreSaidTogether) {
  EXPECT_EQ(joined_units({"layers.3", "layers.0", "layers.1", "layers.2", "root"}, 3),
            "root, layers.0 to 3");
  EXPECT_EQ(joined_units({"layers.0.mlp", "layers.2.mlp"}, 1), "layers.0.mlp and others");
  EXPECT_EQ(joined_units({"layers.0.fc1", "layers.1.fc1", "h7", "h8"}, 3),
            "h7 to 8, layers.0 to 1.fc1");
  EXPECT_EQ(joined_units({}, 3), "");
  EXPECT_EQ(number_ranges({4, 0, 2, 6, 9}), (std::vector<std::string>{"0 to 6 by 2", "9"}));
  EXPECT_EQ(number_ranges({5, 5}), std::vector<std::string>{"5"});
  const auto owners =
      grouped_owners({{"layers.1: linear", 10, 1}, {"loss", 15, 1}, {"layers.0: linear", 10, 2}});
  ASSERT_EQ(owners.size(), 2u);
  EXPECT_EQ(owners[0].name, "layers.0 to 1: linear");
  EXPECT_EQ(owners[0].bytes, 20);
  EXPECT_EQ(owners[0].blocks, 3);
}

TEST(Format, KeepsFiguresWithTheirUnits) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "12.3 GiB, 45.6 % of ";
  std::istringstream lines(wrap(text, 2));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(width(line), report_width());
    EXPECT_FALSE(line.starts_with("  GiB") || line.starts_with("  %")) << line;
  }
  EXPECT_EQ(sparkline({0, 1, 4, 8, 8, 2}, 8, 3), "▁██");
  EXPECT_EQ(sparkline({}, 8, 3), "");
  EXPECT_EQ(duration(1'234'000'000), "1.234 s");
  EXPECT_EQ(duration(12'345'678), "12.35 ms");
  EXPECT_EQ(duration(1'234), "1.234 us");
}

// The widest line of a long text under COLUMNS.
std::size_t widest_line(const char* columns) {
  ::setenv("COLUMNS", columns, 1);
  std::string text;
  for (int word = 0; word < 100; ++word) text += "abc ";
  std::istringstream lines(wrap(text));
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, width(line));
  ::unsetenv("COLUMNS");
  return widest;
}

TEST(Format, LinesAreAsLongAsTheTerminalIsWide) {
  EXPECT_EQ(widest_line("63"), 63u);
  EXPECT_EQ(widest_line("200"), 199u);
  EXPECT_EQ(widest_line("1"), 39u) << "too narrow for a report";
  EXPECT_EQ(widest_line("wide"), 99u);
}

TEST(ReportSentences, NameWhatIsExposedAndWhoIsLate) {
  HandMadeTrace t(2);
  for (int rank = 0; rank < 2; ++rank) {
    t.event(rank, 0, EventKind::compute, 0, 100);
    t.event(rank, 1, EventKind::communication, rank == 0 ? 100 : 160, 200, 1, "all_gather");
  }
  t.trace.events.update_all([&](traces::Event& e) {
    if (e.kind == EventKind::communication) e.unit = t.trace.strings.intern("model.layers.0");
  });
  std::string text;
  for (const std::string& sentence : report_sentences(analyse(t.trace))) text += sentence;
  EXPECT_NE(text.find("all_gather of model.layers.0"), std::string::npos) << text;
  EXPECT_NE(text.find("Rank 1 arrives last at 1 of 1 collective;"), std::string::npos) << text;
}

}  // namespace
}  // namespace foreshard::profiler
