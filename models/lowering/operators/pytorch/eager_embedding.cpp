#include "models/lowering/operators/pytorch/eager_embedding.hpp"

#include <algorithm>

#include "models/lowering/operators/pytorch/eager_writer.hpp"
#include "models/sharding/accelerate.hpp"
#include "models/sharding/layer_attention.hpp"
#include "models/sharding/trained_parameters.hpp"

namespace foreshard::lowering {
namespace {

constexpr std::int64_t kSortTile = 4608;  // of CUB's radix sort of 64-bit pairs

// CUB's DeviceScan over n numbers of 8 bytes.
std::int64_t scan_bytes(const EagerWriter& w, std::int64_t n) {
  return w.rules.scan_base + round_up(16 * (ceil_div(n, 896) + 32), 256);
}

// find_packed_sequence_indices.
void ask_whether_packed(EagerWriter& w, Slot positions) {
  const std::int64_t B = w.z.B, S = w.z.S, T = w.z.T;
  const Slot first = w.make("aten::sub", 8 * B, {positions});
  const Slot padded = w.make("aten::cat", 8 * B * (S + 1), {first, positions});
  const Slot difference = w.make("aten::diff", 8 * T, {padded});
  w.free({padded});
  const Slot differs = w.make("aten::ne", T, {difference});
  const Slot sums = w.scratch(8 * T), wide = w.make("aten::_to_copy", 8 * T, {differs});
  if (B == 1) w.free({w.scratch(scan_bytes(w, T))});
  w.update(sums, "aten::cumsum", {wide});
  w.free({wide, differs});
  const Slot equal = w.make("aten::eq", B, {sums}), all = w.make("aten::all", 1, {equal});
  w.host_wait();
  w.free({equal, all, first, difference, sums});
}

// sdpa_mask: where each token attends, as a conjunction of conditions (and_masks).
class MaskWriter {
 public:
  MaskWriter(EagerWriter& writer, Slot padding) : w_(writer), padding_(padding) {}

  Slot write(const DecoderMask& mask) {
    batches_ = w_.make("aten::arange", 8 * w_.z.B, {});
    const Slot heads = w_.make("aten::arange", 8, {});
    queries_ = offset_range();
    keys_ = offset_range();
    Slot result = begin();
    if (mask.has_window && mask.reads_padding) {
      Slot inner = begin();
      window_and_causal(inner);
      result = joined(result, inner, square());
    } else if (mask.has_window) {
      window_and_causal(result);
    } else {
      result = joined(result, causal(), square());
    }
    if (mask.reads_padding) result = joined(result, padding(), mask.bytes);
    w_.free({batches_, heads, queries_, keys_});
    return result;
  }

 private:
  std::int64_t square() const { return w_.z.S * w_.z.S; }
  Slot begin() { return w_.make("aten::new_ones", 1, {}); }

  Slot offset_range() {
    const Slot range = w_.make("aten::arange", 8 * w_.z.S, {});
    const Slot offset = w_.make_like("aten::add", range, {range});
    w_.free({range});
    return offset;
  }

  Slot joined(Slot before, Slot condition, std::int64_t bytes) {
    const Slot both = w_.make("aten::bitwise_and", bytes, {before, condition});
    w_.free({condition, before});
    return both;
  }

  Slot causal() { return w_.make("aten::le", square(), {keys_, queries_}); }

  void window_and_causal(Slot& result) {
    const Slot oldest = w_.make_like("aten::sub", queries_, {queries_});
    const Slot is_near = w_.make("aten::gt", square(), {keys_, oldest});
    w_.free({oldest});
    result = joined(result, is_near, square());
    result = joined(result, causal(), square());
  }

  // padding_mask[batch_idx, kv_idx], whose indices are expanded to one shape.
  Slot padding() {
    const std::int64_t T = w_.z.T;
    const Slot batches = w_.make("aten::clone", 8 * T, {batches_});
    const Slot keys = w_.z.B > 1 ? w_.make("aten::clone", 8 * T, {keys_}) : kNone;
    const Slot padded = w_.make("aten::index", T, {padding_, batches, keys});
    w_.free({keys, batches});
    return padded;
  }

  EagerWriter& w_;
  Slot padding_;
  Slot batches_ = kNone, queries_ = kNone, keys_ = kNone;
};

// create_causal_mask and create_sliding_window_causal_mask.
void decoder_mask(EagerWriter& w, const DecoderMask& mask, Slot positions) {
  Slot padding = kNone;
  if (w.plan.attention_mask == AttentionMask::none) {
    ask_whether_packed(w, positions);
  } else {
    padding = w.scratch(w.z.T);
    const DType fp32 = DType::fp32;
    w.launch({Operator::memory_bound, fp32, fp32, fp32, {8 * w.z.T, w.z.T}}, "aten::_to_copy",
             {Operand::of(Shared::attention_mask)}, {Operand::of(padding)});
  }
  if (mask.asks_padding) {
    const Slot all = w.make("aten::all", 1, {padding});
    w.host_wait();
    w.free({all});
  }
  if (mask.bytes != 0) {
    w.hand_over(MaskWriter(w, padding).write(mask),
                mask.has_window ? Shared::window_mask : Shared::mask);
  }
  w.free({padding});
}

// LlamaRotaryEmbedding.forward.
void tables_of_angles(EagerWriter& w, Slot positions) {
  const std::int64_t wide = 4 * w.z.S * w.z.d, narrow = w.of_stream(w.z.S * w.z.d);
  const Slot inverse = casts_buffers(w.job.plan) ? w.make("aten::_to_copy", 2 * w.z.d, {}) : kNone;
  const Slot position = w.make("aten::_to_copy", 4 * w.z.S, {positions});
  const Slot frequencies = w.scratch_later(wide / 2);
  if (w.rules.rotary_uses_cublas) {
    w.product(frequencies, w.key(Operator::batched_matmul, {1, w.z.d / 2, w.z.S, 1, 0}),
              {Operand::of(position)});
  } else {
    w.write(frequencies, "bmm_outer_product", {position});
  }
  const Slot angles = w.make("aten::cat", wide, {frequencies});
  const auto table = [&](std::string_view function) {
    const Slot plain = w.make(function, wide, {angles});
    const Slot scaled = w.make("aten::mul", wide, {plain});
    w.free({plain});
    return scaled;
  };
  Slot cosines = table("aten::cos"), sines = table("aten::sin");
  if (narrow != wide) {
    const Slot wide_cosines = cosines, wide_sines = sines;
    cosines = w.make("aten::_to_copy", narrow, {wide_cosines});
    sines = w.make("aten::_to_copy", narrow, {wide_sines});
    w.free({inverse, position, frequencies, angles, wide_cosines, wide_sines});
  } else {
    w.free({inverse, position, frequencies, angles});
  }
  w.hand_over(cosines, Shared::cosines);
  w.hand_over(sines, Shared::sines);
}

// Scratch of embedding_dense_backward over many tokens: sorted indices, their segments and partial sums
// (aten/src/ATen/native/cuda/Embedding.cu, EmbeddingBackwardKernel.cu). `weight` is allocated among it.
void sorted_gradient(EagerWriter& w, Slot weight) {
  const auto& [B, S, T, D, H, K, d, F, V, e, layers, is_16_bit] = w.z;
  const Slot sorted = w.scratch(8 * T), original = w.scratch(8 * T), range = w.scratch(8 * T);
  const Slot sort =
      w.scratch(2 * round_up(8 * T, 256) + w.rules.sort_base + 1024 * ceil_div(T, kSortTile));
  w.free({sort, range});
  w.allocate(weight);
  const Slot counts = w.scratch(8 * T), unique = w.scratch(8), temporary = w.scratch(8 * T);
  w.free({w.scratch(w.rules.unique_bytes), temporary});
  const std::int64_t segments = std::min(T, V);
  const Slot offsets = w.scratch(8 * segments), parts = w.scratch(8 * segments);
  w.free({w.scratch(scan_bytes(w, segments))});
  constexpr std::int64_t kRowsOfPart = 10;
  const std::int64_t most = T / kRowsOfPart + segments, width = round_up(D, 32);
  const Slot count = w.scratch(8), starts = w.scratch(8 * most);
  const std::int64_t blocks = ceil_div(segments * width, std::min<std::int64_t>(width, 1024));
  Slot sums = kNone, indices = kNone;
  if (blocks < 4 * w.job.device.multiprocessors && most > 4 * blocks) {
    indices = w.scratch(8 * most);  // few segments: one kernel with atomic additions
    if (item_size(w.stream_type) == 2) sums = w.scratch(4 * V * D);
  } else {
    sums = w.scratch(4 * most * D);
  }
  w.free({sums, indices, starts, count, parts, offsets, unique, counts, original, sorted});
}

}  // namespace

Segment eager_embedding(const Job& job, GradMode grad) {
  EagerWriter w(job, grad);
  const auto& [B, S, T, D, H, K, d, F, V, e, layers, is_16_bit] = w.z;
  const auto embed = w.module("model.embed_tokens");
  const Slot x = w.tensor(w.of_stream(T * D)), dx = w.tensor(w.of_stream(T * D)),
             positions = w.tensor(8 * S);
  w.segment.output = x;
  w.segment.gradient = dx;

  w.begin(w.segment.forward);
  w.enter(embed);
  w.allocate(x);
  if (w.plan.deterministic) w.free({w.scratch(w.of_stream(1))});  // the number that fills it
  w.launch(w.stream_key(Operator::embedding, {T, V, D}), {},
           {Operand::of(ParameterRef{embed, 0}), Operand::of(Shared::tokens)}, {Operand::of(x)});
  w.leave(embed);
  if (rotary_of(job.plan) == Rotary::shared_half) {
    const Slot range = w.make("aten::arange", 8 * S, {});
    w.write(positions, "aten::add", {range});
    w.free({range});
    for (const DecoderMask& mask : decoder_masks(job)) decoder_mask(w, mask, positions);
    tables_of_angles(w, positions);
    w.hand_over(positions, Shared::positions);
  }

  if (!w.has_backward()) return std::move(w.segment);
  constexpr std::int64_t kFewTokens = 3072;
  w.begin(w.segment.backward, Thread::autograd);
  if (!w.trains({embed, 0})) {
    if (embedded_requires_gradient(job.plan)) w.enter(embed);  // the hook before its backward
    w.hand_over(dx, Shared::embedded_gradient);
    return std::move(w.segment);
  }
  w.enter(embed);
  const Slot weight = w.gradient(embed, V * D);
  if (T > kFewTokens) {
    sorted_gradient(w, weight);
  } else {
    w.allocate(weight);
  }
  w.launch(w.stream_key(Operator::embedding_backward, {T, V, D, 0}), {},
           {Operand::of(dx), Operand::of(Shared::tokens)}, {Operand::of(weight)});
  w.ready(weight);
  w.free({dx});
  w.accumulate();
  return std::move(w.segment);
}

}  // namespace foreshard::lowering
