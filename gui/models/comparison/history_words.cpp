#include "gui/models/comparison/history_words.hpp"

#include <QCoreApplication>
#include <algorithm>

#include "gui/models/base/units_text.hpp"
#include "traces/open/recording_kind.hpp"
#include "traces/snapshot/history.hpp"
#include "traces/snapshot/history_snapshot.hpp"

namespace foreshard::gui {
namespace {

using profiler::ComparedEvent;

constexpr const char* kHistories = "a CUDA memory snapshot or an allocation history (JSON lines)";

Result<traces::LabelledHistory> history_of(const std::string& file) {
  const auto kind = traces::recording_kind(file, kHistories);
  if (!kind) return tl::unexpected(kind.error());
  if (*kind != traces::RecordingKind::snapshot) return traces::read_labelled_history(file);
  const auto snapshot = traces::read_snapshot(file);
  if (!snapshot) return tl::unexpected(snapshot.error());
  const std::optional<int> device = traces::busiest_device(*snapshot);
  if (!device) return fail(file, "", "holds no segments and no events");
  return traces::labelled_history_of(*snapshot, *device);
}

class HistoryText {
  Q_DECLARE_TR_FUNCTIONS(Compare)

 public:
  static QString of(const std::optional<ComparedEvent>& event) {
    if (!event) return {};
    QStringList parts{action(event->action), bytes_figure(event->bytes).text()};
    for (const std::string* label : {&event->op, &event->module, &event->category}) {
      if (!label->empty()) parts << QString::fromStdString(*label);
    }
    return parts.join(QStringLiteral("  "));
  }

  static QString headline(const profiler::HistoryComparison& c) {
    if (c.is_identical()) return tr("Both requested exactly the same memory, in the same order.");
    const QString equal = count_figure(static_cast<std::int64_t>(c.equal)).number;
    const QString all =
        count_figure(static_cast<std::int64_t>(std::max(c.baseline.compared, c.candidate.compared)))
            .number;
    return tr("The first %1 of %2 requests and frees are equal.").arg(equal, all);
  }

  static QString peaks(const profiler::HistoryComparison& c) {
    const auto bytes = [](std::int64_t of) { return bytes_figure(of).text(); };
    if (!c.baseline.peak_allocated || !c.candidate.peak_allocated) {
      return tr("Peak reserved: %1 before, %2 after.")
          .arg(bytes(c.baseline.peak_reserved), bytes(c.candidate.peak_reserved));
    }
    return tr("Peak allocated: %1 before, %2 after; reserved: %3 and %4.")
        .arg(bytes(*c.baseline.peak_allocated), bytes(*c.candidate.peak_allocated),
             bytes(c.baseline.peak_reserved), bytes(c.candidate.peak_reserved));
  }

  static QString surplus(const profiler::HistoryComparison& c) {
    if (c.surplus.empty()) return {};
    const profiler::RequestSurplus& most = c.surplus.front();
    const QString text = most.is_of_candidate
                             ? tr("%1 more requests of %2 for %3 after than before.")
                             : tr("%1 fewer requests of %2 for %3 after than before.");
    return text.arg(count_figure(most.count).number, bytes_figure(most.bytes).text(),
                    QString::fromStdString(most.op));
  }

 private:
  static QString action(traces::AllocatorAction action) {
    switch (action) {
      case traces::AllocatorAction::alloc: return tr("request");
      case traces::AllocatorAction::oom: return tr("out of memory");
      default: return tr("free");
    }
  }
};

void add_rows(HistoryWords& words, const std::vector<profiler::EventPair>& pairs, bool are_equal) {
  for (const profiler::EventPair& pair : pairs) {
    words.rows.push_back(
        {HistoryText::of(pair.baseline), HistoryText::of(pair.candidate), are_equal});
  }
}

}  // namespace

Result<profiler::HistoryComparison> compare_history_files(const std::string& baseline,
                                                          const std::string& candidate) {
  const auto ours = history_of(baseline);
  if (!ours) return tl::unexpected(ours.error());
  const auto theirs = history_of(candidate);
  if (!theirs) return tl::unexpected(theirs.error());
  profiler::HistoryComparison comparison = profiler::compare_histories(*ours, *theirs);
  comparison.baseline.file = baseline;
  comparison.candidate.file = candidate;
  return comparison;
}

HistoryWords words_of(const profiler::HistoryComparison& comparison) {
  HistoryWords words;
  words.state = comparison.is_identical() ? Role::ok : Role::warn;
  words.lead = HistoryText::headline(comparison);
  words.text = HistoryText::peaks(comparison);
  words.detail = HistoryText::surplus(comparison);
  words.before = HistoryText::tr("before");
  words.after = HistoryText::tr("after");
  add_rows(words, comparison.before, true);
  if (comparison.first_difference) add_rows(words, {*comparison.first_difference}, false);
  add_rows(words, comparison.after, false);
  return words;
}

}  // namespace foreshard::gui
