// Any bytes as what the hooks of a rehearsal captured, a device's log and operators behind an empty line: an
// error, or a program that is whole or refused.
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>

#include "models/program/check_program.hpp"
#include "profiler/rehearsal/program/step_program.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foreshard;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t middle = text.find("\n\n");
  if (middle == std::string_view::npos) return 0;
  profiler::CapturedStep step;
  std::istringstream log{std::string(text.substr(0, middle))};
  step.log = profiler::parse_device_log(log);
  step.graphs = step.log.graphs;
  if (!profiler::parse_operators(text.substr(middle + 2), "fuzz", step)) return 0;
  const profiler::RehearsedProgram made = profiler::step_program(step);
  (void)check_program(made.program, "fuzz", "program");
  return 0;
}
