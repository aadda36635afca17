#include "models/hardware/hardware.hpp"

#include <algorithm>
#include <cstdlib>

#include "models/base/csv.hpp"
#include "models/base/lower_case.hpp"
#include "models/base/nearest_names.hpp"
#include "models/base/text_file.hpp"
#include "models/hardware/catalogue/catalogue_text.hpp"
#include "models/hardware/csv_numbers.hpp"

namespace foreshard {
namespace {

const Machine* find(const std::vector<Machine>& machines, const std::string& id) {
  const auto found = std::find_if(machines.begin(), machines.end(), [&](const Machine& machine) {
    return lower_case(machine.id) == lower_case(id);
  });
  return found == machines.end() ? nullptr : &*found;
}

tl::unexpected<Error> unknown(const std::string& file, const std::string& id,
                              const std::vector<Machine>& machines) {
  std::vector<std::string> ids;
  for (const Machine& machine : machines) ids.push_back(machine.id);
  const std::string expected = file.empty()
                                   ? "; expected a name that `foreshard list machines` prints, or "
                                     "FILE.csv:ID"
                                   : "; expected the id of one of its rows";
  return fail(
      file, id,
      "is not a machine of the catalogue" + expected + did_you_mean(nearest_names(id, ids)));
}

Result<std::vector<Machine>> load_catalogue(const std::string& path) {
  const Result<std::string> text = read_text_file(path, "a hardware catalogue in CSV");
  if (!text) return tl::unexpected(text.error());
  return parse_catalogue(*text, path);
}

// An instance is a part with another number of devices and another network; what it costs is in instances.hpp.
std::vector<Machine> instances(const std::vector<Machine>& parts) {
  const CsvTable table = parse_csv(instances_csv(), "instances.csv").value();
  std::vector<Machine> machines;
  for (const CsvRow& row : table.rows) {
    const auto number = [&](std::string_view column) {
      return csv_number(table.at(row, column)).value_or(0);
    };
    Machine machine = *find(parts, std::string(table.at(row, "machine")));
    const double gpus = number("gpus");
    const double together = number("gpus_per_node");
    machine.id = table.at(row, "id");
    machine.gpus_per_node = static_cast<std::int64_t>(together > 0 ? together : gpus);
    machine.network = table.at(row, "nic");
    if (number("nic_gbps") > 0) machine.network_bandwidth = number("nic_gbps") * 1e9 / 8 / gpus;
    machine.notes = table.at(row, "notes");
    machines.push_back(std::move(machine));
  }
  return machines;
}

}  // namespace

double Machine::clock_share() const {
  return clock_mhz > 0 && clock_mhz < boost_mhz ? clock_mhz / boost_mhz : 1;
}

double Machine::peak_flops(DType type) const {
  const double own = type == DType::fp8    ? fp8_flops
                     : type == DType::fp16 ? fp16_flops
                     : type == DType::bf16 ? bf16_flops
                                           : 0;
  return own > 0 ? own : fp32_flops;
}

bool is_tpu(const Machine& machine) {
  return machine.generation.starts_with("TPU");
}

const std::vector<Machine>& bundled_machines() {
  static const std::vector<Machine> machines = [] {
    std::vector<Machine> all = parse_catalogue(hardware_csv(), "hardware.csv").value();
    std::vector<Machine> rented = instances(all);
    all.insert(all.end(), std::make_move_iterator(rented.begin()),
               std::make_move_iterator(rented.end()));
    return all;
  }();
  return machines;
}

Result<Machine> load_machine(const std::string& id_or_path) {
  const std::size_t extension = id_or_path.rfind(".csv:");
  if (extension != std::string::npos) {
    const std::string path = id_or_path.substr(0, extension + 4);
    const std::string id = id_or_path.substr(extension + 5);
    const Result<std::vector<Machine>> machines = load_catalogue(path);
    if (!machines) return tl::unexpected(machines.error());
    if (const Machine* machine = find(*machines, id)) return *machine;
    return unknown(path, id, *machines);
  }
  std::vector<Machine> machines;
  if (const char* path = std::getenv("FORESHARD_CATALOGUE"); path != nullptr && *path != '\0') {
    Result<std::vector<Machine>> own = load_catalogue(path);
    if (!own) return tl::unexpected(own.error());
    machines = std::move(*own);
  }
  machines.insert(machines.end(), bundled_machines().begin(), bundled_machines().end());
  if (const Machine* machine = find(machines, id_or_path)) return *machine;
  return unknown("", id_or_path, machines);
}

std::vector<InterconnectFact> interconnect_facts() {
  const CsvTable table = parse_csv(interconnect_csv(), "interconnect.csv").value();
  std::vector<InterconnectFact> facts;
  for (const CsvRow& row : table.rows) {
    const auto text = [&](std::string_view column) { return std::string(table.at(row, column)); };
    const auto number = [&](std::string_view column) {
      return csv_number(table.at(row, column)).value_or(0);
    };
    InterconnectFact fact;
    fact.kind = text("kind");
    fact.machine = text("machine");
    fact.system = text("system");
    fact.link = text("link");
    fact.collective = text("collective");
    fact.algorithm = text("algorithm");
    fact.meaning = text("meaning");
    fact.sources = text("sources");
    fact.notes = text("notes");
    fact.gpus = static_cast<std::int64_t>(number("gpus"));
    fact.nodes = static_cast<std::int64_t>(number("nodes"));
    fact.link_bandwidth = number("link_gb_s") * 1e9;
    fact.node_bandwidth = number("node_nic_gb_s") * 1e9;
    fact.payload = Bytes{static_cast<std::int64_t>(number("payload_bytes"))};
    fact.value = number("value_gb_s") * 1e9;
    facts.push_back(std::move(fact));
  }
  return facts;
}

}  // namespace foreshard
