#include "gui/models/session/sentences.hpp"

#include <gtest/gtest.h>

#include "tests/traces/sample_trace.hpp"
#include "traces/open/read_trace.hpp"

namespace foreshard::gui {
namespace {

std::string text(const QString& sentence) {
  return sentence.toStdString();
}

DocumentPtr shown(traces::Trace trace) {
  return make_document(std::move(trace), Source::measured, QStringLiteral("run.fst"), {});
}

std::string only_warning(traces::Trace trace) {
  const auto all = warnings(*shown(std::move(trace)));
  return all.size() == 1 && all.front().state == Role::warn ? text(all.front().text)
                                                            : std::to_string(all.size());
}

TEST(Sentences, AWholeTraceHasNothingToWarnOf) {
  traces::Trace trace = traces::sample_trace();
  trace.complete = true;
  trace.dropped.clear();
  trace.dropped_ranges.clear();
  EXPECT_EQ(warnings(*shown(trace)).size(), 0U);
  const auto status = status_of(*shown(trace));
  ASSERT_FALSE(status.empty());
  EXPECT_EQ(text(status.front().text), "Complete, nothing dropped");
  EXPECT_EQ(status.front().state, Role::ok);
}

TEST(Sentences, WhatAnImporterLeavesOutIsNotLost) {
  const auto read = traces::read_trace(FORESHARD_SOURCE_DIR "/traces/samples/drawn_gpu");
  ASSERT_TRUE(read);
  traces::Trace trace = *read;
  trace.dropped["flow events"] = 3737;
  Document document = *shown(std::move(trace));
  document.kind = traces::RecordingKind::kineto;
  EXPECT_EQ(text(status_of(document).front().text), "Complete, nothing dropped");
}

TEST(Sentences, AnEmptyTraceWasRecordedWithoutAStep) {
  EXPECT_EQ(only_warning({}), "run.fst holds no events. It was recorded, but no step finished.");
}

TEST(Sentences, AStoppedRunTellsUntilWhen) {
  traces::Trace trace = traces::sample_trace();
  trace.dropped.clear();
  trace.dropped_ranges.clear();
  trace.complete = false;
  trace.steps = {{0, 7, 1'000, 3'000'000'000, 0, 0}};
  trace.complete_until_ns = 1'241'001'000;
  EXPECT_EQ(only_warning(trace),
            "This run was stopped: complete until 1.241 s of step 7. Later events are missing.");
  trace.complete_until_ns = 0;
  EXPECT_EQ(only_warning(trace), "This run was stopped: parts of it are missing.");
}

TEST(Sentences, DamagedAndCutShortFilesAreTold) {
  traces::Trace trace = traces::sample_trace();
  trace.complete = false;
  trace.complete_until_ns = 0;
  trace.dropped_ranges.clear();
  trace.dropped = {{"truncated tables (damaged file)", 1}};
  EXPECT_EQ(only_warning(trace), "run.fst is damaged; copy it again.");
  trace.dropped = {{"end of the file (truncated)", 1}};
  EXPECT_EQ(only_warning(trace), "run.fst is cut short: parts of it are missing.");
}

TEST(Sentences, DroppedRecordsMakeIdleTimeDoubtful) {
  traces::Trace trace = traces::sample_trace();
  trace.complete = true;
  trace.dropped = {{"buffer full", 1208}};
  trace.dropped_ranges.clear();
  EXPECT_EQ(only_warning(trace),
            "1,208 records were dropped while recording. Idle time there is not reliable.");
  const auto status = status_of(*shown(trace));
  ASSERT_FALSE(status.empty());
  EXPECT_EQ(text(status.front().text), "1,208 records dropped");
}

// An importer counts what it has no use for, and the trace that it wrote carries the count.
TEST(Sentences, WhatAnImporterLeavesOutIsNotDropped) {
  traces::Trace trace = traces::sample_trace();
  trace.dropped_ranges.clear();
  trace.dropped = {{"rows of unsupported table PROFILER_OVERHEAD", 6}};
  for (const char* source : {"nsys", "kineto", "snapshot"}) {
    trace.metadata["source"] = source;
    EXPECT_TRUE(warnings(*shown(trace)).empty());
    EXPECT_EQ(text(status_of(*shown(trace)).front().text), "Complete, nothing dropped");
  }
  trace.metadata["source"] = "cupti";  // recorded, not imported
  EXPECT_FALSE(warnings(*shown(trace)).empty());
}

TEST(Sentences, DroppedRangesHaveTheirTimes) {
  traces::Trace trace = traces::sample_trace();  // whose first event begins at 1 ms
  trace.dropped_ranges = {{0, false, 2'000'000, 3'000'000, 1208}};
  EXPECT_EQ(only_warning(trace),
            "At least 1,208 records were dropped between 1.000 ms and 2.000 ms. Idle time there is "
            "not reliable.");
  EXPECT_EQ(text(status_of(*shown(trace)).front().text), "3 records dropped");
  trace.dropped.clear();
  EXPECT_EQ(text(status_of(*shown(trace)).front().text), "Records dropped");
  trace.dropped_ranges.push_back({1, false, 3'500'000, 4'000'000, 2});
  EXPECT_EQ(only_warning(trace),
            "At least 1,210 records were dropped between 1.000 ms and 3.000 ms, in 2 ranges. "
            "Idle time there is not reliable.");
  trace.dropped_ranges = {{traces::kNone, false, 2'000'000, 2'000'000, 1}};
  EXPECT_EQ(only_warning(trace),
            "The recorder reported at 0 ns of step 2 that it had dropped records. Idle time before "
            "that is "
            "not reliable.");
  trace.dropped_ranges = {{0, true, 1'500'000, 1'700'000, 1}};
  EXPECT_EQ(only_warning(trace),
            "At least 1 of the allocator's records are missing between 500.0 us and 700.0 us of "
            "step 1. Which "
            "memory was in use there is not known.");
}

TEST(Sentences, CostsAreToldByTheirShareOfTheTime) {
  traces::Trace trace = traces::sample_trace();
  trace.events.update_all([&](traces::Event& event) {
    if (trace.lanes[static_cast<std::size_t>(event.lane)].device) {
      event.cost_source = event.step < 3 ? CostSource::measured : CostSource::fitted;
    }
  });
  EXPECT_EQ(text(status_of(*shown(trace)).back().text), "Costs: 66.7 % measured, 33.3 % fitted");
  EXPECT_EQ(status_of(*shown(trace)).back().state, Role::ok);
  trace.events.update_all([](traces::Event& event) {
    if (event.cost_source != CostSource::none) event.cost_source = CostSource::modelled;
  });
  trace.metadata["data_sheet"] = "H100 SXM";
  EXPECT_EQ(text(status_of(*shown(trace)).back().text),
            "Costs: all modelled from the data sheet of H100 SXM");
  EXPECT_EQ(status_of(*shown(trace)).back().state, Role::warn);
}

TEST(Sentences, ProgressHasPercentAndSize) {
  EXPECT_EQ(text(loading_text({QStringLiteral("run.json"), 0, 0, 0})), "Reading run.json");
  EXPECT_EQ(text(loading_text({QStringLiteral("run.json"), 1 << 20, 4 << 20, 0})),
            "Reading run.json: 25 % of 4.000 MiB");
  EXPECT_EQ(text(loading_text({QStringLiteral("run.fst"), 412'000, 1'060'000, 0, true})),
            "Reading run.fst: 412,000 of 1,060,000 events");
  EXPECT_EQ(text(loading_text({QStringLiteral("run.json"), 4, 4, 0})), "Looking through run.json");
}

TEST(Sentences, FilesThatAreNoTracesAreNamedWithWhatIsOpened) {
  const auto error = traces::wrong_kind("/somewhere/notes.json", traces::RecordingKind::nsys,
                                        traces::every_recording().expected);
  EXPECT_EQ(
      text(error_text(error.value())),
      "notes.json is not a trace: it is an Nsight Systems export (SQLite). Foreshard opens .fst, "
      "PyTorch profiler JSON, Nsight SQLite, memory snapshots.");
}

TEST(Sentences, NewerFilesNameBothFormats) {
  EXPECT_EQ(text(error_text({"/a/run.fst", "format_version",
                             "is 4; expected 2, the version that this foreshard reads"})),
            "run.fst was written by a newer Foreshard (format 4; this one reads up to 2).");
  EXPECT_EQ(text(error_text({"/a/run.fst", "format_version", "is 1; expected 2"})),
            "run.fst: format_version is 1; expected 2.");
}

TEST(Sentences, WhatCannotBeOpenedInPartSaysWhatToDo) {
  const auto advice = [](traces::RecordingKind kind) {
    PartOffer offer;
    offer.path = "/somewhere/run.json";
    offer.kind = kind;
    return text(no_part_text(offer));
  };
  using Kind = traces::RecordingKind;
  EXPECT_NE(advice(Kind::kineto).find("run.json has no index of its steps"), std::string::npos);
  EXPECT_NE(advice(Kind::kineto).find("`foreshard import kineto`"), std::string::npos);
  EXPECT_NE(advice(Kind::nsys).find("`foreshard import nsys`"), std::string::npos);
  EXPECT_NE(advice(Kind::perfetto_export).find("exported from a trace (.fst)"), std::string::npos);
  EXPECT_NE(advice(Kind::snapshot).find("smaller max_entries"), std::string::npos);
  EXPECT_NE(advice(Kind::fst).find("has no steps to choose from"), std::string::npos);
}

TEST(Sentences, MemoryIsAskedForOnlyWhereItLacks) {
  EXPECT_TRUE(too_large_text(10, 20).isEmpty());
  EXPECT_TRUE(too_large_text(10, 0).isEmpty());  // not known
  EXPECT_EQ(text(too_large_text(std::int64_t{6} << 30, std::int64_t{3} << 30)),
            "Opening needs about 6 GiB of memory; 3 GiB are free.");
}

}  // namespace
}  // namespace foreshard::gui
