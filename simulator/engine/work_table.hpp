// What a rank's work on the critical path adds up to, and the least slack of its work: counted by the
// numbers of operators, kinds and units, as names are compared only at the end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "models/program/step_program.hpp"
#include "traces/trace.hpp"

namespace foreshard::simulator {

struct Sum {
  std::int64_t count = 0, ns = 0;

  void add(std::int64_t more_ns, std::int64_t times = 1) {
    count += times;
    ns += times * more_ns;
  }
};

class WorkTable {
 public:
  explicit WorkTable(const RankProgram& program)
      : program_(program),
        columns_(program.units.size() + 1),
        operators_((kOurOperators + program.operators.size()) * kEventKinds),
        units_(program.units.size()),
        least_(kOurOperators + program.operators.size(), kNever) {}

  void add(const Instruction& i, traces::EventKind kind, std::int64_t ns, std::int64_t times) {
    operators_[operator_number(i) * kEventKinds + static_cast<std::size_t>(kind)].add(ns, times);
    if (i.unit != kNone) units_[static_cast<std::size_t>(i.unit)].add(ns, times);
  }

  void add_slack(const Instruction& i, traces::EventKind kind, std::int64_t ns) {
    const std::size_t op = operator_number(i);
    if (kind == traces::EventKind::communication || kind == traces::EventKind::memory) {
      const auto column = static_cast<std::size_t>(i.unit + 1);
      const auto [least, is_new] = least_of_units_.try_emplace(op * columns_ + column, ns);
      if (!is_new) least->second = std::min(least->second, ns);
    } else {
      least_[op] = std::min(least_[op], ns);
    }
  }

  // visit(name, kind, sum)
  template <typename Visit>
  void each_operator(const Visit& visit) const {
    for (std::size_t n = 0; n < operators_.size(); ++n) {
      if (operators_[n].count == 0) continue;
      visit(operator_name(n / kEventKinds), name(static_cast<traces::EventKind>(n % kEventKinds)),
            operators_[n]);
    }
  }
  template <typename Visit>
  void each_unit(const Visit& visit) const {
    for (std::size_t u = 0; u < units_.size(); ++u) {
      if (units_[u].count > 0)
        visit(unit_name(program_, static_cast<UnitId>(u)), "unit", units_[u]);
    }
  }
  // visit(operator, unit, least slack), in no order
  template <typename Visit>
  void each_slack(const Visit& visit) const {
    for (std::size_t op = 0; op < least_.size(); ++op) {
      if (least_[op] != kNever) visit(operator_name(op), std::string_view(), least_[op]);
    }
    for (const auto& [n, ns] : least_of_units_) {
      const auto unit = static_cast<UnitId>(n % columns_) - 1;
      visit(operator_name(n / columns_), unit_name(program_, unit), ns);
    }
  }

 private:
  std::size_t operator_number(const Instruction& i) const {
    if (i.op != kNone) return kOurOperators + static_cast<std::size_t>(i.op);
    return static_cast<std::size_t>(program_.cost_keys[static_cast<std::size_t>(i.cost_key)].op);
  }
  std::string_view operator_name(std::size_t number) const {
    if (number < kOurOperators) return name(static_cast<Operator>(number));
    return program_.operators[number - kOurOperators].name;
  }

  static constexpr auto kEventKinds = static_cast<std::size_t>(traces::EventKind::kCount);
  static constexpr auto kOurOperators = static_cast<std::size_t>(Operator::kCount);

  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  const RankProgram& program_;
  std::size_t columns_;         // of `least_of_units_`: no unit, then the units
  std::vector<Sum> operators_;  // by operator and kind
  std::vector<Sum> units_;
  std::vector<std::int64_t> least_;  // slack, by operator
  std::unordered_map<std::size_t, std::int64_t> least_of_units_;
};

}  // namespace foreshard::simulator
