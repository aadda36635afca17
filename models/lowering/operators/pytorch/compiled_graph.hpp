// A graph that torch.compile made of a block, as Inductor runs it: kernels in a fixed order, and a plan of
// its memory.
//
// Operators between matrix products and attention are fused into Triton kernels; products and attention
// stay the libraries'. A buffer is allocated for the first kernel that writes it and goes back after the
// last one that uses it, or becomes the storage of a later buffer of the same size, as long as keeping
// it until then does not raise the graph's peak (MemoryPlanningState and
// EfficientPeakEstimate, torch/_inductor/codegen/wrapper.py). What the graph returns is kept. Tensors
// that autograd saved belong to the backward graph and die where it uses them last.
#pragma once

#include <functional>
#include <vector>

#include "models/lowering/operators/pytorch/eager_writer.hpp"

namespace foreshard::lowering {

class CompiledGraph {
 public:
  // Of `inputs` the graph frees each after its last use.
  CompiledGraph(EagerWriter& writer, std::vector<Slot> inputs);

  // A kernel that fuses elementwise operators and reductions; its cost is that of the bytes which it
  // moves. One of `writes` that is there already is updated. `name` outlives the graph.
  using Slots = std::vector<Slot>;  // kNone is nothing
  void fused(std::string_view name, Slots reads, Slots writes);
  // An operator that Inductor leaves to PyTorch, which allocates what it writes: complex
  // multiplications, copies of other types.
  void fallback(std::string_view name, Slots reads, Slot write);
  // The same of a parameter of `bytes`, which it reads alone.
  void fused(std::string_view name, ParameterRef read, std::int64_t bytes, Slot write);
  // Whether a fused kernel of this graph writes it.
  bool is_fused(Slot slot) const {
    return static_cast<std::size_t>(slot) < lives_.size() && life(slot).is_fused;
  }
  // A matrix product with a parameter, or of two tensors.
  void product(Slot out, const CostKey& key, Slot x, ParameterRef weight);
  void product(Slot out, const CostKey& key, Slot x, Slot y);
  // What `emit` writes when its turn comes, with the storage of slots by `storage`; it allocates
  // `writes` itself.
  void call(Slots reads, Slots writes, std::function<void()> emit);
  Slot storage(Slot slot) const;

  // Writes what was listed, to the writer's script. `returned` is not freed. Kernels from `rest_from` on
  // (a number that size() returned) go where `begin_rest` leads.
  void write(const Slots& returned);
  void write(const Slots& returned, std::size_t rest_from, const std::function<void()>& begin_rest);
  std::size_t size() const { return kernels_.size(); }

 private:
  struct Kernel {
    Slots reads, writes;
    bool allocates_itself = false;
    std::function<void()> emit;
  };
  struct Life {
    std::size_t begin = kNever, end = kNever;  // kernels of the first and the last use
    bool is_input = false, is_returned = false, can_be_reused = false, is_fused = false;
    bool becomes_another = false;  // its storage
    Slot storage = kNone;
  };
  static constexpr std::size_t kNever = static_cast<std::size_t>(-1);

  Life& life(Slot slot);
  const Life& life(Slot slot) const { return lives_[static_cast<std::size_t>(slot)]; }
  void add(Kernel kernel);
  std::vector<std::int64_t> bytes_alive() const;
  void plan();
  void run(std::size_t kernel);

  EagerWriter& w_;
  std::vector<Kernel> kernels_;
  std::vector<Life> lives_;  // by slot
};

}  // namespace foreshard::lowering
