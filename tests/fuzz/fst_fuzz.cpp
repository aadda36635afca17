// Any bytes as a trace: an error, or a trace that can be analysed, exported and written again.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <unistd.h>

#include "profiler/analysis/analysis.hpp"
#include "profiler/report/analysis_report.hpp"
#include "traces/export/chrome_export.hpp"
#include "traces/export/csv_export.hpp"
#include "traces/fst/fst_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace traces = foreshard::traces;
  static const std::string path =
      (std::filesystem::temp_directory_path() / ("fst_fuzz." + std::to_string(::getpid()) + ".fst"))
          .string();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  const auto trace = traces::read_fst(path);
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  if (!trace) return 0;
  std::ostringstream out;
  traces::write_chrome(*trace, out);
  traces::write_events_csv(*trace, out);
  traces::write_memory_csv(*trace, out);
  const auto analysis = foreshard::profiler::analyse(*trace);
  out << foreshard::profiler::to_json(analysis) << foreshard::profiler::report_text(analysis);
  if (out.str().empty()) std::abort();
  return 0;
}
