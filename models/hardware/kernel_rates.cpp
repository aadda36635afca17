#include "models/hardware/kernel_rates.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>

#include "models/base/csv.hpp"
#include "models/base/lower_case.hpp"
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
    {"half_rate_product", &KernelRates::half_rate_product},
    {"half_rate_attention", &KernelRates::half_rate_attention},
    {"flash_forward_limit", &KernelRates::flash_forward_limit},
    {"flash_backward_limit", &KernelRates::flash_backward_limit},
    {"cudnn_forward_limit", &KernelRates::cudnn_forward_limit},
    {"cudnn_backward_limit", &KernelRates::cudnn_backward_limit},
    {"efficient_forward_limit", &KernelRates::efficient_forward_limit},
    {"efficient_backward_limit", &KernelRates::efficient_backward_limit},
    {"half_rate_tokens_forward", &KernelRates::half_rate_tokens_forward},
    {"half_rate_tokens_backward", &KernelRates::half_rate_tokens_backward},
    {"memory", &KernelRates::memory},
    {"kernel_us", &KernelRates::kernel_us},
    {"unverified", &KernelRates::unverified},
    {"part_variation", &KernelRates::part_variation},
    {"tile_rows", &KernelRates::tile_rows},
    {"tile_columns", &KernelRates::tile_columns},
};

constexpr std::string_view kAnyGeneration = "any";

struct Generation {
  std::string name;
  KernelRates rates;
};

void read_rates(const CsvTable& table, std::string_view generation, KernelRates& rates) {
  for (const CsvRow& row : table.rows) {
    if (table.at(row, "generation") != generation) continue;
    const auto field =
        std::find_if(std::begin(kRateFields), std::end(kRateFields),
                     [&](const RateField& f) { return f.name == table.at(row, "rate"); });
    if (field == std::end(kRateFields)) {
      throw std::logic_error("kernel_rates.csv: " + std::string(table.at(row, "rate")));
    }
    rates.*(field->field) = {csv_number(table.at(row, "value")).value(),
                             csv_number(table.at(row, "spread")).value(), table.at(row, "source")};
  }
}

// "any" first, and each after the one it inherits from. The bundled tables are a part of the program, as
// are their errors: they throw.
std::vector<Generation> read_generations() {
  static const CsvTable rates = parse_csv(kernel_rates_csv(), "kernel_rates.csv").value();
  const CsvTable names = parse_csv(generations_csv(), "generations.csv").value();
  std::vector<Generation> all{{std::string(kAnyGeneration), {}}};
  read_rates(rates, kAnyGeneration, all[0].rates);
  for (const CsvRow& row : names.rows) {
    const std::string parent(names.at(row, "inherits"));
    const auto from = std::find_if(all.begin(), all.end(),
                                   [&](const Generation& one) { return one.name == parent; });
    if (from == all.end()) throw std::logic_error("generations.csv: " + parent);
    all.push_back({std::string(names.at(row, "generation")), from->rates});
    read_rates(rates, all.back().name, all.back().rates);
  }
  return all;
}

const std::vector<Generation>& generations() {
  static const std::vector<Generation> all = read_generations();
  return all;
}

// nullptr: unknown.
const Generation* find_generation(std::string_view name) {
  const std::string given = lower_case(name);
  const auto found =
      std::find_if(generations().begin() + 1, generations().end(), [&](const Generation& one) {
        return one.name.size() == given.size() && lower_case(one.name) == given;
      });
  return found == generations().end() ? nullptr : &*found;
}

// Matrix units have four times the fp32 peak of the vector units where they accumulate at their full rate.
bool accumulates_at_half_rate(const Machine& machine, const KernelRates& rates) {
  constexpr double kBetweenHalfAndFull = 3;
  return rates.half_rate_product.value > 0 && machine.bf16_flops > 0 &&
         machine.bf16_flops < kBetweenHalfAndFull * machine.fp32_flops;
}

// float8 products stay as much faster as the generation's.
void set_best_product(KernelRates& rates, const KernelRate& best) {
  rates.best_fp8_product.value *= best.value / rates.best_product.value;
  rates.best_product = best;
}

}  // namespace

KernelRates kernel_rates(const Machine& machine) {
  constexpr double kMeasuredSpread = 0.03, kRounding = 0.001;
  const Generation* const generation = find_generation(machine.generation);
  KernelRates rates = (generation != nullptr ? *generation : generations()[0]).rates;
  if (accumulates_at_half_rate(machine, rates)) {
    set_best_product(rates, rates.half_rate_product);
    rates.under_load.value = 1;
    for (KernelRate* const attention : {&rates.flash_forward, &rates.flash_backward,
                                        &rates.cudnn_forward, &rates.cudnn_backward}) {
      *attention = rates.half_rate_attention;
    }
  }
  if (machine.measured_bf16_flops > 0 && machine.bf16_flops > 0) {
    const double measured = machine.measured_bf16_flops / machine.bf16_flops;
    const bool is_the_generations = std::abs(measured - rates.best_product.value) < kRounding;
    if (!is_the_generations) {
      set_best_product(rates, {measured, kMeasuredSpread,
                               "the best product published for the GPU model (hardware.csv)"});
    }
    rates.rated_watts.value = 0;  // measured at the part's own power
  }
  return rates;
}

bool is_known_generation(std::string_view generation) {
  return find_generation(generation) != nullptr;
}

std::vector<std::string> known_generations() {
  std::vector<std::string> names;
  for (const Generation& one : generations()) names.push_back(one.name);
  names.erase(names.begin());
  return names;
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
