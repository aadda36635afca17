// Writes the scripts of a segment as PyTorch runs it in eager mode: every operator takes its output
// from the caching allocator when the host issues it, and a tensor goes back when nothing holds it any
// longer, which is where Python and autograd drop it.
//
// Letters: T tokens of a micro-batch (B sequences of S), D hidden size, H query heads, K key/value
// heads, d head size, F feed-forward size, V vocabulary; e bytes of the compute type.
#pragma once

#include <initializer_list>
#include <string_view>

#include "models/base/units.hpp"
#include "models/lowering/script/pytorch_rules.hpp"
#include "models/lowering/script/script.hpp"
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
  explicit EagerWriter(const Job& job);

  const Job& job;
  const PyTorchPlan& plan;
  const PyTorchRules rules;
  const EagerSizes z;
  const DType type;
  const bool is_transformers;
  Segment segment;

  // What follows goes to this script. `thread`: that runs it.
  void begin(Script& script, Thread thread = Thread::main);

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
  CostKey key(Operator op, std::array<std::int64_t, 5> dims) const {
    return {op, type, type, type, dims};
  }

  // A matrix product: its output, then the workspace (cublasGemmEx; cublasLtMatmul adds a bias).
  void product(Slot out, const CostKey& key, std::vector<Operand> reads, bool adds_bias = false);
  // The same into a tensor that is there.
  void product_into(Slot out, const CostKey& key, std::vector<Operand> reads,
                    bool adds_bias = false);
  // The sum over the rows of a tensor of this shape, with the scratch of at::sum.
  void sum_rows(Slot out, Slot of, std::int64_t rows, std::int64_t width);
  // nn.Linear: y[T, out] = x[T, in] w + b.
  struct Linear {
    std::int32_t module;
    std::int64_t out, in;
    bool bias = false;
    bool is_float8 = false;  // both factors of its products are cast to float8 first
  };
  void linear(const Linear& l, Slot x, Slot y);
  // Gradients of weight and bias (ready with the next accumulate) and the input's, which it returns.
  // Frees `saved` alone: what the node lets go of before its bias' gradient is summed.
  Slot linear_backward(const Linear& l, Slot dy, Slot x, Slot saved = kNone);

  // A complete gradient, the runtime's from now on; accumulate() runs the AccumulateGrad nodes.
  void ready(Slot gradient) { script_->add(Action::Kind::gradient_ready, gradient); }
  void accumulate() { script_->add(Action::Kind::accumulate, kNone); }
  void recompute() { script_->add(Action::Kind::recompute, kNone); }
  void hand_over(Slot slot, Shared shared) { script_->add(Action::Kind::hand_over, slot, shared); }
  void receive(Slot slot, Shared shared) { script_->add(Action::Kind::receive, slot, shared); }

  bool is_gradient(Slot slot) const {  // of a parameter
    return segment.slots[static_cast<std::size_t>(slot)].parameter.module != kNone;
  }
  std::int64_t bytes(Slot slot) const {
    return slot == kNone ? 0 : segment.slots[static_cast<std::size_t>(slot)].bytes;
  }
  // Bytes of n elements of the compute type.
  std::int64_t of(std::int64_t elements) const { return elements * z.e; }

 private:
  // torchao's cast: the largest number, a copy in fp32 that is scaled and clamped, the cast itself.
  Slot narrowed(const Operand& of, std::int64_t elements);
  CostKey product_key(const Linear& l, Operator op, std::array<std::int64_t, 5> dims) const;
  // A product of two factors, in float8 of their casts.
  struct Factor {
    Operand tensor;
    std::int64_t elements;
  };
  void multiply(const Linear& l, Slot out, const CostKey& key, const Factor& a, const Factor& b);
  Slot add(const SlotSpec& spec);
  void launch_memory_bound(std::string_view op, Reads reads, Slot write);

  Script* script_ = nullptr;
  Thread thread_ = Thread::main;
};

}  // namespace foreshard::lowering
