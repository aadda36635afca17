#include "models/lowering/operators/pytorch/compiled_graph.hpp"

#include <algorithm>

namespace foreshard::lowering {

CompiledGraph::CompiledGraph(EagerWriter& writer, std::vector<Slot> inputs) : w_(writer) {
  for (const Slot slot : inputs) {
    if (slot != kNone) life(slot).is_input = true;
  }
}

CompiledGraph::Life& CompiledGraph::life(Slot slot) {
  const auto at = static_cast<std::size_t>(slot);
  if (lives_.size() <= at) lives_.resize(at + 1);
  return lives_[at];
}

Slot CompiledGraph::storage(Slot slot) const {
  if (slot == kNone) return kNone;
  const Slot of = life(slot).storage;
  return of == kNone ? slot : of;
}

void CompiledGraph::add(Kernel kernel) {
  for (Slots* const slots : {&kernel.reads, &kernel.writes}) {
    std::erase(*slots, kNone);
    for (const Slot slot : *slots) {
      Life& of = life(slot);
      if (of.begin == kNever) {
        of.begin = kernels_.size();
        of.can_be_reused = !of.is_input;
      }
      of.end = kernels_.size();
    }
  }
  kernels_.push_back(std::move(kernel));
}

void CompiledGraph::fused(std::string_view name, Slots reads, Slots writes) {
  Kernel kernel{reads, writes, false, {}};
  kernel.emit = [this, name, reads = std::move(reads), writes = std::move(writes)] {
    CostKey key{Operator::memory_bound, DType::fp32, DType::fp32, DType::fp32, {}};
    std::vector<Operand> read, written;
    const auto list = [&](const Slots& slots, std::vector<Operand>& operands, std::int64_t& bytes) {
      for (const Slot slot : slots) {
        if (slot == kNone) continue;
        operands.push_back(Operand::of(storage(slot)));
        bytes += w_.bytes(slot);
      }
    };
    list(reads, read, key.dims[0]);
    list(writes, written, key.dims[1]);
    w_.launch(key, name, std::move(read), std::move(written));
  };
  add(std::move(kernel));
  for (const Slot slot : kernels_.back().writes) life(slot).is_fused = true;
}

void CompiledGraph::fused(std::string_view name, ParameterRef read, std::int64_t bytes,
                          Slot write) {
  const CostKey key{
      Operator::memory_bound, DType::fp32, DType::fp32, DType::fp32, {bytes, w_.bytes(write)}};
  add({{}, {write}, false, [this, name, read, write, key] {
         w_.launch(key, name, {Operand::of(read)}, {Operand::of(storage(write))});
       }});
}

void CompiledGraph::fallback(std::string_view name, Slots reads, Slot write) {
  fused(name, std::move(reads), {write});
  life(write).can_be_reused = life(write).is_fused = false;
}

void CompiledGraph::product(Slot out, const CostKey& key, Slot x, ParameterRef weight) {
  add({{x}, {out}, false, [this, out, key, x, weight] {
         w_.product_into(storage(out), key, {Operand::of(storage(x)), Operand::of(weight)});
       }});
}

void CompiledGraph::product(Slot out, const CostKey& key, Slot x, Slot y) {
  add({{x, y}, {out}, false, [this, out, key, x, y] {
         // Of float8 the product is cublasLt's, as one that adds a bias is.
         w_.product_into(storage(out), key, {Operand::of(storage(x)), Operand::of(storage(y))},
                         key.dtype == DType::fp8);
       }});
}

void CompiledGraph::call(Slots reads, Slots writes, std::function<void()> emit) {
  add({std::move(reads), std::move(writes), true, std::move(emit)});
}

// While each kernel runs, where every buffer has storage of its own.
std::vector<std::int64_t> CompiledGraph::bytes_alive() const {
  std::vector<std::int64_t> alive(kernels_.size());
  for (std::size_t slot = 0; slot < lives_.size(); ++slot) {
    const Life& of = lives_[slot];
    if (of.begin == kNever) continue;
    const std::size_t begin = of.is_input ? 0 : of.begin,
                      end = of.is_returned ? kernels_.size() - 1 : of.end;
    for (std::size_t k = begin; k <= end; ++k) alive[k] += w_.bytes(static_cast<Slot>(slot));
  }
  for (std::size_t k = 0; k < kernels_.size(); ++k) {  // what is updated is two buffers there
    for (const Slot slot : kernels_[k].writes) {
      if (life(slot).begin != k || life(slot).is_input) alive[k] += w_.bytes(slot);
    }
  }
  return alive;
}

void CompiledGraph::plan() {
  const std::vector<std::int64_t> alive = bytes_alive();
  const std::int64_t peak = alive.empty() ? 0 : *std::max_element(alive.begin(), alive.end());
  Slots dead;  // buffers whose storage nobody has yet, in the order in which they died
  const auto take = [&](Slot slot, std::size_t now) {
    for (std::size_t d = dead.size(); d-- > 0;) {
      const Slot old = dead[d];
      const std::size_t died = life(old).end;
      if (w_.bytes(old) != w_.bytes(slot)) continue;
      const auto between = std::max_element(alive.begin() + static_cast<std::ptrdiff_t>(died) + 1,
                                            alive.begin() + static_cast<std::ptrdiff_t>(now));
      const bool is_next = died + 1 == now;
      if (!is_next && *between + w_.bytes(slot) > peak) return;  // Inductor tries the last one only
      life(slot).storage = storage(old);
      life(old).becomes_another = true;
      dead.erase(dead.begin() + static_cast<std::ptrdiff_t>(d));
      return;
    }
  };
  for (std::size_t k = 0; k < kernels_.size(); ++k) {
    for (const Slot slot : kernels_[k].writes) {
      const Life& of = life(slot);
      const bool is_new = of.begin == k && !of.is_input && !kernels_[k].allocates_itself;
      if (is_new && of.can_be_reused && !w_.is_gradient(slot)) take(slot, k);
    }
    for (const Slots* const slots : {&kernels_[k].reads, &kernels_[k].writes}) {
      for (const Slot slot : *slots) {
        const Life& of = life(slot);
        const bool dies = of.end == k && of.can_be_reused && !of.is_returned;
        if (dies && std::find(dead.begin(), dead.end(), slot) == dead.end()) dead.push_back(slot);
      }
    }
  }
}

void CompiledGraph::run(std::size_t kernel) {
  const Kernel& k = kernels_[kernel];
  for (const Slot slot : k.writes) {
    const Life& of = life(slot);
    const bool is_new = of.begin == kernel && !of.is_input && of.storage == kNone;
    if (is_new && !k.allocates_itself) w_.allocate(slot);
  }
  k.emit();
  Slots freed;
  for (const Slots* const slots : {&k.reads, &k.writes}) {
    for (const Slot slot : *slots) {
      const Life& of = life(slot);
      if (of.end != kernel || of.is_returned || of.becomes_another) continue;
      if (std::find(freed.begin(), freed.end(), slot) == freed.end()) freed.push_back(slot);
    }
  }
  for (const Slot slot : freed) w_.free({storage(slot)});
}

void CompiledGraph::write(const Slots& returned) {
  write(returned, kernels_.size(), [] {});
}

void CompiledGraph::write(const Slots& returned, std::size_t rest_from,
                          const std::function<void()>& begin_rest) {
  for (const Slot slot : returned) {
    if (slot != kNone) life(slot).is_returned = true;
  }
  plan();
  for (std::size_t k = 0; k < kernels_.size(); ++k) {
    if (k == rest_from) begin_rest();
    run(k);
  }
}

}  // namespace foreshard::lowering
