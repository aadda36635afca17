// parse_catalogue: from a table like catalogue/hardware.csv to Machines.
#include <algorithm>
#include <set>

#include "models/base/csv.hpp"
#include "models/base/nearest_names.hpp"
#include "models/hardware/csv_numbers.hpp"
#include "models/hardware/hardware.hpp"

namespace foreshard {
namespace {

constexpr const char* kUsualCapability = "9.0";  // an H100's, as the number of its multiprocessors
constexpr double kMaxNumber = 1e9;               // of any column, in the column's unit

struct TextColumn {
  std::string_view name;
  std::string Machine::*field;
};

struct RateColumn {
  std::string_view name;
  double Machine::*field;
  double unit;
};

struct CountColumn {
  std::string_view name;
  std::int64_t Machine::*field;
};

constexpr TextColumn kTexts[] = {
    {"id", &Machine::id},
    {"name", &Machine::name},
    {"vendor", &Machine::vendor},
    {"generation", &Machine::generation},
    {"compute_capability", &Machine::compute_capability},
    {"memory_type", &Machine::memory_type},
    {"link", &Machine::link},
    {"network", &Machine::network},
    {"sources", &Machine::sources},
    {"notes", &Machine::notes},
};

constexpr RateColumn kRates[] = {
    {"memory_tb_s", &Machine::memory_bandwidth, 1e12},
    {"bf16_tflops", &Machine::bf16_flops, 1e12},
    {"fp16_tflops", &Machine::fp16_flops, 1e12},
    {"fp8_tflops", &Machine::fp8_flops, 1e12},
    {"tf32_tflops", &Machine::tf32_flops, 1e12},
    {"fp32_tflops", &Machine::fp32_flops, 1e12},
    {"measured_bf16_tflops", &Machine::measured_bf16_flops, 1e12},
    {"link_gb_s", &Machine::link_bandwidth, 1e9},
    {"host_gb_s", &Machine::host_bandwidth, 1e9},
    {"network_gb_s", &Machine::network_bandwidth, 1e9},
    {"oversubscription", &Machine::oversubscription, 1},
    {"tdp_w", &Machine::watts, 1},
    {"boost_mhz", &Machine::boost_mhz, 1},
    {"clock_mhz", &Machine::clock_mhz, 1},
};

constexpr CountColumn kCounts[] = {
    {"multiprocessors", &Machine::multiprocessors},
    {"gpus_per_node", &Machine::gpus_per_node},
    {"nodes_per_leaf", &Machine::nodes_per_leaf},
};

constexpr std::string_view kOtherColumns[] = {"marketed_gb", "usable_mib", "l2_mb", "launch_us",
                                              "placement"};
constexpr std::string_view kNeeded[] = {"id", "memory_tb_s", "fp32_tflops"};

std::vector<std::string_view> known_columns() {
  std::vector<std::string_view> names(std::begin(kOtherColumns), std::end(kOtherColumns));
  for (const TextColumn& column : kTexts) names.push_back(column.name);
  for (const RateColumn& column : kRates) names.push_back(column.name);
  for (const CountColumn& column : kCounts) names.push_back(column.name);
  return names;
}

std::optional<Error> wrong_columns(const CsvTable& table, const std::string& file) {
  const std::vector<std::string_view> known = known_columns();
  std::set<std::string> seen;
  for (const std::string& name : table.columns) {
    if (!seen.insert(name).second)
      return Error{file, name, "is a duplicate column; expected each column once"};
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return Error{file, name,
                 "is not a column of a catalogue; expected those of hardware.csv" +
                     did_you_mean(nearest_names(name, {known.begin(), known.end()}))};
  }
  for (const std::string_view name : kNeeded) {
    if (!table.column(name)) return Error{file, std::string(name), "is missing; expected a column"};
  }
  return std::nullopt;
}

class MachineReader {
 public:
  MachineReader(const CsvTable& table, const CsvRow& row, const std::string& file)
      : table_(table), row_(row), where_(file + ":" + std::to_string(row.line)) {}

  Result<Machine> read() {
    Machine machine;
    for (const TextColumn& column : kTexts) machine.*column.field = table_.at(row_, column.name);
    for (const RateColumn& column : kRates) {
      if (const auto value = number(column.name)) machine.*column.field = *value * column.unit;
    }
    for (const CountColumn& column : kCounts) {
      if (const auto value = number(column.name)) {
        machine.*column.field = static_cast<std::int64_t>(*value);
      }
    }
    if (const auto value = number("l2_mb")) machine.l2_cache = Bytes{to_integer(*value * 1048576)};
    if (const auto value = number("launch_us")) {
      machine.launch_overhead = Nanoseconds{to_integer(*value * 1000)};
    }
    if (machine.name.empty()) machine.name = machine.id;
    const bool is_by_nvidia = machine.vendor.empty() || machine.vendor == "NVIDIA";
    if (machine.compute_capability.empty() && is_by_nvidia && !is_tpu(machine)) {
      machine.compute_capability = kUsualCapability;
    }
    const std::string_view placement = table_.at(row_, "placement");
    machine.is_scattered = placement == "scattered";
    if (!placement.empty() && placement != "packed" && !machine.is_scattered) {
      wrong("placement", "is \"" + std::string(placement.substr(0, 60)) +
                             "\"; expected \"packed\" or \"scattered\"");
    }
    read_memory(machine);
    check(machine);
    if (error_) return tl::unexpected(*error_);
    return machine;
  }

 private:
  static std::int64_t to_integer(double value) { return static_cast<std::int64_t>(value); }

  void read_memory(Machine& machine) {
    if (const auto usable = number("usable_mib")) {
      machine.memory = Bytes{to_integer(*usable * 1048576)};
    } else if (const auto marketed = number("marketed_gb")) {
      const bool has_inline_ecc = machine.memory_type == "GDDR6";
      const double usable_part = has_inline_ecc ? 0.92 : 0.98;
      machine.memory = kMiB * to_integer(*marketed * 1024 * usable_part);
      machine.memory_is_estimate = true;
    }
  }

  void check(const Machine& machine) {
    if (machine.id.empty()) wrong("id", "is empty; expected a name");
    if (machine.memory.count <= 0) {
      wrong("usable_mib", "and marketed_gb are missing or zero; expected one of them");
    }
    if (machine.memory_bandwidth <= 0) wrong("memory_tb_s", "is missing; expected TB/s");
    if (machine.fp32_flops <= 0) wrong("fp32_tflops", "is missing; expected TFLOP/s");
    if (machine.host_bandwidth <= 0) wrong("host_gb_s", "is 0; expected GB/s");
    if (machine.network_bandwidth <= 0) wrong("network_gb_s", "is 0; expected GB/s");
    if (machine.clock_mhz > 0 && machine.boost_mhz <= 0) {
      wrong("clock_mhz", "has no boost_mhz with it; expected the clock that the TFLOP/s are of");
    }
    if (machine.oversubscription < 1) wrong("oversubscription", "is below 1; expected 1 or more");
    if (machine.multiprocessors < 1) wrong("multiprocessors", "is below 1; expected 1 or more");
    if (machine.gpus_per_node < 1) wrong("gpus_per_node", "is below 1; expected 1 or more");
  }

  std::optional<double> number(std::string_view name) {
    const std::string_view field = table_.at(row_, name);
    if (field.empty()) return std::nullopt;
    const std::optional<double> value = csv_number(field);
    if (value && *value >= 0 && *value <= kMaxNumber) return value;
    wrong(name, "is \"" + std::string(field.substr(0, 60)) + "\"; expected a number from 0 to 1e9");
    return std::nullopt;
  }

  void wrong(std::string_view column, const std::string& message) {
    if (!error_) error_ = Error{where_, std::string(column), message};
  }

  const CsvTable& table_;
  const CsvRow& row_;
  std::string where_;
  std::optional<Error> error_;
};

}  // namespace

Result<std::vector<Machine>> parse_catalogue(std::string_view csv, const std::string& file) {
  const Result<CsvTable> table = parse_csv(csv, file);
  if (!table) return tl::unexpected(table.error());
  if (const std::optional<Error> error = wrong_columns(*table, file)) {
    return tl::unexpected(*error);
  }
  std::vector<Machine> machines;
  for (const CsvRow& row : table->rows) {
    Result<Machine> machine = MachineReader(*table, row, file).read();
    if (!machine) return tl::unexpected(machine.error());
    machines.push_back(std::move(*machine));
  }
  return machines;
}

}  // namespace foreshard
