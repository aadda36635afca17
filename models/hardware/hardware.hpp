// The hardware catalogue: published specifications of accelerators and of cloud instances, so that
// plans can be evaluated for hardware that is not available. Facts and their sources are
// in models/hardware/catalogue/*.csv; peaks are vendors' figures, so costs made from them are "modelled".
//
// Users add machines in a CSV file of their own with the columns of catalogue/hardware.csv. Needed
// are id, memory_tb_s, fp32_tflops and one of usable_mib and marketed_gb; what is left out or empty
// keeps the default below.
//
// Memory is what PyTorch reports on the device where such a reading is published. Elsewhere it is
// estimated from the marketed figure, which for these parts counts GiB: drivers keep about 2 %, and
// 8 % where GDDR6 holds its error-correcting bits in the same memory (readings: 0.919 to 0.928).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/dtype.hpp"
#include "models/base/error.hpp"
#include "models/base/units.hpp"

namespace foreshard {

// One accelerator and its place in a node. Rates are per device, one way, in bytes or
// floating-point operations per second; 0 means that there is none or that it is not known.
struct Machine {
  std::string id;    // h100-sxm, or an instance such as p5.48xlarge
  std::string name;  // as the vendor calls the part
  std::string vendor, generation, compute_capability, memory_type, link, sources, notes;
  std::string network;  // technology of the cards, such as "IB NDR"; empty: not known

  Bytes memory;
  bool memory_is_estimate = false;
  double memory_bandwidth = 0;
  double bf16_flops = 0, fp16_flops = 0, fp8_flops = 0, tf32_flops = 0, fp32_flops = 0;  // dense
  double measured_bf16_flops = 0;  // the best matrix product anyone reports
  double boost_mhz = 0;            // the clock that those rates are of
  double clock_mhz = 0;  // the highest one it is allowed, where that is a lower one; 0: boost_mhz
  std::int64_t multiprocessors = 132;  // default: an H100's
  Bytes l2_cache;

  double link_bandwidth = 0;       // inside a node, all links together; 0: through the host
  double host_bandwidth = 31.5e9;  // default: PCIe 4 x16
  std::int64_t gpus_per_node = 8;  // devices that reach each other without the network
  double network_bandwidth = 12.5e9;
  // The first switch between nodes, on each rail where cards of a number share one: how many nodes it joins
  // (0: all), how many times as much they have to it as it has to the others, and whether a run's nodes are
  // taken switch by switch.
  std::int64_t nodes_per_leaf = 0;
  double oversubscription = 1;
  bool is_scattered = false;
  double watts = 0;

  // What a host thread pays to launch one kernel. Assumed: no published table has it.
  Nanoseconds launch_overhead{4000};

  // Of the clock that its rates are of, what it is allowed.
  double clock_share() const;
  // Peak rate of matrix products; a type without units of its own is computed at fp32's rate.
  double peak_flops(DType type) const;

  bool operator==(const Machine&) const = default;
};

// Whether its generation is one of Google's TPUs, whose programs XLA compiles.
bool is_tpu(const Machine& machine);

// A measured collective or copy, or a link's specification, from catalogue/interconnect.csv.
struct InterconnectFact {
  std::string kind;     // spec | measured
  std::string machine;  // of measured collectives: the part, as the catalogue names it
  std::string system, link, collective, algorithm, meaning, sources, notes;
  std::int64_t gpus = 0, nodes = 0;
  double link_bandwidth = 0, node_bandwidth = 0;  // bytes per second, one way
  Bytes payload;
  double value = 0;  // bytes per second, as `meaning` states: bus bandwidth or one way
};

// `id_or_path` is the id of a part or an instance, in the bundled catalogue or in the file that
// FORESHARD_CATALOGUE names, or FILE.csv:id.
Result<Machine> load_machine(const std::string& id_or_path);

Result<std::vector<Machine>> parse_catalogue(std::string_view csv, const std::string& file);

// Everything that is bundled: parts first, then instances.
const std::vector<Machine>& bundled_machines();

std::vector<InterconnectFact> interconnect_facts();

}  // namespace foreshard
