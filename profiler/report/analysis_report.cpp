#include "profiler/report/analysis_report.hpp"

#include <algorithm>
#include <utility>

#include "profiler/report/format.hpp"
#include "profiler/report/report_memory.hpp"
#include "profiler/report/report_notes.hpp"
#include "profiler/report/report_sentences.hpp"
#include "profiler/report/report_tables.hpp"

namespace foreshard::profiler {

std::string report_text(const Analysis& analysis) {
  std::string text;
  for (const std::string& alarm : report_alarms(analysis)) text += wrap("warning: " + alarm, 9);
  std::vector<std::string> sentences = report_sentences(analysis);
  if (analysis.predicted) sentences.front().insert(0, "This is a prediction. ");
  for (const std::string& sentence : sentences) text += wrap(sentence, 2);
  text += times_table(analysis) + gaps_lines(analysis) + work_tables(analysis);
  if (const RankAnalysis* const rank = fullest_rank(analysis)) {
    text += memory_over_time(*rank) + memory_at_the_peak(*rank);
  }
  std::string notes;
  if (analysis.gpu_libraries) {
    notes += wrap("Computed with " + sentence(*analysis.gpu_libraries) + ".", 2);
  }
  for (const GpuMemory& gpu : analysis.gpus) notes += wrap(sentence(gpu), 2);
  for (const std::string& note : report_notes(analysis)) notes += wrap(note, 2);
  return notes.empty() ? text : text + "\n" + notes;
}

}  // namespace foreshard::profiler
