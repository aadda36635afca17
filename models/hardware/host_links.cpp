#include "models/hardware/host_links.hpp"

#include <algorithm>

#include "models/base/csv.hpp"
#include "models/hardware/catalogue/catalogue_text.hpp"
#include "models/hardware/csv_numbers.hpp"

namespace foreshard {
namespace {

constexpr std::string_view kAnyHost = "any";

struct LinkRate {
  std::string_view column;
  double HostLinks::*field;
  double unit;
};

constexpr LinkRate kLinkRates[] = {
    {"uplink_gb_s", &HostLinks::uplink_bandwidth, 1e9},
    {"link_share", &HostLinks::link_share, 1},
    {"memory_gb_s", &HostLinks::memory_bandwidth, 1e9},
    {"memory_share", &HostLinks::memory_share, 1},
    {"work_gb_s", &HostLinks::work_bandwidth, 1e9},
    {"write_gb_s", &HostLinks::write_bandwidth, 1e9},
    {"read_gb_s", &HostLinks::read_bandwidth, 1e9},
};

// What a line leaves out stays as it is.
void read_host(const CsvTable& table, const CsvRow& row, HostLinks& host) {
  for (const LinkRate& rate : kLinkRates) {
    if (const auto value = csv_number(table.at(row, rate.column))) {
      host.*rate.field = *value * rate.unit;
    }
  }
  if (const auto devices = csv_number(table.at(row, "devices"))) {
    host.devices = static_cast<std::int64_t>(*devices);
  }
  if (const auto uplinks = csv_number(table.at(row, "uplinks"))) {
    host.uplinks = static_cast<std::int64_t>(*uplinks);
  }
  if (!table.at(row, "storage").empty()) host.storage = table.at(row, "storage");
  host.sources = table.at(row, "sources");
}

}  // namespace

HostLinks host_links_of(const Machine& machine) {
  static const CsvTable table = parse_csv(host_links_csv(), "host_links.csv").value();
  const auto read_line_of = [](std::string_view id, HostLinks& host) {
    const auto row =
        std::find_if(table.rows.begin(), table.rows.end(),
                     [&](const CsvRow& candidate) { return table.at(candidate, "id") == id; });
    if (row != table.rows.end()) read_host(table, *row, host);
  };
  HostLinks host;
  read_line_of(kAnyHost, host);
  const auto& all = bundled_machines();
  const auto part = std::find_if(all.begin(), all.end(),
                                 [&](const Machine& other) { return other.name == machine.name; });
  if (part != all.end() && part->id != machine.id) read_line_of(part->id, host);
  read_line_of(machine.id, host);
  host.devices = std::min(host.devices, machine.gpus_per_node);
  return host;
}

}  // namespace foreshard
