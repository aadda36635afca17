#include "traces/snapshot/attribution.hpp"

#include <algorithm>
#include <initializer_list>

namespace foreshard::traces {
namespace {

constexpr std::size_t kMostFrames = 256, kMostLines = 64, kMostText = 256;

// What a frame says of the stacks it is in.
enum : std::uint32_t {
  kLookedAt = 1u << 0,
  kWorkspace = 1u << 1,
  kClipping = 1u << 2,
  kOptimizer = 1u << 3,
  kSchedule = 1u << 4,
  kMakesState = 1u << 5,
  kFirstUnshard = 1u << 6,
  kUnshard = 1u << 7,
  kCopyOut = 1u << 8,
  kGather = 1u << 9,
  kReduce = 1u << 10,
  kBucket = 1u << 11,
  kRecompute = 1u << 12,
  kAccumulate = 1u << 13,
  kBackward = 1u << 14,
  kInputs = 1u << 15,
  kPlacesParameters = 1u << 16,
  kLoss = 1u << 17,
  kForward = 1u << 18,
  kBatch = 1u << 19,
  kModuleFile = 1u << 20,
  kOfProgram = 1u << 21,  // a function that names the role
  kNode = 1u << 22,       // an autograd node's apply
};

using Words = std::initializer_list<std::string_view>;

bool holds(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}
bool holds_any(std::string_view text, Words words) {
  return std::any_of(words.begin(), words.end(), [&](auto word) { return holds(text, word); });
}
bool is_any(std::string_view text, Words words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

std::string_view file_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

// "MulBackward0" of torch::autograd::generated::MulBackward0::apply(...), or empty.
std::string_view backward_node(std::string_view function) {
  constexpr std::string_view kPrefix = "torch::autograd::generated::";
  const auto at = function.find(kPrefix);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = function.substr(at + kPrefix.size());
  const std::string_view name = rest.substr(0, std::min(rest.find("::"), rest.find('(')));
  return name == "details" ? std::string_view() : name;
}

// Frames of C++ and of the interpreter.
std::uint32_t native_frame(std::string_view function) {
  std::uint32_t says = 0;
  if (holds_any(function, {"WorkspaceForHandle", "Workspace(", "getCUDABlasLtWorkspace",
                           "CUDABlasHandle", "chooseAlgorithm"})) {
    says |= kWorkspace;
  }
  if (holds_any(function, {"at::zeros_like", "at::_ops::zeros_like"})) says |= kMakesState;
  if (holds(function, "fsdp::all_gather_copy_in")) says |= kGather;
  if (holds(function, "c10d::Reducer")) says |= kBucket;
  if (holds(function, "torch::autograd::AccumulateGrad")) says |= kAccumulate;
  if (holds_any(function, {"torch::autograd::Node::operator()", "torch::autograd::Engine",
                           "torch::autograd::python::PythonEngine"})) {
    says |= kBackward;
  }
  if (!backward_node(function).empty()) says |= kNode;
  return says;
}

std::uint32_t function_of_program(std::string_view function) {
  std::uint32_t says = 0;
  if (holds_any(function, {"clip_grad", "get_total_norm"})) says |= kClipping;
  if (is_any(function, {"_init_group", "init_state"})) says |= kMakesState;
  if (function == "init_all_gather_outputs") says |= kFirstUnshard;
  if (is_any(function, {"init_all_gather_outputs", "alloc_all_gather_outputs",
                        "init_unsharded_param", "_alloc_padded_unsharded_flat_param"})) {
    says |= kUnshard;
  }
  if (is_any(function, {"foreach_all_gather_copy_out", "split_with_sizes_copy"})) says |= kCopyOut;
  if (is_any(function, {"foreach_all_gather", "all_gather_copy_in", "_all_gather_flat_param",
                        "all_gather_into_tensor"})) {
    says |= kGather;
  }
  if (is_any(function, {"foreach_reduce", "foreach_reduce_scatter_copy_in", "_reduce_grad",
                        "reduce_scatter_tensor"})) {
    says |= kReduce;
  }
  if (is_any(function, {"recompute_fn", "unpack_hook", "checkpoint_backward"})) says |= kRecompute;
  if (function == "_engine_run_backward") says |= kBackward;
  if (is_any(function, {"inputs_to_device", "_to_kwargs"})) says |= kInputs;
  if (is_any(function, {"convert", "to_empty", "load_state_dict", "from_pretrained",
                        "distribute_tensor", "_init_sharded_param", "reset_sharded_param"})) {
    says |= kPlacesParameters;
  }
  if (holds_any(function, {"loss", "Loss", "cross_entropy"})) says |= kLoss;
  if (function == "forward") says |= kForward;
  if (holds_any(function, {"batch", "next_data", "pin_memory"})) says |= kBatch;
  return says;
}

std::uint32_t file_of_program(std::string_view file) {
  std::uint32_t says = 0;
  const bool is_module = holds(file, "torch/nn/modules/module.py");
  if (!is_module && !holds_any(file, {"torch/_dynamo/", "torch/utils/"})) says |= kOfProgram;
  if (is_module) says |= kForward;
  if (holds(file, "torch/optim/")) says |= holds(file, "lr_scheduler") ? kSchedule : kOptimizer;
  if (holds_any(file_name(file), {"loss.py", "loss_utils.py"})) says |= kLoss;
  if (holds(file, "dataloader")) says |= kBatch;
  if (holds_any(file, {"torch/nn/modules/", "torch/nn/parameter.py", "torch/nn/init.py"})) {
    says |= kModuleFile;
  }
  return says;
}

}  // namespace

Attributions::Attributions(const Snapshot& snapshot)
    : snapshot_(snapshot), frames_(snapshot.frames.size()), known_(snapshot.stacks.size()) {}

const Attribution& Attributions::of(StackId stack) {
  auto& known = known_[static_cast<std::size_t>(stack)];
  if (!known) known = attribute(snapshot_.stack(stack));
  return *known;
}

bool Attributions::gathers_first(StackId stack) {
  return (said_by_all(snapshot_.stack(stack)) & kFirstUnshard) != 0;
}

Attributions::Says Attributions::said_by(std::int32_t frame) {
  Says& says = frames_[static_cast<std::size_t>(frame)];
  if (says != 0) return says;
  const auto cut = [&](TextId id) {
    return std::string_view(snapshot_.text(id)).substr(0, kMostText);
  };
  const std::string_view function = cut(snapshot_.frame(frame).function);
  const std::string_view file = snapshot_.text(snapshot_.frame(frame).file);
  const bool is_python = file.ends_with(".py");
  return says = kLookedAt | (is_python ? function_of_program(function) |
                                             file_of_program(file.substr(0, 4 * kMostText))
                                       : native_frame(function));
}

Attributions::Says Attributions::said_by_all(const std::vector<std::int32_t>& stack) {
  Says says = 0;
  for (std::size_t i = 0; i < std::min(stack.size(), kMostFrames); ++i) says |= said_by(stack[i]);
  return says;
}

Attribution Attributions::attribute(const std::vector<std::int32_t>& stack) {
  const Says says = said_by_all(stack);
  const auto has = [&](Says bits) { return (says & bits) != 0; };
  if (has(kWorkspace)) return {"workspaces", "", "workspace"};
  if (has(kClipping)) return {"temporaries", "optimizer", "gradient clipping"};
  if (has(kOptimizer) && !has(kSchedule)) {
    if (has(kMakesState)) return {"optimizer_states", "optimizer", "optimizer state"};
    return {"temporaries", "optimizer", role(stack)};
  }
  if (has(kUnshard)) return {"unsharded_parameters", "", "unsharded parameter"};
  if (has(kCopyOut)) return {"temporaries", "", "all-gather copy-out"};
  if (has(kGather)) return {"all_gather", "", "all-gather output"};
  if (has(kReduce)) return {"reduce_scatter", "backward", "reduce-scatter"};
  if (has(kBucket)) return {"gradients", "backward", "gradient bucket"};
  if (has(kRecompute)) return {"activations", "recompute", role(stack)};
  if (has(kAccumulate)) return {"gradients", "backward", "gradient"};
  if (has(kBackward)) return {"temporaries", "backward", node(stack)};
  if (has(kInputs)) return {"inputs", "forward", role(stack)};
  if (has(kPlacesParameters)) return {"parameters", "setup", role(stack)};
  // Which of the two is innermost: a trainer's compute_loss runs the whole model, a model's forward
  // may compute its loss.
  const auto work = std::find_if(stack.begin(), stack.end(), [&](std::int32_t frame) {
    return (said_by(frame) & (kLoss | kForward)) != 0;
  });
  if (work != stack.end() && (said_by(*work) & kLoss) != 0) return {"loss", "loss", role(stack)};
  if (work != stack.end()) return {"activations", "forward", role(stack)};
  if (has(kBatch)) return {"inputs", "", role(stack)};
  if (has(kModuleFile)) return {"parameters", "setup", role(stack)};
  return {kUnattributed, "", role(stack)};
}

// The innermost function of the program; of a module's forward its file, and where in it.
std::string Attributions::role(const std::vector<std::int32_t>& stack) {
  const auto found = std::find_if(stack.begin(), stack.end(), [&](std::int32_t frame) {
    return (said_by(frame) & kOfProgram) != 0;
  });
  if (found == stack.end()) return {};
  const SnapshotFrame& frame = snapshot_.frame(*found);
  const std::string function = snapshot_.text(frame.function).substr(0, kMostText);
  if (function != "forward") return function;
  const std::string& file = snapshot_.text(frame.file);
  const std::string name(file_name(file).substr(0, kMostText));
  if (holds(file, "torch/nn/modules/")) return name.substr(0, name.rfind('.'));
  return name + ":" + std::to_string(frame.line);
}

std::string Attributions::node(const std::vector<std::int32_t>& stack) {
  for (const std::int32_t frame : stack) {
    if ((said_by(frame) & kNode) != 0) {
      const std::string& function = snapshot_.text(snapshot_.frame(frame).function);
      return std::string(backward_node(std::string_view(function).substr(0, kMostText)));
    }
  }
  const std::string program = role(stack);
  return program.empty() ? "backward" : program;
}

std::string stack_text(const Snapshot& snapshot, const std::vector<std::int32_t>& stack) {
  std::string text;
  std::size_t lines = 0;
  for (const std::int32_t id : stack) {
    const SnapshotFrame& frame = snapshot.frame(id);
    const auto cut = [&](TextId part) {
      return std::string_view(snapshot.text(part)).substr(0, kMostText);
    };
    const std::string_view function = cut(frame.function), file = cut(frame.file);
    if (holds_any(function, {"torch::unwind::", "CapturedTraceback::gather", "gather_with_cpp"})) {
      continue;
    }
    if (lines++ == kMostLines) break;
    if (!text.empty()) text += '\n';
    text += function;
    if (file.empty() || file == "??") continue;
    text += ' ';
    text += file;
    text += ':' + std::to_string(frame.line);
  }
  return text;
}

}  // namespace foreshard::traces
