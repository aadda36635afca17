// FSDP's own memory requests in a steady step, against event logs of unmodified PyTorch 2.11 that
// trained the same plans: flat casts, all-gather outputs, unsharded parameters, slices kept after
// forward, inputs and outputs of reduce-scatters, and where gradients die. Sizes, streams and order
// must be PyTorch's. Where the logs come from: tests/golden/fsdp_requests/README.md.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <regex>

#include <gtest/gtest.h>

#include "models/lowering/lower.hpp"
#include "models/program/step_program.hpp"
#include "tests/models/lowering/recorded_cases.hpp"

namespace foreshard {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::int64_t kStep = 2;  // the first one that has optimizer state

struct Request {
  char what = '+';  // or '-'
  std::string kind;
  std::int64_t bytes = 0;
  std::string stream;
  auto operator<=>(const Request&) const = default;
};

void PrintTo(const Request& r, std::ostream* out) {
  *out << r.what << r.kind << ' ' << r.bytes << ' ' << r.stream;
}

// The order inside one run of a unit's parameters is the operators' affair: such runs are sorted.
std::vector<Request> settled(std::vector<Request> requests) {
  const auto is_per_parameter = [](const Request& r) {
    return r.kind == "parameter" || r.kind == "slice" || r.kind == "gradient";
  };
  for (auto begin = requests.begin(); begin != requests.end();) {
    const auto end = std::find_if(begin, requests.end(), [&](const Request& r) {
      return !is_per_parameter(r) || r.what != begin->what || r.kind != begin->kind;
    });
    std::sort(begin, end);
    begin = std::max(end, begin + 1);
  }
  return requests;
}

// What FSDP calls a logged allocation; nothing for those of operators and of copies' metadata.
std::string kind_of(const json& event) {
  const std::string category = event["category"], call = event["call"];
  if (call == "reshard") return "slice";
  if (category == "all_gather") return "gathered";
  if (category == "unsharded_param") return "parameter";
  if (category == "reduce_scatter") return "to_reduce";
  if (category == "gradient") return call == "reduce_scatter" ? "reduced" : "gradient";
  return "";
}

// Unsharded gradients are seen where they die and sharded ones where they are made, because what
// makes the former and frees the latter is no part of FSDP.
std::vector<Request> logged(const fs::path& path) {
  std::vector<Request> out;
  std::map<std::int64_t, Request> alive;  // by address
  std::int64_t step = 0, last_address = 0;
  for (const json& event : log_lines(path)) {
    const std::string action = event.value("action", "");
    if (action == "alloc") {
      step = event["step"];
      const Request made{'+', kind_of(event), event["size"], event["stream"]};
      alive[event["addr"]] = made;
      last_address = event["addr"];
      if (!made.kind.empty() && made.kind != "gradient" && step == kStep) out.push_back(made);
    } else if (action == "free_requested") {
      Request freed = alive[event["addr"]];
      alive.erase(event["addr"].get<std::int64_t>());
      if (freed.kind.empty() || freed.kind == "reduced" || step != kStep) continue;
      // Freed at once: not the input of a reduce-scatter but the metadata of its copy-in.
      if (freed.kind == "to_reduce" && event["addr"] == last_address) {
        out.pop_back();
        continue;
      }
      freed.what = '-';
      out.push_back(freed);
    }
  }
  return settled(out);
}

std::vector<Request> requests(const RankProgram& program) {
  static const std::map<std::string, std::string> kKinds = {{"flat cast", "gathered"},
                                                            {"device copy", "gathered"},
                                                            {"all-gather output", "gathered"},
                                                            {"unsharded parameter", "parameter"},
                                                            {"slice kept after forward", "slice"},
                                                            {"reduce-scatter input", "to_reduce"},
                                                            {"reduce-scatter output", "reduced"},
                                                            {"sharded gradient", "reduced"},
                                                            {"gradient", "gradient"},
                                                            {"accumulated gradient", "gradient"}};
  std::vector<Request> out;
  for (const Instruction& i : program.step(kStep).instructions) {
    if (i.kind != Kind::alloc && i.kind != Kind::free) continue;
    const Buffer& buffer = program.buffers[static_cast<std::size_t>(i.target)];
    const auto kind = kKinds.find(program.name(buffer.role));
    if (kind == kKinds.end() || buffer.on_host) continue;
    const bool is_alloc = i.kind == Kind::alloc;
    if (kind->second == (is_alloc ? "gradient" : "reduced")) continue;
    out.push_back({is_alloc ? '+' : '-', kind->second, buffer.bytes, program.name(buffer.pool)});
  }
  return settled(out);
}

// The logged plan as Foreshard's operators run it.
std::string with_our_operators(const std::string& plan) {
  const std::string own =
      std::regex_replace(plan, std::regex("operators = .*"), "operators = \"foreshard\"");
  return std::regex_replace(own, std::regex("kernel = .*"), "kernel = \"fused\"");
}

// Foreshard's operators run FSDP2 as PyTorch 2.11 does. They have no norms of queries and keys, and a log
// does not tell gradients that are added from others.
bool is_comparable(const RecordedCase& c) {
  if (!c.version().empty()) return false;
  const auto model = load_llama_config(c.config.string());
  const auto plan = parse_plan(c.plan(), c.id);
  if (!model || !plan) return true;  // and an error of the test
  const bool adds_to_kept =
      plan->batch.gradient_sync == When::last && plan->precision.param == plan->precision.reduce;
  const bool is_pytorchs_alone =
      plan->pytorch.autocast != Autocast::none || !plan->frozen.empty() || plan->lora.rank > 0 ||
      plan->evaluation.every > 0 || plan->pytorch.loop != TrainingLoop::plain;
  return !model->has_query_key_norms() && !adds_to_kept && !is_pytorchs_alone;
}

std::vector<RecordedCase> comparable_cases() {
  std::vector<RecordedCase> found = recorded_cases("fsdp2");
  std::erase_if(found, std::not_fn(is_comparable));
  return found;
}

class FsdpRequests : public testing::TestWithParam<RecordedCase> {};

TEST_P(FsdpRequests, ArePyTorchs) {
  const RecordedCase& c = GetParam();
  const auto model = load_llama_config(c.config.string());
  ASSERT_TRUE(model) << model.error().text();
  const auto plan = parse_plan(with_our_operators(c.plan()), c.id);
  ASSERT_TRUE(plan) << plan.error().text();
  const auto job = make_job(*model, *plan, c.id, c.ranks);
  ASSERT_TRUE(job) << job.error().text();
  const std::vector<Request> pytorch = logged(c.log());
  const std::vector<Request> ours = requests(lower(*job, c.rank));
  EXPECT_GT(pytorch.size(), 10U);
  for (std::size_t i = 0; i < std::min(pytorch.size(), ours.size()); ++i) {
    ASSERT_EQ(ours[i], pytorch[i]) << "request " << i << " of " << pytorch.size();
  }
  EXPECT_EQ(ours.size(), pytorch.size());
}

INSTANTIATE_TEST_SUITE_P(Logged, FsdpRequests, testing::ValuesIn(comparable_cases()),
                         [](const auto& param) { return param.param.id; });

}  // namespace
}  // namespace foreshard
