#include "models/lowering/operators/pytorch/eager_chunked_loss.hpp"

#include <algorithm>

#include "models/lowering/operators/pytorch/eager_norm.hpp"

namespace foreshard::lowering {
namespace {

constexpr std::int64_t kChunks = 8;  // num_output_chunks

class ChunkedLoss {
 public:
  explicit ChunkedLoss(const Job& job)
      : w_(job),
        root_(w_.module("")),
        head_(w_.module("lm_head")),
        widens_(w_.plan.logits == DType::fp32 && w_.z.is_16_bit),
        item_(widens_ ? 4 : w_.z.e),
        normalized_(w_.tensor(w_.of(w_.z.T * w_.z.D))) {
    // torch.chunk: pieces of the same length, the last one shorter, perhaps fewer than were asked for.
    const std::int64_t longest = ceil_div(w_.z.S, kChunks);
    for (std::int64_t begin = 0; begin < w_.z.S; begin += longest) {
      Chunk c;
      c.rows = w_.z.B * std::min(longest, w_.z.S - begin);
      if (copies()) c.input = w_.tensor(w_.of(c.rows * w_.z.D));
      c.logits = w_.tensor(w_.of(c.rows * w_.z.V));
      if (copies()) c.labels = w_.tensor(8 * c.rows);
      if (is_compiled()) {
        c.maxima = w_.tensor(4 * c.rows);
        c.logarithms = w_.tensor(4 * c.rows);
      } else {
        c.probabilities = w_.tensor(item_ * c.rows * w_.z.V);
      }
      c.weight = w_.tensor(item_);
      chunks_.push_back(c);
    }
    w_.segment.input = normalized_;
  }

  Segment segment() {
    w_.begin(w_.segment.forward);
    project();
    forward();
    w_.begin(w_.segment.backward, Thread::autograd);
    backward();
    projection_backward();
    return std::move(w_.segment);
  }

 private:
  struct Chunk {
    std::int64_t rows = 0;
    Slot input = kNone, logits = kNone, labels = kNone, weight = kNone;
    Slot probabilities = kNone;               // in eager mode
    Slot maxima = kNone, logarithms = kNone;  // compiled: of each row, of its sum
    Slot gradient = kNone;                    // of the logits
    Slot input_gradient = kNone;              // of the chunk of the norm's output
  };

  // Chunks of several sequences are not contiguous.
  bool copies() const { return w_.z.B > 1; }
  // torchtune compiles the loss of a chunk where it compiles blocks.
  bool is_compiled() const { return w_.job.plan.operators == OperatorSetName::pytorch_compile; }
  Slot input_of(const Chunk& c) const { return copies() ? c.input : normalized_; }
  bool is_divided() const { return w_.job.plan.batch.accumulation > 1; }

  void project() {
    w_.enter(head_);
    for (const Chunk& c : chunks_) {
      if (copies()) w_.write(c.input, "aten::clone", {normalized_});
      w_.product(c.logits, w_.key(Operator::matmul, {c.rows, w_.z.V, w_.z.D, 0}),
                 {Operand::of(input_of(c)), Operand::of(ParameterRef{head_, 0})});
    }
    w_.leave(head_);
    if (copies()) w_.free({normalized_});
    w_.leave(root_);
  }

  void forward() {
    const Slot counted = w_.make("aten::ne", w_.z.T, {});
    count_ = w_.scratch(8);
    const Slot wide_count = w_.make("aten::_to_copy", 8 * w_.z.T, {counted});
    w_.update(count_, "aten::sum", {wide_count});
    w_.free({wide_count, counted});
    if (copies()) {
      for (const Chunk& c : chunks_) w_.write(c.labels, "aten::clone", {});
    }
    Slot total = kNone;
    for (const Chunk& c : chunks_) {
      const Slot part = is_compiled() ? compiled_part(c) : eager_part(c);
      if (total == kNone) {
        total = w_.make("aten::add", item_, {part});
      } else {
        w_.update(total, "aten::add_", {part});
      }
      w_.free({part});
    }
    Slot loss = w_.make("aten::div", item_, {total, count_});
    // A compiled loss needs them in backward.
    for (std::size_t i = chunks_.size() - 1; i-- > 0 && !is_compiled();) {
      w_.free({chunks_[i].logits});
    }
    w_.free({total, is_compiled() ? kNone : chunks_.back().logits});
    if (is_divided()) {
      const Slot mean = w_.make("aten::div", item_, {loss});
      w_.free({loss});
      loss = mean;
    }
    w_.hand_over(loss, Shared::loss);
  }

  Slot eager_part(const Chunk& c) {
    const Slot wide = widens_ ? w_.make("aten::_to_copy", 4 * c.rows * w_.z.V, {c.logits}) : kNone;
    w_.write(c.probabilities, "aten::_log_softmax", {widens_ ? wide : c.logits});
    const Slot part = w_.make("aten::nll_loss_forward", item_, {c.probabilities});
    w_.allocate(c.weight);
    w_.free({wide});
    return part;
  }

  Slot compiled_part(const Chunk& c) {
    w_.allocate(c.maxima);
    w_.write(c.logarithms, "triton_red_fused__log_softmax", {c.logits});
    const Slot part = w_.scratch(item_);
    w_.write(c.weight, "triton_red_fused_nll_loss_forward", {c.maxima, c.logarithms});
    return part;
  }

  void eager_part_backward(Chunk& c, Slot d_total, bool is_last) {
    const std::int64_t bytes = item_ * c.rows * w_.z.V;
    const Slot d_loss = w_.make("aten::nll_loss_backward", bytes, {d_total, c.probabilities});
    w_.free({is_last ? d_total : kNone, c.labels, c.weight});
    c.gradient = w_.make("aten::_log_softmax_backward_data", bytes, {d_loss, c.probabilities});
    w_.free({d_loss, c.probabilities});
    if (!widens_) return;
    const Slot narrow = w_.make("aten::_to_copy", w_.of(c.rows * w_.z.V), {c.gradient});
    w_.free({c.gradient});
    c.gradient = narrow;
  }

  void compiled_part_backward(Chunk& c, Slot d_total, bool is_last) {
    c.gradient = w_.make("triton_poi_fused__log_softmax_backward_data_nll_loss_backward",
                         w_.bytes(c.logits), {d_total, c.logits, c.maxima, c.logarithms});
    w_.free({c.maxima, c.weight, c.logarithms, c.logits, c.labels, is_last ? d_total : kNone});
  }

  void backward() {
    const Slot one = w_.make("aten::ones_like", item_, {});
    const Slot mean = is_divided() ? w_.make("aten::div", item_, {one}) : kNone;
    const Slot d_total = w_.make("aten::div", item_, {one, count_});
    w_.free({mean, count_});
    for (std::size_t i = chunks_.size(); i-- > 0;) {
      if (is_compiled()) {
        compiled_part_backward(chunks_[i], d_total, i == 0);
      } else {
        eager_part_backward(chunks_[i], d_total, i == 0);
      }
    }
    w_.hand_over(one, Shared::root_gradient);
  }

  // Autograd sums what chunks give for the weight: the first two into a third tensor, the others in
  // place.
  void projection_backward() {
    const std::int64_t weights = w_.z.V * w_.z.D;
    const Slot gradient = w_.gradient(head_, weights);
    w_.enter(head_);
    Slot first = kNone;
    for (std::size_t i = chunks_.size(); i-- > 0;) {
      Chunk& c = chunks_[i];
      const Slot dw = chunks_.size() == 1 ? gradient : w_.scratch_later(w_.of(weights));
      w_.product(dw, w_.key(Operator::matmul_weight_gradient, {w_.z.V, w_.z.D, c.rows}),
                 {Operand::of(c.gradient), Operand::of(input_of(c))});
      c.input_gradient = w_.scratch_later(w_.of(c.rows * w_.z.D));
      w_.product(c.input_gradient,
                 w_.key(Operator::matmul_input_gradient, {c.rows, w_.z.D, w_.z.V, 0}),
                 {Operand::of(c.gradient), Operand::of(ParameterRef{head_, 0})});
      w_.free({c.gradient, copies() ? c.input : i == 0 ? normalized_ : kNone});
      if (dw == gradient) continue;
      if (i + 1 == chunks_.size()) {
        first = dw;
      } else if (i + 2 == chunks_.size()) {
        w_.write(gradient, "aten::add", {first, dw});
        w_.free({first, dw});
      } else {
        w_.update(gradient, "aten::add_", {dw});
        w_.free({dw});
      }
    }
    w_.ready(gradient);
    w_.accumulate();
    w_.enter(root_);
    const Slot joined = w_.scratch(w_.of(w_.z.T * w_.z.D));
    w_.update(joined, "aten::cat", {});
    for (const Chunk& c : chunks_) w_.free({c.input_gradient});
    w_.segment.gradient = joined;
  }

  EagerWriter w_;
  std::int32_t root_, head_;
  bool widens_;
  std::int64_t item_;  // bytes of a number of the loss
  Slot normalized_, count_ = kNone;
  std::vector<Chunk> chunks_;
};

}  // namespace

Segment eager_chunked_head(const Job& job) {
  EagerWriter w(job);
  const EagerNorm norm = declare_norm(w, "model.norm", w.z.T, w.z.D);
  const Slot x = w.tensor(w.of(w.z.T * w.z.D));
  w.segment.input = x;
  w.segment.output = norm.output;
  w.begin(w.segment.forward);
  w.set_requires_gradient(x, true);
  norm_forward(w, norm, x);
  w.drop({x});
  w.begin(w.segment.backward, Thread::autograd);
  w.segment.gradient = norm_backward(w, norm, {.dy = norm.output, .x = x});
  return std::move(w.segment);
}

Segment eager_chunked_loss(const Job& job) {
  return ChunkedLoss(job).segment();
}

}  // namespace foreshard::lowering
