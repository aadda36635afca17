#include "models/sharding/flat_parameters.hpp"

#include <algorithm>

#include "models/base/units.hpp"
#include "models/sharding/job.hpp"

namespace foreshard {
namespace {

class Flattening {
 public:
  Flattening(const Job& job, const RankPlace::Membership& ranks)
      : job_(job), ranks_(ranks), keeps_parameters_(job.plan.pytorch.use_orig_params) {}

  FlatParameter operator()(const Unit& unit) const {
    FlatParameter flat;
    flat.layout.name = unit.name;
    std::vector<std::int64_t> begins;
    for (const ParameterId id : unit.parameters) {
      if (keeps_parameters_) pad(flat, alignment());
      begins.push_back(flat.numel);
      flat.numel += parameter(id).numel();
      flat.layout.numel += parameter(id).numel();
    }
    if (keeps_parameters_) pad(flat, world());
    flat.layout.padded = ceil_divide(flat.numel, ranks_.size);
    flat.cut = std::clamp<std::int64_t>(flat.numel - flat.layout.padded * ranks_.index, 0,
                                        flat.layout.padded);
    if (!unit.parameters.empty()) cut(unit, begins, flat.layout);
    return flat;
  }

 private:
  const Parameter& parameter(ParameterId id) const {
    return job_.tree.parameters[static_cast<std::size_t>(id)];
  }

  std::int64_t alignment() const {
    constexpr std::int64_t kBytes = 16;
    return kBytes / item_size(job_.plan.precision.param);
  }

  // Of FlatParamHandle's process group, whether it shards or not.
  std::int64_t world() const {
    return job_.plan.sharding.strategy == Strategy::no_shard ? job_.ranks : ranks_.size;
  }

  static void pad(FlatParameter& flat, std::int64_t multiple) {
    const std::int64_t padding = round_up(flat.numel, multiple) - flat.numel;
    if (padding > 0) flat.paddings.push_back(padding);
    flat.numel += padding;
  }

  // The pieces in which this rank's shard cuts the parameters.
  void cut(const Unit& unit, const std::vector<std::int64_t>& begins, UnitLayout& layout) const {
    const std::int64_t shard = layout.padded, first = shard * ranks_.index;
    if (!keeps_parameters_) {
      layout.local = shard;
      layout.parameters.push_back({.rows = shard, .columns = 1, .padded = shard, .local = shard});
      return;
    }
    for (std::size_t i = 0; i < begins.size(); ++i) {
      const Parameter& whole = parameter(unit.parameters[i]);
      const std::int64_t begin = std::max(begins[i], first);
      const std::int64_t local = std::min(begins[i] + whole.numel(), first + shard) - begin;
      if (local <= 0) continue;
      layout.local += local;
      layout.parameters.push_back({.parameter = unit.parameters[i],
                                   .rows = whole.rows,
                                   .columns = whole.columns,
                                   .padded = local,
                                   .local = local,
                                   .first = (begin - begins[i]) / whole.columns,
                                   .offset = begin - first});
    }
  }

  const Job& job_;
  const RankPlace::Membership& ranks_;
  const bool keeps_parameters_;
};

}  // namespace

std::vector<FlatParameter> flat_parameters(const Job& job, const RankPlace& place) {
  const Flattening flattened(job, place[Group::shard]);
  std::vector<FlatParameter> all;
  all.reserve(job.units.size());
  for (const Unit& unit : job.units) all.push_back(flattened(unit));
  return all;
}

}  // namespace foreshard
