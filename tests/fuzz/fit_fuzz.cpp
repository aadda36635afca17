// Any bytes as a trace to learn from: an error, or costs that a prediction can ask.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "simulator/costs/cost_model.hpp"
#include "simulator/fit/fit.hpp"
#include "traces/fst/fst_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foreshard;
  static const std::string path =
      (std::filesystem::temp_directory_path() / ("fit_fuzz." + std::to_string(::getpid()) + ".fst"))
          .string();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  const auto trace = traces::read_fst(path);
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  if (!trace) return 0;
  const auto fitted = simulator::fit({{path, &*trace}});
  if (!fitted || !simulator::check_cost_table(fitted->table, path)) return 0;
  const auto costs = simulator::table_costs(fitted->table, 2);
  for (const simulator::ThreadCountCosts& regime : fitted->table.regimes) {
    for (const auto& [key, cost] : regime.measured) {
      if (!(costs->estimate(key, {}).ns >= 0)) std::abort();
    }
  }
  if (simulator::fit_report(fitted->table).empty()) std::abort();
  return 0;
}
