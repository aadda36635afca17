#include "traces/snapshot/attribution.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace foreshard::traces {
namespace {

constexpr std::size_t kMostFrames = 256, kMostLines = 64, kMostText = 256;

using Words = std::initializer_list<std::string_view>;

struct Frame {
  std::string_view function, file;
  std::int64_t line = 0;
  bool is_python() const { return file.ends_with(".py"); }
};

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
std::string_view stem(std::string_view path) {
  const std::string_view name = file_name(path);
  return name.substr(0, name.rfind('.'));
}

// "MulBackward0" of torch::autograd::generated::MulBackward0::apply(...), or empty.
std::string_view backward_node(std::string_view function) {
  constexpr std::string_view kPrefix = "torch::autograd::generated::";
  const auto at = function.find(kPrefix);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = function.substr(at + kPrefix.size());
  return rest.substr(0, std::min(rest.find("::"), rest.find('(')));
}

class Stack {
 public:
  Stack(const Snapshot& snapshot, const std::vector<std::int32_t>& frames) {
    for (const std::int32_t id : frames) {
      if (frames_.size() == kMostFrames) break;
      const SnapshotFrame& frame = snapshot.frame(id);
      const auto cut = [&](TextId text) {
        return std::string_view(snapshot.text(text)).substr(0, kMostText);
      };
      frames_.push_back({cut(frame.function), cut(frame.file), frame.line});
    }
  }

  template <typename Matches>
  const Frame* innermost(Matches matches) const {
    const auto found = std::find_if(frames_.begin(), frames_.end(), matches);
    return found == frames_.end() ? nullptr : &*found;
  }
  bool has_function(Words names) const {
    return innermost([&](const Frame& f) { return is_any(f.function, names); }) != nullptr;
  }
  bool has_text(Words words) const {
    return innermost([&](const Frame& f) { return holds_any(f.function, words); }) != nullptr;
  }
  bool has_file(Words words) const {
    return innermost([&](const Frame& f) { return holds_any(f.file, words); }) != nullptr;
  }

  // The innermost function of the program: of a model where it is a module's forward.
  std::string role() const {
    const Frame* frame = innermost([](const Frame& f) {
      return f.is_python() && !holds(f.file, "torch/nn/modules/module.py") &&
             !holds(f.file, "torch/_dynamo/") && !holds(f.file, "torch/utils/");
    });
    if (frame == nullptr) return {};
    if (frame->function != "forward") return std::string(frame->function);
    const std::string name(stem(frame->file));
    if (holds(frame->file, "torch/nn/modules/")) return name;
    return name + ".py:" + std::to_string(frame->line);
  }

  std::string node() const {
    for (const Frame& frame : frames_) {
      const std::string_view name = backward_node(frame.function);
      if (!name.empty() && name != "details") return std::string(name);
    }
    const std::string role = this->role();
    return role.empty() ? "backward" : role;
  }

 private:
  std::vector<Frame> frames_;
};

bool is_loss(const Frame& frame) {
  return frame.is_python() && (holds_any(frame.function, {"loss", "Loss", "cross_entropy"}) ||
                               holds_any(file_name(frame.file), {"loss.py", "loss_utils.py"}));
}
bool is_forward(const Frame& frame) {
  return frame.is_python() &&
         (frame.function == "forward" || holds(frame.file, "torch/nn/modules/module.py"));
}

Attribution of_sharding(const Stack& stack) {
  if (stack.has_function({"init_all_gather_outputs", "alloc_all_gather_outputs",
                          "init_unsharded_param", "_alloc_padded_unsharded_flat_param"})) {
    return {"unsharded_parameters", "", "unsharded parameter"};
  }
  if (stack.has_function({"foreach_all_gather_copy_out", "split_with_sizes_copy"})) {
    return {"temporaries", "", "all-gather copy-out"};
  }
  if (stack.has_function({"foreach_all_gather", "all_gather_copy_in", "_all_gather_flat_param",
                          "all_gather_into_tensor"}) ||
      stack.has_text({"fsdp::all_gather_copy_in"})) {
    return {"all_gather", "", "all-gather output"};
  }
  if (stack.has_function({"foreach_reduce", "foreach_reduce_scatter_copy_in", "_reduce_grad",
                          "reduce_scatter_tensor"})) {
    return {"reduce_scatter", "backward", "reduce-scatter"};
  }
  if (stack.has_text({"c10d::Reducer"})) return {"gradients", "backward", "gradient bucket"};
  return {};
}

Attribution of_optimizer(const Stack& stack) {
  if (stack.has_text({"clip_grad", "get_total_norm", "_get_total_norm"})) {
    return {"temporaries", "optimizer", "gradient clipping"};
  }
  if (!stack.has_file({"torch/optim/"}) || stack.has_file({"lr_scheduler"})) return {};
  const bool is_state = stack.has_function({"_init_group", "init_state"}) ||
                        stack.has_text({"at::zeros_like", "at::_ops::zeros_like"});
  if (is_state) return {"optimizer_states", "optimizer", "optimizer state"};
  return {"temporaries", "optimizer", stack.role()};
}

Attribution of_modules(const Stack& stack) {
  if (stack.has_function({"recompute_fn", "unpack_hook", "checkpoint_backward"})) {
    return {"activations", "recompute", stack.role()};
  }
  if (stack.has_text({"torch::autograd::AccumulateGrad", "accumulate_grad"})) {
    return {"gradients", "backward", "gradient"};
  }
  if (stack.has_text({"torch::autograd::Node::operator()", "torch::autograd::Engine",
                      "torch::autograd::python::PythonEngine"}) ||
      stack.has_function({"_engine_run_backward"})) {
    return {"temporaries", "backward", stack.node()};
  }
  if (stack.has_function({"inputs_to_device", "_to_kwargs"})) {
    return {"inputs", "forward", stack.role()};
  }
  if (stack.has_function({"convert", "to_empty", "load_state_dict", "from_pretrained",
                          "distribute_tensor", "_init_sharded_param", "reset_sharded_param"})) {
    return {"parameters", "setup", stack.role()};
  }
  // Which of the two is innermost: a trainer's compute_loss runs the whole model, a model's forward
  // may compute its loss.
  const Frame* work = stack.innermost([](const Frame& f) { return is_loss(f) || is_forward(f); });
  if (work != nullptr && is_loss(*work)) return {"loss", "loss", stack.role()};
  if (work != nullptr) return {"activations", "forward", stack.role()};
  return {};
}

}  // namespace

Attribution attribute(const Snapshot& snapshot, const std::vector<std::int32_t>& frames) {
  const Stack stack(snapshot, frames);
  if (stack.has_text({"WorkspaceForHandle", "Workspace(", "getCUDABlasLtWorkspace",
                      "CUDABlasHandle", "chooseAlgorithm"})) {
    return {"workspaces", "", "workspace"};
  }
  for (const auto rule : {of_optimizer, of_sharding, of_modules}) {
    Attribution found = rule(stack);
    if (found.category != kUnattributed) return found;
  }
  if (stack.has_text({"batch", "next_data", "pin_memory"}) || stack.has_file({"dataloader"})) {
    return {"inputs", "", stack.role()};
  }
  if (stack.has_file({"torch/nn/modules/", "torch/nn/parameter.py", "torch/nn/init.py"})) {
    return {"parameters", "setup", stack.role()};
  }
  return {kUnattributed, "", stack.role()};
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
