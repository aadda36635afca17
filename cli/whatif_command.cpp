// foreshard whatif: a recording simulated again under other times.
#include <memory>

#include "cli/commands.hpp"
#include "cli/common/open_trace.hpp"
#include "cli/common/output.hpp"
#include "simulator/whatif/what_if.hpp"

namespace foreshard::cli {
namespace {

class WhatIf : public Command {
 public:
  CommandText text() const override {
    return {
        "whatif",
        "Recordings",
        "predict how long a recorded run would have taken with other times",
        "The recording becomes a graph of the host's calls, the work they launched, streams, waits "
        "and the collectives of its ranks, and is replayed: first unchanged, which has to return "
        "what "
        "was recorded to 2 %, and then with the changes. The result is the new step time and "
        "span (from the first call or work of a device to the last one's end), the span's critical "
        "path and slack.\n\n"
        "Factors multiply times: 0.5 is half the time. Work keeps its order in its stream and "
        "starts no sooner than its launch allows; kernels that come to overlap do not slow one "
        "another down. With --machine work takes as much longer as estimates from both data sheets "
        "differ; with --ranks collectives do, and all else stays as it is.",
        {"foreshard whatif run.fst --scale '*gemm*=0.7'",
         "foreshard whatif run.fst --set collectives=0.5 --set stragglers=none",
         "foreshard whatif rank0.json.gz --machine h200 --json -"}};
  }
  void add_to(Options& options) override {
    options.recording(
        "TRACE", trace_,
        {"TRACE",
         "trace (.fst), PyTorch profiler recording (JSON, or a folder with one of each "
         "rank) or Nsight Systems export (SQLite)",
         true});
    options.texts(
        "--scale", scales_,
        {"GLOB=FACTOR",
         "multiply the time of device work whose name matches (*, ?, [...]); may be given "
         "several times, and where several match their product counts"});
    options.texts(
        "--set", settings_,
        {"NAME=VALUE",
         "collectives=FACTOR (all communication), launch=FACTOR (the calls that launch "
         "work), host=FACTOR (all that the host does but wait) or stragglers=none (no rank "
         "waits for another in a collective); may be given several times"});
    options.machine(machine_, {"NAME", "another machine of the catalogue, or FILE.csv:id", false,
                               "the recorded one"});
    options.whole_number("--ranks", ranks_, {1, 1 << 20},
                         {"N", "another number of ranks", false, "as recorded"});
    options.quiet(is_quiet_);
    json_.add_to(options);
  }
  Result<int> run() override;

 private:
  std::string trace_, machine_;
  std::vector<std::string> scales_, settings_;
  std::optional<int> ranks_;
  bool is_quiet_ = false;
  JsonOutput json_;
};

Result<int> WhatIf::run() {
  if (auto ok = json_.check(); !ok) return tl::unexpected(ok.error());
  auto changes = simulator::parse_changes(scales_, settings_);
  if (!changes) return tl::unexpected(changes.error());
  simulator::WhatIfQuestion question{std::move(*changes), {{}, ranks_.value_or(0)}};
  if (!machine_.empty()) {
    const auto machine = load_machine(machine_);
    if (!machine) return tl::unexpected(machine.error());
    question.cluster.machine = *machine;
  }
  const auto trace = open_trace(trace_, is_quiet_);
  if (!trace) return tl::unexpected(trace.error());
  const auto answer = simulator::what_if(*trace, question, trace_);
  if (!answer) return tl::unexpected(answer.error());
  return written(json_.answer(simulator::what_if_json(*answer), simulator::what_if_text(*answer)));
}

}  // namespace

std::unique_ptr<Command> make_whatif() {
  return std::make_unique<WhatIf>();
}

}  // namespace foreshard::cli
