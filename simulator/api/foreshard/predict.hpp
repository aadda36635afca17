// Peak memory and step time of a training job before it runs: the question of `foreshard predict`, and its
// answer.
//
//   foreshard::api::Question question;
//   question.model = "llama-3.1-8b";
//   question.ranks = 8;
//   question.machine = "h100-sxm";
//   const auto answer = foreshard::api::predict(question);
//   if (answer) std::puts(answer->text.c_str());
//
// Bundled models and the hardware catalogue are compiled in: only files that a question names are read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <foreshard/result.hpp>

namespace foreshard::api {

// As the options of the same names take it; docs/plan.md describes plans.
struct Question {
  std::string model;         // of `foreshard list models`, or a folder or file of Hugging Face's
  int ranks = 1;             // 1 to a million
  std::optional<int> nodes;  // that divides the ranks; nothing: as few as hold them
  std::string machine;  // of `foreshard list machines`, or "FILE.csv:ID"; empty: this machine's CPU
  std::string plan;     // a plan file, or another tool's configuration
  std::string plan_text;  // the same as text, where `plan` is empty
  std::string
      operators;  // "foreshard", "pytorch-eager" or "pytorch-compile"; empty: by plan and machine
  std::string
      device;  // of Foreshard's operators, "cpu" or "cuda"; empty: the machine's GPU, or the CPU
  std::string costs;                          // a file that `foreshard fit` wrote
  std::int64_t steps = 2;                     // 1 to 100,000 are simulated
  std::optional<std::int64_t> device_memory;  // bytes of a device; nothing: that of the machine
};

// The most bytes over all steps, set-up included.
struct PeakMemory {
  int rank = 0;
  std::int64_t allocated_bytes = 0, reserved_bytes = 0, active_bytes = 0, host_bytes = 0;
};

struct Prediction {
  bool fits = true;
  // Of the last step, with the limits of the 90 % band; nothing where memory runs out or costs are unknown.
  std::optional<std::int64_t> step_time_ns, step_time_low_ns, step_time_high_ns;
  double tokens_per_s = 0;  // of all ranks together; 0: unknown
  double mfu = 0;           // model FLOPs utilization, 0 to 1; 0: unknown
  std::int64_t exposed_communication_ns = 0;
  std::vector<PeakMemory> ranks;  // every rank
  std::vector<std::string> warnings;
  std::string text;  // what `foreshard predict` prints
  std::string json;  // what its --json writes (docs/json.md): everything else that is known
};

// A plan that does not fit is an answer. Errors name the member of Question, or the file and the key in it.
Result<Prediction> predict(const Question& question);

}  // namespace foreshard::api
