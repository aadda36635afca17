// What a segment of a model does, action by action: the *script*.
//
// A segment (the embedding, a decoder block, the head, the loss) has a script forward and one backward,
// a block three more for when it is checkpointed. A script lists in the order of the host what is
// allocated, launched and freed, which modules are entered and left, and when a gradient is complete.
// Nothing about lifetimes is inferred from it: an operator that takes temporaries and gives them back
// in an order of its own is written down in that order. Tables that leave lifetimes to a rule
// (operators/operator_table.hpp) are compiled to scripts, once a job.
//
// A script is relative: modules are those of its segment, tensors are *slots*, which the runner
// (script_runner.hpp) fills with buffers for each place in the model at which the segment stands.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "models/lowering/script/emitter.hpp"

namespace foreshard::lowering {

// A tensor of a segment.
using Slot = std::int32_t;

// A parameter of one of a segment's modules: 0 is the weight, 1 the bias.
struct ParameterRef {
  std::int32_t module = kNone;
  std::int32_t index = 0;
};

struct SlotSpec {
  std::int64_t bytes = 0;
  Category category = Category::activations;
  Role role = Role::activation;
  ParameterRef parameter{};  // whose gradient it is; otherwise it belongs to the module at hand
};

// Buffers that every segment sees under these names. A segment can also hand a slot over to one of
// them, for another to receive: what PyTorch's modules share in variables of their own.
enum class Shared : std::uint8_t {
  workspace,           // of the matrix products, in backward those of the autograd thread
  autograd_workspace,  // where that is another one
  bias_workspace,      // of products that add a bias (cublasLt), likewise
  autograd_bias_workspace,
  rope_table,
  tokens,
  targets,
  loss,
  root_gradient,  // the one that backward begins with
  scaled_loss,    // that backward begins at, where it is not the loss itself
  logits,
  embedded,       // the embedding's output
  embedded_gradient,  // where that is a leaf of the graph, which then holds both
  hidden_states,  // the head's input
  positions,
  attention_mask,  // that the model is called with
  mask,            // the decoder's, of layers without a window and with one
  window_mask,
  cosines,
  sines,
  kCount
};

inline constexpr std::int64_t kBiasWorkspaceBytes = 1 << 20;  // CUBLASLT_WORKSPACE_SIZE's default

struct Operand {
  enum class Kind : std::uint8_t {
    slot,
    parameter,  // the full one, as the sharding runtime has it
    gradient,   // what the runtime holds of a parameter's gradient already
    shared
  };
  Kind kind = Kind::slot;
  Shared shared = Shared::workspace;
  Slot slot = kNone;
  ParameterRef parameter{};

  static Operand of(Slot s) { return {Kind::slot, Shared::workspace, s, {}}; }
  static Operand of(Shared s) { return {Kind::shared, s, kNone, {}}; }
  static Operand of(ParameterRef p) { return {Kind::parameter, Shared::workspace, kNone, p}; }
  static Operand gradient_of(ParameterRef p) {
    return {Kind::gradient, Shared::workspace, kNone, p};
  }
};

// A kernel on the compute stream.
struct Launch {
  CostKey key;
  std::string_view name;     // of an operator that is not of our own, such as "aten::mul"
  std::size_t operands = 0;  // the first of them in Script::operands
  std::size_t reads = 0;     // operands are reads, then writes
  std::size_t writes = 0;
  CostKeyId key_id = kNone;  // these two are filled when the script is bound to an emitter
  OperatorId op = kNone;
};

struct Action {
  enum class Kind : std::uint8_t {
    enter,           // module `index`; first leaves those that do not contain it
    leave,           // module `index`, with the hooks that stand on its end
    allocate,        // slot `index`
    free,            // slot `index`
    launch,          // launch `index` of the script
    gradient_ready,  // slot `index` holds the gradient of its parameter; it is the runtime's now
    accumulate,      // the gradients that are ready are accumulated (AccumulateGrad runs)
    recompute,       // a checkpointed block computes its activations again here
    leave_autocast,  // the context ends: all segments' scripts `end_of_autocast` run
    workspace,       // allocates `shared`, unless it is there already
    hand_over,       // what slot `index` holds becomes `shared`
    receive,         // what `shared` holds becomes slot `index`
    returned,        // the model's forward returns the segment's slots `returned`
    host_wait        // the host reads a value that the compute stream is still to produce
  };
  Kind kind;
  Shared shared = Shared::workspace;
  std::int32_t index = kNone;
};

struct Script {
  std::vector<Action> actions;
  std::vector<Launch> launches;
  std::vector<Operand> operands;

  using Operands = std::span<const Operand>;
  Operands reads(const Launch& of) const { return all(of).first(of.reads); }
  Operands writes(const Launch& of) const { return all(of).subspan(of.reads); }

  void add(Action::Kind kind, std::int32_t index, Shared shared = Shared::workspace) {
    actions.push_back({kind, shared, index});
  }
  void launch(const CostKey& key, Operands reads, Operands writes, std::string_view name = {}) {
    add(Action::Kind::launch, static_cast<std::int32_t>(launches.size()));
    launches.push_back({key, name, operands.size(), reads.size(), writes.size()});
    operands.insert(operands.end(), reads.begin(), reads.end());
    operands.insert(operands.end(), writes.begin(), writes.end());
  }

 private:
  Operands all(const Launch& of) const {
    return Operands(operands).subspan(of.operands, of.reads + of.writes);
  }
};

struct Segment {
  // Modules by their paths relative to the segment's own ("self_attn.q_proj").
  std::vector<std::string_view> modules;
  std::vector<SlotSpec> slots;
  Script forward, backward;
  // Of a block that is checkpointed: what it does instead, and its forward again inside backward.
  Script checkpointed_forward, recomputation, recomputed_backward;
  Script end_of_autocast;  // frees the copies of parameters that backward has no need of

  // Slots that segments hand to each other: what forward is given and gives, and the gradient that
  // backward is given, gives, or both in one buffer.
  Slot input = kNone, output = kNone, gradient = kNone;
  bool has_input_gradient = true;  // otherwise backward ends here
  Slot new_gradient = kNone;       // that backward gives, where it is not the one that it was given
  std::vector<Slot> returned;      // by the model to its caller
};

// What a Llama consists of. Another operator set is another function that makes these segments.
struct OperatorSet {
  Segment embedding;
  std::vector<Segment> blocks;           // those that differ
  std::vector<std::int32_t> block_kind;  // by layer: which of them stands there
  Segment head, loss;
  bool loss_in_model = false;  // the model's forward computes it, inside the root's hooks

  const Segment& block(std::size_t layer) const {
    return blocks[static_cast<std::size_t>(block_kind[layer])];
  }
};

// Slots that are alive once a forward script has run, in ascending order: what backward will need,
// without the output, which belongs to the next segment.
std::vector<Slot> kept_slots(const Segment& segment, const Script& forward);

}  // namespace foreshard::lowering
