// What somebody asks, in the words of the command line, and the question that it is once all that was left
// out has been decided. Options, plan files, configurations of other tools, stored questions and the viewer
// all come here, so that the same words are the same question everywhere.
//
// What is left out depends on the subject. On a GPU that is PyTorch: operators "pytorch-eager" and, as under
// "xla" on a TPU, one sequence of min(8192, the model's longest) tokens a rank. On this machine's CPU it is
// Foreshard's own training with the defaults of a plan file.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "models/plan/foreign/foreign_plans.hpp"
#include "models/sharding/question.hpp"

namespace foreshard {

// What may be asked, on the command line and by other programs.
constexpr int kMostAskedRanks = 1'000'000;  // also of nodes
constexpr int kMostAskedSteps = 100'000;

struct Asked {
  std::string model;                  // as --model takes it
  std::optional<LlamaConfig> config;  // of that model, where it is known without its file
  ConvertedPlan plan;                 // its name is empty: none was given
  std::optional<OperatorSetName> operators;
  int ranks = 0;
  std::optional<int> nodes;
  std::string machine;  // as --machine takes it
  std::string device;   // "cpu" or "cuda"; empty: the machine's GPU, or else the CPU
  std::string costs;    // a file; what is in it is for others to read
  bool is_deterministic = false;

  std::string plan_name() const { return plan.name.empty() ? "default plan" : plan.name; }
};

// What costs are of, where they are given.
struct RecordedBy {
  std::optional<Machine> machine;
  std::optional<OperatorSetName> operators;
  bool is_accelerator = false;  // of a machine that may not be in the catalogue
};

// What Foreshard's operators run on by `device` and machine: a GPU of that machine, or else of this one.
using OwnDevice =
    std::function<Result<DeviceTraits>(const std::string& device, const std::optional<Machine>&)>;
// Of a machine that need not be at hand: its GPU, or the CPU. An error without a machine.
Result<DeviceTraits> modelled_device(const std::string& device,
                                     const std::optional<Machine>& machine);

// Errors name the option or the key, what is wrong and what is expected.
Result<Question> question_of(const Asked& asked, const RecordedBy& recorded,
                             const OwnDevice& own_device);

// Over how many nodes a question's ranks are spread evenly where nobody says how many nodes there are: they fill
// the fewest that hold them. 0: the last one stays partly empty, or what a node holds is not known and hybrid
// sharding has to be told.
int filled_nodes(const Question& question);

// The plan that holds on a subject where a plan file is silent.
Plan default_plan(OperatorSetName operators, const LlamaConfig& model);

std::optional<OperatorSetName> operators_named(std::string_view word);

}  // namespace foreshard
