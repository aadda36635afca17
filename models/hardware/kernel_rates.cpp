#include "models/hardware/kernel_rates.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>

#include "models/base/csv.hpp"
#include "models/hardware/catalogue/catalogue_text.hpp"
#include "models/hardware/csv_numbers.hpp"

namespace foreshard {
namespace {

struct RateField {
  std::string_view name;
  KernelRate KernelRates::*field;
};

constexpr RateField kRateFields[] = {
    {"best_product", &KernelRates::best_product},
    {"fp8_scaling", &KernelRates::fp8_scaling},
    {"best_fp8_product", &KernelRates::best_fp8_product},
    {"fp32_product", &KernelRates::fp32_product},
    {"under_load", &KernelRates::under_load},
    {"rated_watts", &KernelRates::rated_watts},
    {"idle_power", &KernelRates::idle_power},
    {"flash_forward", &KernelRates::flash_forward},
    {"flash_backward", &KernelRates::flash_backward},
    {"cudnn_forward", &KernelRates::cudnn_forward},
    {"cudnn_backward", &KernelRates::cudnn_backward},
    {"efficient_forward", &KernelRates::efficient_forward},
    {"efficient_backward", &KernelRates::efficient_backward},
    {"half_rate_forward", &KernelRates::half_rate_forward},
    {"half_rate_backward", &KernelRates::half_rate_backward},
    {"memory", &KernelRates::memory},
    {"kernel_us", &KernelRates::kernel_us},
    {"unverified", &KernelRates::unverified},
    {"part_variation", &KernelRates::part_variation},
    {"tile_rows", &KernelRates::tile_rows},
    {"tile_columns", &KernelRates::tile_columns},
};

using Generations = std::map<std::string, KernelRates, std::less<>>;

// The bundled table is a part of the program, as are its errors: they throw.
Generations read_generations() {
  static const CsvTable table = parse_csv(kernel_rates_csv(), "kernel_rates.csv").value();
  Generations generations;
  for (const bool is_default : {true, false}) {
    for (const CsvRow& row : table.rows) {
      const std::string_view generation = table.at(row, "generation");
      if ((generation == "any") != is_default) continue;
      auto found = generations.find(generation);
      if (found == generations.end()) {
        found = generations.emplace(generation, generations["any"]).first;
      }
      const auto field =
          std::find_if(std::begin(kRateFields), std::end(kRateFields),
                       [&](const RateField& f) { return f.name == table.at(row, "rate"); });
      if (field == std::end(kRateFields)) {
        throw std::logic_error("kernel_rates.csv: " + std::string(table.at(row, "rate")));
      }
      found->second.*(field->field) = {csv_number(table.at(row, "value")).value(),
                                       csv_number(table.at(row, "spread")).value(),
                                       table.at(row, "source")};
    }
  }
  return generations;
}

}  // namespace

const KernelRates& kernel_rates(std::string_view generation) {
  static const Generations generations = read_generations();
  const auto found = generations.find(generation);
  return (found != generations.end() ? found : generations.find("any"))->second;
}

MemoryKernel memory_kernel(std::string_view name) {
  static const auto kernels = [] {
    std::map<std::string, MemoryKernel, std::less<>> result;
    const CsvTable table = parse_csv(memory_kernels_csv(), "memory_kernels.csv").value();
    for (const CsvRow& row : table.rows) {
      const auto limit = csv_number(table.at(row, "gb_s_per_multiprocessor"));
      result.emplace(table.at(row, "kernel"),
                     MemoryKernel{csv_number(table.at(row, "share")).value(), limit.value_or(0)});
    }
    return result;
  }();
  const auto found = kernels.find(name);
  return found == kernels.end() ? MemoryKernel{} : found->second;
}

}  // namespace foreshard
