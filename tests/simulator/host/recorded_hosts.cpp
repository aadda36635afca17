#include "tests/simulator/host/recorded_hosts.hpp"

#include <cmath>

#include "models/base/csv.hpp"
#include "models/base/text_file.hpp"
#include "tests/simulator/predict/h100.hpp"

namespace foreshard::simulator {
namespace {

CsvTable golden(const char* name) {
  const std::string file = std::string(FORESHARD_SOURCE_DIR) + "/tests/golden/host/" + name;
  return parse_csv(read_text_file(file, "a golden file", kMiB).value(), file).value();
}

double number(const CsvTable& table, const CsvRow& row, const char* column) {
  return std::stod(std::string(table.at(row, column)));
}

}  // namespace

std::vector<RecordedStep> recorded_steps() {
  const CsvTable table = golden("steps.csv");
  std::vector<RecordedStep> steps;
  for (const CsvRow& row : table.rows) {
    steps.push_back({std::string(table.at(row, "id")), number(table, row, "ms")});
  }
  return steps;
}

traces::Trace recorded_ranges(const std::string& id) {
  const CsvTable table = golden("ranges.csv");
  traces::Trace trace;
  trace.metadata = {{"source", "kineto"}, {"device.0", "NVIDIA H100 80GB HBM3"}, {"ranks", "8"}};
  trace.lanes = {{0, false, trace.strings.intern("python")}};
  traces::Event event;
  event.kind = traces::EventKind::host;
  for (const CsvRow& row : table.rows) {
    if (table.at(row, "recording") != id) continue;
    event.name = trace.strings.intern(table.at(row, "name"));
    for (auto n = std::llround(number(table, row, "count")); n > 0; --n) {
      event.start_ns = event.end_ns;
      event.end_ns += std::llround(1000 * number(table, row, "lower_decile_us"));
      trace.events.push_back(event);
    }
  }
  return trace;
}

Job recorded_job(const std::string& id) {
  Plan plan;
  plan.operators = OperatorSetName::pytorch_eager;
  plan.batch.micro_batch = 2;
  plan.batch.sequence = 2048;
  plan.optimizer.kernel = OptimizerKernel::foreach;
  plan.pytorch.version = {2, 11};
  if (id == "1b_ac_full") plan.checkpointing.mode = CheckpointMode::full;
  if (id == "1b_hf") plan.pytorch.implementation = ImplementationName::transformers;
  return make_job(*load_llama_config("llama-3.2-1b"), plan, id, 8, 1, &h100()).value();
}

}  // namespace foreshard::simulator
