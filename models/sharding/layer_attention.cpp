#include "models/sharding/layer_attention.hpp"

#include <algorithm>

#include "models/sharding/implementation.hpp"
#include "models/sharding/pytorch_support.hpp"

namespace foreshard {
namespace {

// sdpa_mask. _ignore_causal_mask_sdpa: a window that sequences do not reach, and no zeros, is causal
// attention; into a mask that is made the attention_mask goes whatever it holds.
DecoderMask mask_of(const Job& job, bool has_window) {
  const PyTorchPlan& pytorch = job.plan.pytorch;
  const BatchPlan& batch = job.plan.batch;
  const bool is_windowed = has_window && batch.sequence >= job.model.sliding_window,
             is_given = pytorch.attention_mask != AttentionMask::none;
  DecoderMask mask{.has_window = has_window, .asks_padding = is_given && !is_windowed};
  if (is_windowed || pytorch.attention_mask == AttentionMask::padded) {
    mask.reads_padding = is_given;
    mask.bytes = (is_given ? batch.micro_batch : 1) * batch.sequence * batch.sequence;
  }
  return mask;
}

}  // namespace

std::vector<DecoderMask> decoder_masks(const Job& job) {
  if (!implementation_of(job.plan).makes_masks) return {};
  const LlamaConfig& model = job.model;
  std::vector<DecoderMask> masks;
  // Mistral's decoder asks for one mask, Qwen's for the one of full attention always.
  const bool is_windowed_whole =
      model.sliding_window != 0 && traits_of(model.family).window == AttentionWindow::always;
  if (!is_windowed_whole) masks.push_back(mask_of(job, false));
  if (model.has_window(model.layers - 1)) masks.push_back(mask_of(job, true));
  return masks;
}

std::optional<std::size_t> mask_of_layer(const Job& job, std::size_t layer) {
  const std::vector<DecoderMask> masks = decoder_masks(job);
  const bool has_window = job.model.has_window(static_cast<std::int64_t>(layer));
  for (std::size_t m = 0; m < masks.size(); ++m) {
    if (masks[m].has_window == has_window && masks[m].bytes != 0) return m;
  }
  return std::nullopt;
}

LayerAttention layer_attention(const Job& job, bool has_mask) {
  const PyTorchPlan& pytorch = job.plan.pytorch;
  LayerAttention layer;
  layer.has_mask = has_mask;
  // use_gqa_in_sdpa: keys and values are repeated for a mask.
  layer.kv_heads = has_mask || repeats_keys(job.plan) ? job.model.heads : job.model.kv_heads;
  layer.chosen = chosen_attention({.version = nearest_described(pytorch.version),
                                   .compute_capability = job.device.compute_capability,
                                   .type = compute_type(job.plan),
                                   .head_size = job.model.head_dim,
                                   .is_grouped = layer.kv_heads != job.model.heads,
                                   .has_mask = has_mask,
                                   .is_deterministic = pytorch.deterministic,
                                   .backend = pytorch.attention});
  layer.head_size = padded_head_size(layer.chosen.kernel, job.model.head_dim);
  return layer;
}

std::vector<AttendingLayers> attending_layers(const Job& job) {
  std::vector<AttendingLayers> groups{{0, layer_attention(job, false)},
                                      {0, layer_attention(job, true)}};
  for (std::int64_t i = 0; i < job.model.layers; ++i) {
    groups[mask_of_layer(job, static_cast<std::size_t>(i)) ? 1 : 0].count++;
  }
  std::erase_if(groups, [](const AttendingLayers& g) { return g.count == 0; });
  return groups;
}

std::string attention_in_words(const Job& job) {
  const std::vector<AttendingLayers> groups = attending_layers(job);
  std::string words;
  for (const auto& [count, attention] : groups) {
    if (!words.empty()) words += ", and ";
    words +=
        std::string(attention_name(attention.chosen.kernel)) + " (" + attention.chosen.reason + ")";
    if (groups.size() > 1) {
      words +=
          " in " + std::to_string(count) + " of " + std::to_string(job.model.layers) + " layers";
    }
  }
  return words;
}

}  // namespace foreshard
