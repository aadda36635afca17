#include "gui/models/comparison/waterfall.hpp"

#include <QCoreApplication>
#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "gui/models/comparison/comparison_words.hpp"

namespace foreshard::gui {
namespace {

class WaterfallWords {
  Q_DECLARE_TR_FUNCTIONS(Compare)
};

std::int64_t category_difference(const profiler::Comparison& comparison, std::string_view name) {
  for (const profiler::CategoryDifference& one : comparison.by_category) {
    if (one.category == name) return one.candidate_ns - one.baseline_ns;
  }
  return 0;
}

bool contains_word(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

struct Families {
  std::int64_t matmul = 0, attention = 0, copies = 0;  // on average over ranks
};

Families families_of(const profiler::Comparison& comparison) {
  Families sums;
  for (const profiler::OperatorDifference& one : comparison.operators) {
    if (one.category != "compute") continue;
    const std::int64_t difference = one.candidate_ns - one.baseline_ns;
    if (contains_word(one.name, "matmul")) {
      sums.matmul += difference;
    } else if (contains_word(one.name, "attention")) {
      sums.attention += difference;
    } else if (contains_word(one.name, "copy")) {
      sums.copies += difference;
    }
  }
  const auto ranks = static_cast<std::int64_t>(std::max<std::size_t>(comparison.ranks.size(), 1));
  return {sums.matmul / ranks, sums.attention / ranks, sums.copies / ranks};
}

}  // namespace

std::vector<WaterfallBar> waterfall_of(const profiler::Comparison& comparison) {
  if (comparison.step_time_error < 0) return {};
  using Words = WaterfallWords;
  const bool is_prediction = side_words(comparison).is_prediction;
  std::vector<WaterfallBar> bars{{is_prediction ? Words::tr("meas.") : Words::tr("before"), 0,
                                  comparison.baseline_step_ns, true}};
  const auto add = [&](const QString& label, std::int64_t difference) {
    const std::int64_t from = bars.back().to_ns;
    bars.push_back({label, from, from + difference, false});
  };
  const Families families = families_of(comparison);
  add(Words::tr("matmul"), families.matmul);
  add(Words::tr("attention"), families.attention);
  add(Words::tr("copies"), families.copies);
  add(Words::tr("other ops"), category_difference(comparison, "compute") - families.matmul -
                                  families.attention - families.copies);
  add(Words::tr("exposed"), category_difference(comparison, "exposed_communication"));
  add(Words::tr("idle"), category_difference(comparison, "idle"));
  add(Words::tr("rest"), comparison.candidate_step_ns - bars.back().to_ns);
  bars.push_back({is_prediction ? Words::tr("pred.") : Words::tr("after"), 0,
                  comparison.candidate_step_ns, true});
  return bars;
}

}  // namespace foreshard::gui
