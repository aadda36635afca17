// Writes the scripts of a segment as PyTorch runs it in eager mode: every operator takes its output
// from the caching allocator when the host issues it, and a tensor goes back when nothing holds it any
// longer, which is where Python and autograd drop it.
//
// Letters: T tokens of a micro-batch (B sequences of S), D hidden size, H query heads, K key/value
// heads, d head size, F feed-forward size, V vocabulary; e bytes of the type in which matrix products and
// attention compute. Autocast leaves parameters and the residual stream in a type of their own.
#pragma once

#include <initializer_list>
#include <string_view>

#include "models/base/units.hpp"
#include "models/lowering/script/grad_mode.hpp"
#include "models/lowering/script/pytorch_rules.hpp"
#include "models/lowering/script/script.hpp"
#include "models/sharding/implementation.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::lowering {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

struct EagerSizes {
  explicit EagerSizes(const Job& job);
  std::int64_t B, S, T, D, H, K, d, F, V, e;
  std::int64_t layers;
  bool is_16_bit;
};

// Whose matrix products take which workspace: cuBLAS keeps one for each thread.
enum class Thread : std::uint8_t { main, autograd };

class EagerWriter {
 public:
  // Of modules below `base`.
  explicit EagerWriter(const Job& job, GradMode grad = GradMode::enabled, ModuleId base = 0);

  const Job& job;
  const PyTorchPlan& plan;
  const PyTorchRules rules;
  const EagerSizes z;
  const DType type;         // of matrix products and attention
  const DType stream_type;  // of parameters and the residual stream
  const Implementation& code;
  Segment segment;

  // What follows goes to this script. `thread`: that runs it.
  void begin(Script& script, Thread thread = Thread::main);
  // A forward whose operators autograd does not record, as under checkpointing.
  void begin_unrecorded(Script& script);

  std::int32_t module(std::string_view path);
  void enter(std::int32_t module) { script_->add(Action::Kind::enter, module); }
  void leave(std::int32_t module) { script_->add(Action::Kind::leave, module); }

  // A tensor that a script allocates later; of 0 bytes: none.
  Slot tensor(std::int64_t bytes);
  Slot gradient(std::int32_t module, std::int64_t elements, int parameter = 0);

  // `op` writes a declared tensor, or a new one that it returns. Its cost is that of the bytes which it
  // reads and writes.
  using Reads = std::initializer_list<Slot>;
  void write(Slot out, std::string_view op, Reads reads);
  Slot make(std::string_view op, std::int64_t bytes, Reads reads);
  Slot make_like(std::string_view op, Slot like, Reads reads) {
    return make(op, bytes(like), reads);
  }
  // Without an output of its own: `op` writes `target`, which is there.
  void update(Slot target, std::string_view op, Reads reads);
  // Scratch that a kernel takes and returns around others: no kernel writes it alone.
  Slot scratch(std::int64_t bytes);
  Slot scratch_later(std::int64_t bytes);  // the same, not allocated yet
  void allocate(Slot slot) { script_->add(Action::Kind::allocate, slot); }

  // Frees in this order; kNone is nothing.
  void free(Reads slots);
  template <typename Slots>
  void free_all(const Slots& slots) {
    for (const Slot slot : slots) free({slot});
  }

  // One of our own operators with its cost key.
  void launch(const CostKey& key, std::string_view op, const std::vector<Operand>& reads,
              const std::vector<Operand>& writes);
  CostKey key(Operator op, CostDims dims) const { return {op, type, type, type, dims}; }
  CostKey stream_key(Operator op, CostDims dims) const {
    return {op, stream_type, stream_type, stream_type, dims};
  }

  // Autograd, as far as lifetimes show it. A tensor requires a gradient where one that it was made of
  // does. Nodes of the graph save tensors; the last variable of Python's frees what no node saved, and
  // else the last node that lets go of it.
  bool requires_gradient(Slot slot) const { return autograd_[nth(slot)].requires_gradient; }
  void set_requires_gradient(Slot slot, bool is_required) {
    autograd_[nth(slot)].requires_gradient = is_required && has_backward();
  }
  bool trains(const ParameterRef& parameter) const;
  bool records() const { return records_; }
  bool has_backward() const { return grad_ == GradMode::enabled; }
  void save(Slot slot, int nodes = 1) {
    if (records_) hold(slot, nodes);
  }
  void hold(Slot slot, int holders = 1) { autograd_[nth(slot)].saved += holders; }
  void take_back(Slot slot) { --autograd_[nth(slot)].saved; }  // what was held is a variable again
  bool is_saved(Slot slot) const { return slot != kNone && autograd_[nth(slot)].saved > 0; }
  void drop(Reads slots);
  void release(Reads slots);

  // A matrix product: its output, then the workspace (cublasGemmEx; cublasLtMatmul adds a bias).
  void product(Slot out, const CostKey& key, std::vector<Operand> reads, bool adds_bias = false);
  // The same into a tensor that is there.
  void product_into(Slot out, const CostKey& key, std::vector<Operand> reads,
                    bool adds_bias = false);
  // The sum over the rows of a tensor of this shape, with the scratch of at::sum.
  void sum_rows(Slot out, Slot of, std::int64_t rows, std::int64_t width);
  // nn.Linear: y[T, out] = x[T, in] w + b.
  struct Linear {
    std::int32_t module;  // whose weight it reads
    std::int32_t called;  // the same, or the adapter that holds it
    std::int64_t out, in;
    bool bias = false;
    bool is_float8 = false;  // both factors of its products are cast to float8 first
    bool is_unit = false;    // of FSDP2: its input comes through a node of its own
    // Copies that autocast makes.
    Slot cast_weight = kNone, cast_bias = kNone, cast_input = kNone;
    DType type = DType::bf16;  // in which it computes
    // With an adapter (PEFT's lora.Linear): the two factors, and the tensors of forward: the layer's own
    // output, the input in the adapter's type where that is another one, the products with the factors, the
    // second one scaled, and the sum in the adapter's type.
    std::vector<Linear> factors{};
    Slot plain = kNone, wide_input = kNone, low = kNone, product = kNone, scaled = kNone,
         wide = kNone;
  };
  // `reads_stream`: its input is of the type of the residual stream.
  Linear declare_linear(std::string_view path, std::int64_t out, std::int64_t in, bool bias,
                        bool reads_stream);
  void linear(const Linear& l, Slot x, Slot y);
  // As far as it saves anything for backward.
  void linear_until_saved(const Linear& l, Slot x, Slot y);
  // The two ends of it: what it casts and saves, and what dies with the call.
  void begin_linear(const Linear& l, Slot x, Slot y);
  void end_linear(const Linear& l);

  // What came for a tensor that several operators read. Autograd adds to a sum that is its own; the
  // first two gradients of linear layers are views, whose sum is a third tensor.
  struct GradientSum {
    Slot slot = kNone;
    bool is_own = false;
  };
  struct LinearBackward {
    Slot dy = kNone;               // freed
    Slot x = kNone;                // its input
    bool recomputed = false;       // saved tensors die before the incoming gradient
    GradientSum* joins = nullptr;  // what its input's gradient is added to
    bool keeps_dy = false;
    bool recomputes =
        false;  // a checkpointed block, when the first tensor that it saved is asked for
  };
  // Gradients of weight and bias, accumulated, and the input's, which it returns; kNone where none of it
  // is asked for.
  Slot linear_backward(const Linear& l, const LinearBackward& at);

  // Under autocast what is cast lives until the context ends, unless nodes saved it.
  void end_autocast();
  void leave_autocast() {  // of all segments
    if (autocasts()) script_->add(Action::Kind::leave_autocast, kNone);
  }
  bool autocasts() const { return type != stream_type; }

  // A complete gradient, the runtime's from now on; accumulate() runs the AccumulateGrad nodes.
  void ready(Slot gradient) { script_->add(Action::Kind::gradient_ready, gradient); }
  void accumulate() { script_->add(Action::Kind::accumulate, kNone); }
  void host_wait() { script_->add(Action::Kind::host_wait, kNone); }
  void returned(std::vector<Slot> outputs) {  // of the model's forward
    segment.returned = std::move(outputs);
    script_->add(Action::Kind::returned, kNone);
  }
  void recompute() { script_->add(Action::Kind::recompute, kNone); }
  void hand_over(Slot slot, Shared shared) { script_->add(Action::Kind::hand_over, slot, shared); }
  void receive(Slot slot, Shared shared) { script_->add(Action::Kind::receive, slot, shared); }

  bool is_gradient(Slot slot) const {  // of a parameter
    return segment.slots[static_cast<std::size_t>(slot)].parameter.module != kNone;
  }
  std::int64_t bytes(Slot slot) const {
    return slot == kNone ? 0 : segment.slots[static_cast<std::size_t>(slot)].bytes;
  }
  // Bytes of n elements of the type that products compute in, and of the residual stream's.
  std::int64_t of(std::int64_t elements) const { return elements * z.e; }
  std::int64_t of_stream(std::int64_t elements) const { return elements * item_size(stream_type); }

 private:
  const Module* find_module(std::string_view path) const;
  Linear declare_plain_linear(std::string_view path, std::int64_t out, std::int64_t in, bool bias,
                              bool reads_stream);
  void add_adapter(Linear& l, std::string_view path);
  void plain_linear(const Linear& l, Slot x, Slot y);
  Slot adapted_input(const Linear& l, Slot x);
  Slot plain_linear_backward(const Linear& l, const LinearBackward& at);
  Slot adapted_backward(const Linear& l, const LinearBackward& at);
  // torchao's cast: the largest number, a copy in fp32 that is scaled and clamped, the cast itself.
  Slot narrowed(const Operand& of, std::int64_t elements);
  CostKey product_key(const Linear& l, Operator op, CostDims dims) const;
  // A product of two factors, in float8 of their casts.
  struct Factor {
    Operand tensor;
    std::int64_t elements;
  };
  void multiply(const Linear& l, Slot out, const CostKey& key, const Factor& a, const Factor& b);
  Slot add(const SlotSpec& spec);
  void launch_memory_bound(std::string_view op, Reads reads, Slot write);
  void cast_parameter(Slot copy, const ParameterRef& parameter);
  void join(GradientSum& sum, Slot term, bool is_view);
  static std::size_t nth(std::int32_t index) { return static_cast<std::size_t>(index); }

  struct Autograd {
    int saved = 0;  // by that many nodes
    bool requires_gradient = false;
  };
  std::vector<Autograd> autograd_;   // by slot
  std::vector<Slot> cast_;           // in the cache of the autocast context
  std::vector<bool> has_gradients_;  // by parameter of the model
  GradMode grad_;
  ModuleId base_;
  bool records_ = true;
  Script* script_ = nullptr;
  Thread thread_ = Thread::main;
};

}  // namespace foreshard::lowering
