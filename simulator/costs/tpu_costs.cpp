#include "simulator/costs/tpu_costs.hpp"

namespace foreshard::simulator {
namespace {

// A cast in either direction moves the same bytes; that GPUs' kernels widen more slowly than they
// narrow is no fact about XLA's.
CostKey narrowing_cast(DType a, DType b, std::int64_t elements) {
  const bool is_a_narrower = item_size(a) < item_size(b);
  return {Operator::cast, is_a_narrower ? a : b, is_a_narrower ? b : a, a, {elements}};
}

// What is left of a key without flat buffers: of a copy into or out of one nothing, or a cast.
std::optional<CostKey> without_flat_buffers(const CostKey& key) {
  switch (key.op) {
    case Operator::cast: return narrowing_cast(key.dtype, key.dtype2, key.dims[0]);
    case Operator::reduce_scatter_copy_in:
      if (key.dtype == key.dtype2) return std::nullopt;
      return narrowing_cast(key.dtype, key.dtype2, key.dims[0] * key.dims[1]);
    case Operator::all_gather_copy_in:
    case Operator::all_gather_copy_out: return std::nullopt;
    default: return key;
  }
}

class TpuCosts final : public CostModel {
 public:
  TpuCosts(std::unique_ptr<CostModel> data_sheet, const Machine& machine, bool is_calibrated)
      : base_(std::move(data_sheet)), machine_(machine), is_calibrated_(is_calibrated) {}

  CostEstimate estimate(const CostKey& key, const TaskPlace& place) const override {
    const std::optional<CostKey> left = without_flat_buffers(key);
    CostEstimate found = base_->estimate(left.value_or(key), place);
    if (!left) found.ns = 0;
    return found;
  }

  EngineOptions engine() const override { return {}; }
  SegmentCosts segments() const override { return {0, 0, CostSource::modelled}; }
  double peak_flops_per_ns(DType type) const override { return base_->peak_flops_per_ns(type); }
  // What the runtime keeps to itself is no part of the catalogue's figure.
  std::int64_t device_bytes() const override { return base_->device_bytes(); }
  std::string data_sheet() const override { return base_->data_sheet(); }
  int ranks_per_node() const override { return base_->ranks_per_node(); }
  const RateFactors* rate_factors() const override { return base_->rate_factors(); }
  SlowestRank slowest_rank() const override { return base_->slowest_rank(); }
  std::string basis_of_slowest_rank() const override { return base_->basis_of_slowest_rank(); }
  std::string basis(const CostKey& key, const TaskPlace& place) const override {
    return base_->basis(key, place);
  }
  std::string basis(Rate rate) const override { return base_->basis(rate); }
  ErrorSpread errors() const override { return base_->errors(); }

  std::vector<std::string> warnings() const override {
    std::vector<std::string> found{
        "the step on " + machine_.name +
        " rests on the catalogue alone: XLA is taken to fuse as operators \"xla\" do and to gather "
        "one unit ahead, at rates that published throughputs of MaxText show"};
    if (is_calibrated_) found[0] += ", corrected by the observed runs";
    return found;
  }

 private:
  std::unique_ptr<CostModel> base_;
  Machine machine_;
  bool is_calibrated_;
};

}  // namespace

std::unique_ptr<CostModel> tpu_costs(std::unique_ptr<CostModel> data_sheet, const Machine& machine,
                                     bool is_calibrated) {
  return std::make_unique<TpuCosts>(std::move(data_sheet), machine, is_calibrated);
}

}  // namespace foreshard::simulator
