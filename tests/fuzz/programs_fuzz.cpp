// Any bytes as programs: an error, or programs that read back as they were written and can be listed
// and predicted.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "models/program/program_json.hpp"
#include "simulator/predict/prediction.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foreshard;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto programs = parse_programs(text, "file");
  if (!programs) return 0;
  const std::string written = to_json(*programs);
  const auto again = parse_programs(written, "file");
  if (!again || to_json(*again) != written) std::abort();
  for (const RankProgram& program : programs->programs) {
    for (std::size_t n = 0; n < program.programs.size(); ++n) {
      if (stable_keys(program, program.programs[n], program_name(program, n), program.tree)
              .size() != program.programs[n].instructions.size()) {
        std::abort();
      }
      to_text(program, program.programs[n], program.tree);
    }
  }
  simulator::PredictionOptions options;
  options.keeps_memory_records = true;
  options.wants_time = programs->class_of_rank.size() <= 8;
  const auto prediction = simulator::predict(simulator::program_set(std::move(*programs)), options);
  if (options.wants_time) simulator::to_trace(prediction, "fuzz");
  return 0;
}
