#include "cli/commands.hpp"

namespace foreshard::cli {

const std::vector<Command>& commands() {
  static const std::vector<Command> list = {
      {"train", "train a model under a plan, and record the run",
       "foreshard train --model llama-tiny-3m --plan plan.toml --ranks 2 --steps 10 --trace "
       "run.fst",
       add_train_flags, run_train},
      {"fit", "learn this machine's costs from recordings",
       "foreshard fit run1.fst run2.fst -o costs.json --report", add_fit_flags, run_fit},
      {"predict", "predict memory and step time of a plan",
       "foreshard predict --model llama-3.1-8b --plan plan.toml --ranks 8 --machine h100-sxm",
       add_predict_flags, run_predict},
      {"compare", "compare a measured with a predicted trace",
       "foreshard compare run.fst predicted.fst", add_compare_flags, run_compare},
      {"inspect", "say what a trace shows", "foreshard inspect run.fst", add_inspect_flags,
       run_inspect},
      {"program", "print a step program",
       "foreshard program --model llama-tiny-3m --plan plan.toml --ranks 2 --step 2",
       add_program_flags, run_program},
      {"import", "read a recording of PyTorch's profiler, Nsight Systems or a memory snapshot",
       "foreshard import kineto trace_folder -o run.fst", add_import_flags, run_import},
      {"export", "write a trace for Perfetto or as CSV",
       "foreshard export run.fst --perfetto run.json", add_export_flags, run_export},
      {"replay", "run a recorded allocation history through the allocator again",
       "foreshard replay rank0_memory_snapshot.pickle --allocator expandable_segments=true",
       add_replay_flags, run_replay},
  };
  return list;
}

}  // namespace foreshard::cli
