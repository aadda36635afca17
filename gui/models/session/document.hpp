// A document: a recording or a prediction that was opened, with what every view needs of it. It does
// not change once it is there; a live recording and a moved what-if are followed by newer documents.
#pragma once

#include <QString>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/models/timeline/lane_set.hpp"
#include "models/base/error.hpp"
#include "profiler/analysis/analysis.hpp"
#include "simulator/predict/prediction.hpp"
#include "traces/import.hpp"
#include "traces/intervals.hpp"
#include "traces/open/recording_kind.hpp"
#include "traces/trace.hpp"

namespace foreshard::gui {

enum class Source : std::uint8_t { measured, predicted, what_if };

// What a prediction was made from, where the document is one: views that need the program itself, such
// as the explanation of the peak, take it from here.
struct PredictedRun {
  Job job;
  simulator::Prediction prediction;
};

// A step of a recording, of all ranks together.
struct StepSpan {
  std::int32_t number = 0;
  traces::Interval span;
};

// Some steps of a recording that has more.
struct OpenPart {
  traces::StepRange steps, recorded;
};

struct Document {
  QString title;                   // "run.fst"
  QString detail;                  // "llama-3.1-8b · 8 × H100 SXM"; empty where nothing is known
  std::vector<std::string> files;  // with those of its ranks, or one; none: of no file
  Source source = Source::measured;
  traces::RecordingKind kind = traces::RecordingKind::fst;
  std::shared_ptr<const traces::Trace> trace;
  std::shared_ptr<const profiler::Analysis> analysis;
  std::shared_ptr<const LaneSet> lanes;
  traces::Interval extent{0, 1'000'000'000};  // all that was recorded
  std::vector<StepSpan> steps{};              // ascending
  std::shared_ptr<const PredictedRun> run;    // of what-ifs; null: read from a file
  std::optional<OpenPart> part;               // nothing: all of it is open

  std::string path() const { return files.empty() ? std::string() : files.front(); }
  bool is_predicted() const { return source != Source::measured; }
  // The run's plan, from the trace's metadata; nothing for recordings of others.
  std::optional<Plan> plan() const;
  // The moments of the last complete step; everything where no step was recorded.
  traces::Interval steady_step() const;
  // The step at that moment, else the last that began before it, else the first; null where there are none.
  const StepSpan* step_at(std::int64_t ns) const;
  const StepSpan* step(std::int32_t number) const;  // null: it has no such
};
using DocumentPtr = std::shared_ptr<const Document>;

// Reads and analyses; takes seconds for large recordings, so not on the window's thread. `options` may
// select steps, of a trace that has them.
Result<DocumentPtr> open_document(const std::string& path,
                                  const traces::ImportOptions& options = {});

// Files of PyTorch's profiler, of any ranks of any runs: a document of each run. Those that do not tell
// their rank are runs of their own.
Result<std::vector<DocumentPtr>> open_ranks(const std::vector<std::string>& files,
                                            traces::ImportOptions options = {});

// Whether they seem to be recordings of different ranks of one run.
bool are_ranks_of_one_run(const Document& a, const Document& b);

// Of a trace that was not read from a file.
DocumentPtr make_document(traces::Trace trace, Source source, QString title, QString detail);

}  // namespace foreshard::gui
