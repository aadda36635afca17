#include "models/lowering/script/pytorch_rules.hpp"

namespace foreshard::lowering {

PyTorchRules pytorch_rules(const PyTorchPlan& plan) {
  const int minor = nearest_described(plan.version).minor;
  const auto from = [minor](int version) { return minor >= version; };
  const auto until = [minor](int version) { return minor <= version; };
  PyTorchRules r;
  r.norm_is_fused =
      plan.rms_norm == RmsNormKind::automatic ? from(9) : plan.rms_norm == RmsNormKind::fused;
  r.norm_weight_after_cast = until(6);
  r.flash_keeps_random_state = from(7);
  r.flash_rounds_large_heads = from(7);
  r.efficient_keeps_random_state = from(14);
  r.slices_are_nodes = until(8);
  r.rotary_uses_cublas = until(12);
  r.workspace_per_product = from(15);
  r.checkpoint_input_dies_last = from(12);
  r.scan_base = from(11) ? 511 : 255;
  r.sort_base = from(13) ? 4607 : 16895;
  r.unique_bytes = from(11) ? 1279 : from(7) ? 1023 : 767;
  r.root_reshards_as_told = from(8);
  r.single_rank_copies = from(9);
  r.loop_keeps_last_gradient = until(14);
  r.loop_runs_alone = until(9);
  r.recompute_reshards = until(9);
  r.pads_at_first_forward = until(9);
  r.keeps_reduced_input = minor == 12;
  r.releases_gather_before_wait = from(15);
  r.autograd_casts_unreduced = from(15);
  r.reduces_in_parameter_type = from(15);
  r.column_originals_die_early = from(15);
  r.norm_summed_before_total = from(10);
  r.norm_scratch_is_packed = from(15);
  r.starts_with_temporaries = until(11);
  return r;
}

}  // namespace foreshard::lowering
