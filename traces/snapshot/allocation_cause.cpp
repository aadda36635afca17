#include "traces/snapshot/allocation_cause.hpp"

#include <algorithm>
#include <initializer_list>

#include "traces/snapshot/label_frames.hpp"

namespace foreshard::traces {
namespace {

constexpr std::size_t kMaxFrames = 256, kMaxLines = 64, kMaxText = 256;

// What a frame indicates about the stacks that it is in.
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
  std::uint32_t tags = 0;
  if (holds_any(function, {"WorkspaceForHandle", "Workspace(", "getCUDABlasLtWorkspace",
                           "CUDABlasHandle", "chooseAlgorithm"})) {
    tags |= kWorkspace;
  }
  if (holds_any(function, {"at::zeros_like", "at::_ops::zeros_like"})) tags |= kMakesState;
  if (holds(function, "fsdp::all_gather_copy_in")) tags |= kGather;
  if (holds(function, "c10d::Reducer")) tags |= kBucket;
  if (holds(function, "torch::autograd::AccumulateGrad")) tags |= kAccumulate;
  if (holds_any(function, {"torch::autograd::Node::operator()", "torch::autograd::Engine",
                           "torch::autograd::python::PythonEngine"})) {
    tags |= kBackward;
  }
  if (!backward_node(function).empty()) tags |= kNode;
  return tags;
}

std::uint32_t function_of_program(std::string_view function) {
  std::uint32_t tags = 0;
  if (holds_any(function, {"clip_grad", "get_total_norm"})) tags |= kClipping;
  if (is_any(function, {"_init_group", "init_state"})) tags |= kMakesState;
  if (function == "init_all_gather_outputs") tags |= kFirstUnshard;
  if (is_any(function, {"init_all_gather_outputs", "alloc_all_gather_outputs",
                        "init_unsharded_param", "_alloc_padded_unsharded_flat_param"})) {
    tags |= kUnshard;
  }
  if (is_any(function, {"foreach_all_gather_copy_out", "split_with_sizes_copy"})) tags |= kCopyOut;
  if (is_any(function, {"foreach_all_gather", "all_gather_copy_in", "_all_gather_flat_param",
                        "all_gather_into_tensor"})) {
    tags |= kGather;
  }
  if (is_any(function, {"foreach_reduce", "foreach_reduce_scatter_copy_in", "_reduce_grad",
                        "reduce_scatter_tensor"})) {
    tags |= kReduce;
  }
  if (is_any(function, {"recompute_fn", "unpack_hook", "checkpoint_backward"})) tags |= kRecompute;
  if (function == "_engine_run_backward") tags |= kBackward;
  if (is_any(function, {"inputs_to_device", "_to_kwargs"})) tags |= kInputs;
  if (is_any(function, {"convert", "to_empty", "load_state_dict", "from_pretrained",
                        "distribute_tensor", "_init_sharded_param", "reset_sharded_param"})) {
    tags |= kPlacesParameters;
  }
  if (holds_any(function, {"loss", "Loss", "cross_entropy"})) tags |= kLoss;
  if (function == "forward") tags |= kForward;
  if (holds_any(function, {"batch", "next_data", "pin_memory"})) tags |= kBatch;
  return tags;
}

std::uint32_t file_of_program(std::string_view file) {
  std::uint32_t tags = 0;
  if (is_place_in_program(file)) tags |= kOfProgram;
  if (holds(file, "torch/nn/modules/module.py")) tags |= kForward;
  if (holds(file, "torch/optim/")) tags |= holds(file, "lr_scheduler") ? kSchedule : kOptimizer;
  if (holds_any(file_name(file), {"loss.py", "loss_utils.py"})) tags |= kLoss;
  if (holds(file, "dataloader")) tags |= kBatch;
  if (holds_any(file, {"torch/nn/modules/", "torch/nn/parameter.py", "torch/nn/init.py"})) {
    tags |= kModuleFile;
  }
  return tags;
}

}  // namespace

AllocationCauses::AllocationCauses(const Snapshot& snapshot)
    : snapshot_(snapshot), frames_(snapshot.frames.size()), known_(snapshot.stacks.size()) {}

const AllocationCause& AllocationCauses::of(StackId stack) {
  auto& known = known_[static_cast<std::size_t>(stack)];
  if (!known) known = attribute(snapshot_.stack(stack));
  return *known;
}

bool AllocationCauses::gathers_first(StackId stack) {
  return (classify_stack(snapshot_.stack(stack)) & kFirstUnshard) != 0;
}

AllocationCauses::FrameTags AllocationCauses::classify_frame(std::int32_t frame) {
  FrameTags& tags = frames_[static_cast<std::size_t>(frame)];
  if (tags != 0) return tags;
  const auto cut = [&](TextId id) {
    return std::string_view(snapshot_.text(id)).substr(0, kMaxText);
  };
  const std::string_view function = cut(snapshot_.frame(frame).function);
  const std::string_view file = snapshot_.text(snapshot_.frame(frame).file);
  const bool is_python = file.ends_with(".py");
  return tags = kLookedAt | (is_python ? function_of_program(function) |
                                             file_of_program(file.substr(0, 4 * kMaxText))
                                       : native_frame(function));
}

AllocationCauses::FrameTags AllocationCauses::classify_stack(
    const std::vector<std::int32_t>& stack) {
  FrameTags tags = 0;
  for (std::size_t i = 0; i < std::min(stack.size(), kMaxFrames); ++i)
    tags |= classify_frame(stack[i]);
  return tags;
}

AllocationCause AllocationCauses::attribute(const std::vector<std::int32_t>& stack) {
  if (const auto category = label_of(snapshot_, stack, "category")) {
    return {*category, *label_of(snapshot_, stack, "phase"),
            std::string(*label_of(snapshot_, stack, "owner"))};
  }
  const FrameTags tags = classify_stack(stack);
  const auto has = [&](FrameTags bits) { return (tags & bits) != 0; };
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
    return (classify_frame(frame) & (kLoss | kForward)) != 0;
  });
  if (work != stack.end() && (classify_frame(*work) & kLoss) != 0)
    return {"loss", "loss", role(stack)};
  if (work != stack.end()) return {"activations", "forward", role(stack)};
  if (has(kBatch)) return {"inputs", "", role(stack)};
  if (has(kModuleFile)) return {"parameters", "setup", role(stack)};
  return {kUnattributed, "", role(stack)};
}

// The innermost function of the program; of a module's forward its file, and where in it.
std::string AllocationCauses::role(const std::vector<std::int32_t>& stack) {
  const auto found = std::find_if(stack.begin(), stack.end(), [&](std::int32_t frame) {
    return (classify_frame(frame) & kOfProgram) != 0;
  });
  if (found == stack.end()) return {};
  const SnapshotFrame& frame = snapshot_.frame(*found);
  const std::string function = snapshot_.text(frame.function).substr(0, kMaxText);
  if (function != "forward") return function;
  const std::string& file = snapshot_.text(frame.file);
  const std::string name(file_name(file).substr(0, kMaxText));
  if (holds(file, "torch/nn/modules/")) return name.substr(0, name.rfind('.'));
  return name + ":" + std::to_string(frame.line);
}

std::string AllocationCauses::node(const std::vector<std::int32_t>& stack) {
  for (const std::int32_t frame : stack) {
    if ((classify_frame(frame) & kNode) != 0) {
      const std::string& function = snapshot_.text(snapshot_.frame(frame).function);
      return std::string(backward_node(std::string_view(function).substr(0, kMaxText)));
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
      return std::string_view(snapshot.text(part)).substr(0, kMaxText);
    };
    const std::string_view function = cut(frame.function), file = cut(frame.file);
    if (holds_any(function, {"torch::unwind::", "CapturedTraceback::gather", "gather_with_cpp"})) {
      continue;
    }
    if (lines++ == kMaxLines) break;
    if (!text.empty()) text += '\n';
    text += function;
    if (file.empty() || file == "??") continue;
    text += ' ';
    text += file;
    text += ':' + std::to_string(frame.line);
  }
  return text;
}

bool is_place_in_program(std::string_view file) {
  return !holds_any(file, {"torch/nn/modules/module.py", "torch/_dynamo/", "torch/utils/"});
}

}  // namespace foreshard::traces
