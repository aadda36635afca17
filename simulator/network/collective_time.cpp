#include "simulator/network/collective_time.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/program/bus_bandwidth.hpp"
#include "simulator/network/nccl_tuning.hpp"

namespace foreshard::simulator {
namespace {

constexpr std::string_view kPcie = "PCIe", kNvlink = "NVLink", kUnknownNetwork = "RDMA",
                           kBetweenSlices = "DCN";

bool is_direct(Operator op) {
  return op == Operator::all_to_all || op == Operator::transfer;
}

bool is_instance_of(const Machine& machine, const Machine& part) {
  return machine.name == part.name && !machine.network.empty();
}

// The name of the network's terms.
std::string_view technology_of(const Machine& machine, double node_bandwidth,
                               const CollectiveTerms& terms) {
  const auto of_node = [](const Machine& m) {
    return m.network_bandwidth * static_cast<double>(m.gpus_per_node);
  };
  const auto is_alike = [](double a, double b) { return std::abs(a / b - 1) < 0.01; };
  if (!machine.network.empty() && is_alike(node_bandwidth, of_node(machine))) {
    return terms.name_of(machine.network, kUnknownNetwork);
  }
  std::string_view only;
  for (const Machine& instance : bundled_machines()) {
    if (!is_instance_of(instance, machine) || !is_alike(node_bandwidth, of_node(instance))) {
      continue;
    }
    const std::string_view name = terms.name_of(instance.network, kUnknownNetwork);
    if (!only.empty() && only != name) return kUnknownNetwork;
    only = name;
  }
  return only.empty() ? kUnknownNetwork : only;
}

// What one rank reads and writes: on rings each step reads what came, and for sums its own part
// too, and writes to the next rank's buffer; with switches buffers are copied in and out, and read
// and written once by the switch.
double memory_bytes(Algorithm algorithm, Operator op, double bytes, double ranks) {
  const bool uses_switches = algorithm == Algorithm::nvls || algorithm == Algorithm::nvls_tree;
  constexpr double kOfSwitches = 4, kOfStep = 3, kReadAndWritten = 2;
  if (algorithm == Algorithm::direct) return kReadAndWritten * bytes;
  return uses_switches ? kOfSwitches * bytes : kOfStep * sent_share(op, ranks) * bytes;
}

}  // namespace

CollectiveNetwork::CollectiveNetwork(const Machine& machine, double node_bandwidth,
                                     const CollectiveTerms& terms)
    : nccl_(nccl_system(machine)),
      links_(terms.of(machine.link, kNvlink)),
      pcie_(terms.of(kPcie, kPcie)),
      torus_(Torus::of(machine)),
      launch_us_(terms.launch_us),
      filling_bytes_(terms.filling_bytes),
      link_gb_s_(machine.link_bandwidth / 1e9),
      host_gb_s_(machine.host_bandwidth / 1e9),
      node_gb_s_(nccl_.node_nic_gb_s),
      gpus_per_node_(machine.gpus_per_node),
      nodes_per_leaf_(machine.nodes_per_leaf),
      oversubscription_(machine.oversubscription),
      is_scattered_(machine.is_scattered),
      has_bridges_(has_bridges(machine)) {
  if (node_bandwidth > 0) nccl_.node_nic_gb_s = node_gb_s_ = node_bandwidth / 1e9;
  network_ = torus_ ? kBetweenSlices : technology_of(machine, node_gb_s_ * 1e9, terms);
  cards_ = terms.of(network_, kUnknownNetwork);
  const auto sharp =
      terms.technologies.find(machine.link.substr(0, machine.link.find(' ')) + " SHARP");
  if (nccl_.has_nvls && sharp != terms.technologies.end()) switches_ = sharp->second;
}

bool CollectiveNetwork::goes_over_host(const GroupPlace& place) const {
  return link_gb_s_ <= 0 || (has_bridges_ && place.ranks != 2);
}

CollectiveNetwork::Inside CollectiveNetwork::inside(const GroupPlace& place) const {
  const auto here = static_cast<double>(place.fewest());
  const bool has_link = !goes_over_host(place);
  const LinkTerms& terms = has_link ? links_ : pcie_;
  double gb_s = terms.efficiency * (has_link ? link_gb_s_ : host_gb_s_);
  if (nccl_.is_mesh && has_link && here > 1) {
    // Each pair has a link of its own. Between nodes a ring's path through a node has one hop less
    // than its ranks, so that many more paths fit.
    gb_s *= std::min(1.0, (here - 1) / static_cast<double>(gpus_per_node_ - 1));
    if (place.nodes > 1) gb_s *= here / (here - 1);
  }
  return {terms, gb_s};
}

double CollectiveNetwork::network_gb_s(const GroupPlace& place) const {
  // A rank reaches its own share of the cards, or as many as its way to the host carries.
  const auto here = static_cast<double>(place.fewest());
  const double own = node_gb_s_ / static_cast<double>(gpus_per_node_);
  const double reached = here * std::max(own, pcie_.efficiency * host_gb_s_);
  const double at_once = static_cast<double>(std::max(place.sharing_the_cards, place.fewest()));
  const double share = node_gb_s_ * here / at_once;
  return cards_.efficiency * std::min(share, reached);
}

// A ring over nodes taken switch by switch leaves each switch once, whose uplinks it has for itself. Over
// scattered nodes every hop leaves, and others do likewise; in an exchange all leaves but what stays below.
double CollectiveNetwork::crowding(Operator op, const GroupPlace& place) const {
  if (nodes_per_leaf_ <= 0) return 1;
  if (is_scattered_) return oversubscription_;
  const auto below = static_cast<double>(nodes_per_leaf_), nodes = static_cast<double>(place.nodes);
  if (nodes <= below) return 1;
  const double leaving = op == Operator::all_to_all ? below * (1 - below / nodes) : 1;
  return std::max(1.0, leaving * oversubscription_ / below);
}

bool CollectiveNetwork::chooses(Algorithm algorithm, Operator op, const GroupPlace& place) const {
  if (algorithm == Algorithm::tree) return place.nodes > 1;
  if (algorithm != Algorithm::nvls && algorithm != Algorithm::nvls_tree) return true;
  return op == Operator::all_reduce &&
         static_cast<double>(place.fewest()) >= switches_->least_ranks;
}

std::vector<Algorithm> CollectiveNetwork::algorithms(Operator op, const GroupPlace& place) const {
  if (torus_) return {Algorithm::torus};
  if (is_direct(op)) return {Algorithm::direct};
  const bool is_sum = op == Operator::all_reduce, is_spread = place.nodes > 1;
  const bool has_switches = switches_.has_value() && place.fewest() > 2;
  std::vector<Algorithm> all{Algorithm::ring};
  if (is_sum) all.push_back(Algorithm::tree);
  if (op == Operator::broadcast) return all;
  if (has_switches && !is_spread) all.push_back(Algorithm::nvls);
  if (has_switches && is_spread && is_sum) all.push_back(Algorithm::nvls_tree);
  if (!is_sum && is_spread && place.ranks == place.nodes) all.push_back(Algorithm::pat);
  return all;
}

// Chips of one slice over their links, slices over the network, to which every chip brings its share.
CollectiveNetwork::Law CollectiveNetwork::torus_law(Operator op, const GroupPlace& place) const {
  const auto here = static_cast<double>(place.fewest()), slices = static_cast<double>(place.nodes);
  Law law;
  law.start_us = links_.startup_us +
                 links_.hop_us * passes(op) * static_cast<double>(torus_->hops(place.fewest()));
  if (here > 1) {
    const double links = static_cast<double>(torus_->corner_links(place.fewest()));
    law.links_us_per_byte =
        passes(op) * (here - 1) / here / (links_.efficiency * links * torus_->link_gb_s());
  }
  if (place.nodes > 1) {
    const double own = node_gb_s_ / static_cast<double>(gpus_per_node_);
    law.start_us += cards_.startup_us + cards_.hop_us * (slices - 1);
    law.cards_us_per_byte = passes(op) * (slices - 1) / slices / (cards_.efficiency * own * here);
  }
  law.links_us_per_byte /= 1000;
  law.cards_us_per_byte /= 1000;
  return law;
}

CollectiveNetwork::Law CollectiveNetwork::law(Algorithm algorithm, Operator op,
                                              const GroupPlace& place) const {
  if (algorithm == Algorithm::torus) return torus_law(op, place);
  const auto ranks = static_cast<double>(place.ranks), nodes = static_cast<double>(place.nodes);
  const double here = std::ceil(ranks / nodes), doublings = std::log2(nodes);
  const bool is_spread = place.nodes > 1, is_inside = place.ranks > place.nodes;
  const Inside links = inside(place);
  const double between = is_spread ? network_gb_s(place) / crowding(op, place)
                                   : std::numeric_limits<double>::infinity();
  const double sent = sent_share(op, ranks);  // of the buffer, by each rank of a ring
  // On two nodes each sends its half of the sums and gets the other; in a tree of more, inner nodes
  // send and get twice that.
  const double through_node = place.nodes <= 1 ? 0 : place.nodes == 2 ? 1 : 2;

  double hops = 0, network_hops = 0;
  Law law;
  switch (algorithm) {
    case Algorithm::ring:
      network_hops = is_spread ? passes(op) * (nodes - 1) : 0;
      hops = passes(op) * (ranks - 1) - network_hops;
      law.links_us_per_byte = is_inside ? sent / links.gb_s : 0;
      law.cards_us_per_byte = sent / between;
      break;
    case Algorithm::tree:
      network_hops = 2 * doublings;
      hops = 2 * (here - 1);
      law.links_us_per_byte = is_inside ? 2 / links.gb_s : 0;
      law.cards_us_per_byte = through_node / between;
      break;
    case Algorithm::nvls:
    case Algorithm::nvls_tree: {
      const double gathered = op == Operator::all_reduce ? 1 : here / (here - 1);
      network_hops = 2 * doublings;
      law.links_us_per_byte = gathered / (switches_->efficiency * link_gb_s_);
      law.cards_us_per_byte = through_node / between;
      law.start_us = switches_->startup_us;
      law.pipeline_us = switches_->pipeline_us * std::sqrt(here);
      break;
    }
    case Algorithm::pat:
      network_hops = doublings;
      law.cards_us_per_byte = sent / (tuning::kPatShare * between);
      break;
    case Algorithm::direct: {
      const double beside = op == Operator::transfer ? 1 : (here - 1) / ranks;
      const double away = op == Operator::transfer ? 1 : here * (ranks - here) / ranks;
      network_hops = is_spread ? nodes - 1 : 0;
      hops = here - 1;
      law.links_us_per_byte = is_inside ? beside / links.gb_s : 0;
      law.cards_us_per_byte = is_spread ? away / between : 0;
      break;
    }
    case Algorithm::torus: break;  // torus_law
  }
  law.start_us += launch_us_ + links.terms.hop_us * hops;
  law.pipeline_us += links.terms.pipeline_us * hops;
  if (is_spread) {
    law.start_us += cards_.startup_us + cards_.hop_us * network_hops;
    law.pipeline_us += cards_.pipeline_us * network_hops;
  }
  law.links_us_per_byte /= 1000;
  law.cards_us_per_byte /= 1000;
  return law;
}

CollectiveTime CollectiveNetwork::time(Operator op, double bytes, const GroupPlace& place,
                                       std::optional<Algorithm> forced) const {
  if (place.ranks <= 1) return {};
  std::vector<Algorithm> candidates;
  if (forced) {
    candidates = {*forced};
  } else {
    for (const Algorithm algorithm : algorithms(op, place)) {
      if (chooses(algorithm, op, place)) candidates.push_back(algorithm);
    }
  }
  double us = std::numeric_limits<double>::infinity();
  Law fastest;
  for (const Algorithm algorithm : candidates) {
    const Law of = law(algorithm, op, place);
    const double filled = std::min(bytes, filling_bytes_ * static_cast<double>(place.ranks));
    const double takes = of.start_us + 2 * std::sqrt(of.pipeline_us * of.us_per_byte() * filled) +
                         of.us_per_byte() * bytes;
    if (takes >= us) continue;
    us = takes;
    fastest = of;
  }
  CollectiveTime time;
  time.ns = 1000 * us;
  if (const double per_byte = fastest.us_per_byte(); per_byte > 0) {
    const double flows = 1 - fastest.start_us / us;
    double& inside = goes_over_host(place) ? time.host_link : time.links;
    inside = flows * fastest.links_us_per_byte / per_byte;
    time.cards = flows * fastest.cards_us_per_byte / per_byte;
  }
  if (torus_) {
    // A chip without neighbours has its way to the network alone.
    const auto links = static_cast<int>(torus_->corner_links(place.fewest()));
    time.choice = {Algorithm::torus, Protocol::simple, std::max(1, links)};
    time.memory_bytes = memory_bytes(Algorithm::torus, op, bytes, static_cast<double>(place.ranks));
    return time;
  }
  time.choice = nccl_choice(nccl_, op, bytes, place.ranks, place.nodes, candidates);
  time.memory_bytes =
      memory_bytes(time.choice.algorithm, op, bytes, static_cast<double>(place.ranks));
  return time;
}

std::int64_t largest_node(const Machine& machine) {
  std::int64_t most = machine.gpus_per_node;
  if (!machine.network.empty()) return most;
  for (const Machine& other : bundled_machines()) {
    if (is_instance_of(other, machine)) most = std::max(most, other.gpus_per_node);
  }
  return most;
}

}  // namespace foreshard::simulator
