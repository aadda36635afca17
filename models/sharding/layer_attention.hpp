// How the decoder layers of a job attend: which are given a mask, and what kernel runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/sharding/chosen_attention.hpp"
#include "models/sharding/job.hpp"

namespace foreshard {

// A mask that the decoder asks for before its layers run (transformers' create_causal_mask and
// create_sliding_window_causal_mask). Mostly none is made, as is_causal says the same.
struct DecoderMask {
  bool has_window = false;
  bool asks_padding = false;   // the host reads whether the attention_mask is all ones
  bool reads_padding = false;  // and the mask is made of it
  std::int64_t bytes = 0;      // of bools, a square, or one for each sequence; 0: none is made
};

// In the order in which they are asked for; none of an implementation that has no masks.
std::vector<DecoderMask> decoder_masks(const Job& job);

// The one of them that a layer is given, by index.
std::optional<std::size_t> mask_of_layer(const Job& job, std::size_t layer);

struct LayerAttention {
  bool has_mask = false;
  std::int64_t kv_heads = 0;   // of the keys and values that the kernel is given
  std::int64_t head_size = 0;  // likewise
  ChosenAttention chosen;
};

LayerAttention layer_attention(const Job& job, bool has_mask);

// Layers that attend alike: those without a mask, then those with one.
struct AttendingLayers {
  std::int64_t count = 0;
  LayerAttention attention;
};
std::vector<AttendingLayers> attending_layers(const Job& job);

// The kernels of a job's layers with the reasons for them, as a sentence's end: "cuDNN attention (PyTorch
// 2.11's first choice on sm_90)".
std::string attention_in_words(const Job& job);

}  // namespace foreshard
