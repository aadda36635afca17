// foreshard search: the best plan for a model, of a space of plans, on machines and sizes to choose from.
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <ostream>

#include "cli/commands.hpp"
#include "cli/common/output.hpp"
#include "cli/common/progress.hpp"
#include "cli/processes.hpp"
#include "cli/search_targets.hpp"
#include "cli/search_text.hpp"
#include "cli/search_training.hpp"
#include "models/base/figures.hpp"
#include "models/hardware/device_names.hpp"
#include "models/plan/foreign/foreign_plans.hpp"
#include "models/question/question_json.hpp"
#include "simulator/search/default_space.hpp"
#include "simulator/search/search_report.hpp"
#include "simulator/search/verification.hpp"
#include "traces/processors.hpp"

namespace foreshard::cli {
namespace {

using simulator::SearchAnswer;
using simulator::SearchRequest;
using simulator::SearchTarget;

class Search : public Command {
 public:
  CommandText text() const override;
  void add_to(Options& options) override;
  Result<int> run() override;

 private:
  Result<void> check_options() const;
  Result<SearchRequest> load_request();
  Result<std::vector<PlanAxis>> load_space() const;
  Result<void> load_base(SearchRequest& request);
  Result<void> load_costs();
  Result<Processes> join(SearchRequest& request) const;
  Result<void> write_answers(const SearchRequest& request, const SearchAnswer& answer) const;

  JsonOutput json_;
  SearchTargets targets_;
  TrainingOptions training_;
  std::string model_, base_, space_, operators_, costs_, csv_, svg_;
  std::string objective_ = "tokens_per_s", comm_ = "local";
  std::optional<std::int64_t> device_memory_;
  std::int64_t tokens_per_step_ = 0;
  int top_ = 5;
  bool verifies_ = false, is_quiet_ = false, names_operators_ = true;
  std::optional<simulator::CostTable> loaded_costs_;
};

Result<void> Search::load_costs() {
  if (costs_.empty()) return {};
  auto costs = simulator::load_cost_table(costs_);
  if (!costs) return tl::unexpected(costs.error());
  loaded_costs_ = std::move(*costs);
  return {};
}

bool varies(const SearchRequest& request, std::string_view key) {
  return std::any_of(request.space.begin(), request.space.end(),
                     [&](const PlanAxis& axis) { return sets(axis, key); });
}

// What is searched for is a plan to train by, so its sequences are as long as PyTorch's are where nobody says
// it, whatever the operators.
void assume_batch(const PlanFile& file, SearchRequest& request) {
  Plan& plan = request.base.plan;
  const Plan usual = default_plan(OperatorSetName::pytorch_eager, request.base.model);
  const auto is_said = [&](std::string_view key) {
    return file.writes(key) || varies(request, key);
  };
  if (!is_said("batch.sequence")) {
    plan.batch.sequence = usual.batch.sequence;
    request.assumed.push_back("sequences of " + std::to_string(plan.batch.sequence) + " tokens");
  }
  if (!is_said("batch.micro_batch")) plan.batch.micro_batch = usual.batch.micro_batch;
}

Result<std::vector<PlanAxis>> Search::load_space() const {
  return space_.empty() ? simulator::default_space() : load_plan_space(space_);
}

// The question that the space varies. Which machines there are decides its subject; that of each target is
// its own.
Result<void> Search::load_base(SearchRequest& request) {
  Asked asked;
  asked.model = model_;
  asked.costs = costs_;
  asked.ranks = 1;
  if (!operators_.empty()) asked.operators = operators_named(operators_);
  if (!base_.empty()) {
    auto loaded = read_any_plan(base_);
    if (!loaded) return tl::unexpected(loaded.error());
    request.base_file = base_;
    if (loaded->is_foreign()) note(base_ + ": " + conversion_origin(*loaded));
    for (const std::string& warning : conversion_warnings(*loaded)) warn(warning);
    asked.plan = std::move(*loaded);
  }
  names_operators_ = asked.operators || asked.plan.writes("operators");
  RecordedBy recorded;
  if (loaded_costs_) recorded.operators = operators_in(loaded_costs_->question);
  const auto is_gpu = [](const Machine& machine) { return !is_tpu(machine); };
  const auto& machines = targets_.machines();
  const auto gpu = std::find_if(machines.begin(), machines.end(), is_gpu);
  if (!machines.empty()) recorded.machine = gpu == machines.end() ? machines.front() : *gpu;
  if (machines.empty() && loaded_costs_ && loaded_costs_->is_accelerator) {
    recorded.machine = machine_reported_as(loaded_costs_->machine_name);
  }
  auto base = question_of(asked, recorded, [](const auto&, const auto&) {
    return Result<DeviceTraits>(DeviceTraits{});
  });
  if (!base) return tl::unexpected(base.error());
  request.base = std::move(*base);
  assume_batch(asked.plan, request);
  return {};
}

Result<void> Search::check_options() const {
  if (auto ok = check_output(csv_, "--csv"); !ok) return ok;
  if (auto ok = check_output(svg_, "--svg"); !ok) return ok;
  if (auto ok = training_.check(); !ok) return ok;
  return json_.check();
}

Result<SearchRequest> Search::load_request() {
  SearchRequest request;
  if (auto ok = load_costs(); !ok) return tl::unexpected(ok.error());
  if (auto ok = targets_.load(loaded_costs_, costs_); !ok) return tl::unexpected(ok.error());
  auto space = load_space();
  if (!space) return tl::unexpected(space.error());
  request.space = std::move(*space);
  request.base_file = "default plan";
  if (auto ok = load_base(request); !ok) return tl::unexpected(ok.error());
  if (tokens_per_step_ > 0 && varies(request, "batch.accumulation")) {
    return fail(space_, "batch.accumulation",
                "varies, but --tokens-per-step decides it; expected one of the two");
  }
  request.costs = loaded_costs_ ? &*loaded_costs_ : nullptr;
  request.names_operators = names_operators_;
  const bool may_be_ours =
      request.base.plan.operators == OperatorSetName::foreshard || varies(request, "operators");
  auto all_targets = targets_.targets(request.base, may_be_ours);
  if (!all_targets) return tl::unexpected(all_targets.error());
  request.targets = std::move(*all_targets);
  const bool has_price = std::any_of(request.targets.begin(), request.targets.end(),
                                     [](const SearchTarget& t) { return t.rent.usd_per_hour > 0; });
  const bool needs_prices = training_.has_budget() || objective_ == "cost";
  if (!has_price && needs_prices) {
    return fail("", training_.has_budget() ? "--budget" : "--objective",
                "needs a price, and the catalogue has none of these machines; expected --prices");
  }
  request.warnings = targets_.warnings(request.targets, needs_prices);
  request.device_memory = device_memory_;
  if (tokens_per_step_ > 0) request.tokens_per_step = tokens_per_step_;
  request.objective = objective_ == "cost"   ? simulator::Objective::cost
                      : objective_ == "time" ? simulator::Objective::time
                                             : simulator::Objective::tokens_per_s;
  request.training = training_.goal();
  request.top = static_cast<std::size_t>(top_);
  request.threads = traces::cores();
  return request;
}

Result<void> Search::write_answers(const SearchRequest& request, const SearchAnswer& answer) const {
  const auto write = [](const std::string& path, const char* option, const std::string& text) {
    if (path.empty()) return Result<void>();
    return write_output(path, option, [&](std::ostream& out) { out << text; });
  };
  if (auto ok = write(csv_, "--csv", simulator::search_csv(answer)); !ok) return ok;
  if (auto ok = write(svg_, "--svg", simulator::search_svg(answer)); !ok) return ok;
  const auto done =
      json_.answer(simulator::search_json(request, answer), search_text(request, answer));
  if (!done || json_.is_standard_output()) return done;
  for (const std::string& warning : answer.warnings) warn(warning);
  return {};
}

// Processes that share the search have each the processors that are theirs among them. Not by default: variables of
// launchers are also set where one process searches, as in a pod for training.
Result<Processes> Search::join(SearchRequest& request) const {
  if (comm_ == "local") return Processes{};
  constexpr Nanoseconds kLongest{std::chrono::minutes(10)};
  constexpr std::size_t kLongestText = std::size_t{1} << 30;
  const std::string question = simulator::question_json(request);
  auto processes = join_processes({}, comm_, false, std::hash<std::string>()(question), kLongest);
  if (!processes || processes->transport == nullptr) return processes;
  executor::Transport& transport = *processes->transport;
  const auto control = std::make_shared<executor::RunControl>(transport.size());
  request.threads = processes->threads_per_rank;
  request.share = {transport.rank(), transport.size(),
                   [control, &transport](const std::string& mine) {
                     return executor::exchange(*control, transport, mine, kLongestText);
                   }};
  if (auto ok = executor::check_builds(*control, transport); !ok) {
    return tl::unexpected(ok.error());
  }
  for (const std::string& other : request.share.exchange(question)) {
    if (other != question)
      return fail("", "--comm",
                  "processes search for different things; expected the same command in each");
  }
  return processes;
}

Result<int> Search::run() {
  if (auto ok = check_options(); !ok) return tl::unexpected(ok.error());
  auto request = load_request();
  if (!request) return tl::unexpected(request.error());
  const auto processes = join(*request);
  if (!processes) return tl::unexpected(processes.error());
  const bool leads = request->share.process == 0;
  Progress progress(100, !leads || is_quiet_ || json_.is_standard_output());
  request->progress = [&](std::string_view what, std::size_t done, std::size_t all) {
    progress.at(static_cast<std::int64_t>(100 * done / all), std::string(what));
  };
  auto answer = simulator::search(*request);
  if (!answer) return tl::unexpected(answer.error());
  if (!leads) return 0;
  if (verifies_) {
    if (auto ok = simulator::verify(*request, *answer); !ok) return written(ok);
  }
  return written(write_answers(*request, *answer));
}

CommandText Search::text() const {
  return {
      "search",
      "Prediction",
      "find the best plan for a model on given machines",
      "Every plan of a space is predicted as by `foreshard predict`, on every machine and "
      "number of GPUs, or is proven by a bound to be worse than others. The result has the best "
      "plans, those that no other one beats in speed and memory, and those that no other one "
      "beats in speed and cost.\n\n"
      "A space is a TOML file with a list of values for each key that varies over the base "
      "plan: \"batch.micro_batch\" = [1, 2, 4]. Keys that vary together are a list of tables. "
      "Without a file, micro-batch, checkpointing, expandable segments and sharding vary in all "
      "combinations, and wrapping, prefetching, the synchronization of gradients and offloading "
      "one at a time: what is trained stays the same. Combinations that contradict each other are "
      "left out, and so are those whose programs are the same as another one's. With --comm auto "
      "the processes that mpirun, torchrun or srun start share a large space, on one machine or "
      "several; the result is the same.\n\n"
      "Instances are rented whole and priced by one kind of price. With --train-tokens the result "
      "has the time and cost of the whole training, checkpoints and failures included, and with "
      "--budget or --deadline the plan that keeps them even at the long end of its band.",
      {"foreshard search --model llama-3.1-8b --machines h100-sxm,h200 --gpus 8,16,64 "
       "--tokens-per-step 1048576",
       "foreshard search --model llama-3.1-8b --machines h100-sxm --gpus 8 --base plan.toml "
       "--space space.toml --csv found.csv --svg front.svg",
       "foreshard search --model llama-3.1-70b --machines p5.48xlarge,p5en.48xlarge --gpus 64,128 "
       "--objective cost --train-tokens 1e11 --budget 200000",
       "mpirun -n 4 foreshard search --comm auto --model llama-3.1-70b --machines p5.48xlarge "
       "--nodes 4,8,16 --train-tokens 1e11 --deadline 30d --storage-bandwidth 50"}};
}

void Search::add_to(Options& options) {
  options.model(model_);
  targets_.add_to(options);
  options.input("--base", base_,
                {"PLAN", "plan that the space varies", false,
                 "each key's own default, see `foreshard plan --defaults`"});
  options.input("--space", space_,
                {"SPACE", "space of plans (TOML)", false, "all that moves memory and time"});
  options.whole_number("--tokens-per-step", tokens_per_step_, {1, std::int64_t{1} << 50},
                       {"TOKENS",
                        "tokens of an optimizer step, of all GPUs together: accumulation is what "
                        "makes it so",
                        false, "as many as the plan has"});
  options.choice(
      "--objective", objective_, {"tokens_per_s", "time", "cost"},
      {"OBJECTIVE", "what is best: most tokens/s, the shortest step, or the least cost"});
  options.choice("--operators", operators_, {"foreshard", "pytorch-eager", "pytorch-compile"},
                 {"OPERATORS", "operators of the plans", false,
                  "those of the base plan; else PyTorch's on GPUs, Foreshard's on this CPU"});
  options.input("--costs", costs_, {"COSTS", "cost file that `foreshard fit` wrote"});
  options.size("--device-memory", device_memory_,
               {"SIZE", "memory of one device, such as 80GiB", false, "that of the machine"});
  training_.add_to(options);
  options.whole_number("--top", top_, {1, 1000}, {"TOP", "how many of the best plans to list"});
  options.choice("--comm", comm_, {"local", "auto", "tcp", "mpi"},
                 {"COMM",
                  "how the processes of a launcher share the search; auto is what the launcher "
                  "provides, local searches in this process alone"});
  options.flag("--verify", verifies_,
               "predict the results again, each by itself and from its plan file");
  options.quiet(is_quiet_);
  options.output("--csv", csv_, {"FILE", "write the best plans and the fronts as a table"});
  options.output("--svg", svg_, {"FILE", "write the fronts as a picture"});
  json_.add_to(options);
}

}  // namespace

std::unique_ptr<Command> make_search() {
  return std::make_unique<Search>();
}

}  // namespace foreshard::cli
