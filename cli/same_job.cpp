#include "cli/same_job.hpp"

#include <map>

#include <nlohmann/json.hpp>

#include "models/base/figures.hpp"
#include "models/base/fnv_hash.hpp"
#include "models/base/json_text.hpp"
#include "models/sharding/job.hpp"

namespace foreshard::cli {
namespace {

std::string fingerprint(std::uint64_t hash) {
  return formatted("%016llx", static_cast<unsigned long long>(hash));
}

std::string given(const std::string& path) {
  return path.empty() ? "not given" : "given";
}

}  // namespace

JobFacts facts_of(const Job& job, const executor::TokenData& data,
                  const executor::WeightSource& weights, const executor::TrainingOptions& options) {
  FnvHash model;
  model.add(to_json(job.model));
  const executor::DataIdentity tokens = data.identity();
  const auto hash = weights.fingerprint();
  JobFacts facts = {
      {"--model", fingerprint(model.value())},
      {"--nodes", std::to_string(job.nodes)},
      {"--steps", std::to_string(options.steps)},
      {"--total-steps", std::to_string(options.total_steps)},
      {"--seed", std::to_string(options.seed)},
      {"--shuffle", options.shuffles ? "given" : "not given"},
      {"--data", std::to_string(tokens.tokens) + " tokens " + fingerprint(tokens.fingerprint)},
      {"--init", hash ? "weights " + fingerprint(*hash) : "not given"},
      {"--skip-non-finite", std::to_string(options.most_skipped)},
      {"--resume",
       options.resume ? "step " + std::to_string(options.resume->state().step) : "not given"},
      {"--save", given(options.save)},
      {"--save-format", std::string(name(options.save_format))},
      {"--save-every", std::to_string(options.save_every)},
      {"--export-weights", given(options.export_weights)},
      {"--export-dtype", std::string(name(options.export_dtype))},
      {"--export-gradients", given(options.export_gradients)},
      {"--trace", given(options.trace)},
      {"--matmul-precision", std::string(name(options.matmul_precision))}};
  for (const SpeltKey& key : spelt_keys(job.plan)) facts.emplace_back(key.name, key.value);
  return facts;
}

JobComparison compare_jobs(executor::Transport& transport, const JobFacts& mine) {
  executor::RunControl control(transport.size());
  const auto texts = exchange(control, transport, json_text(nlohmann::json(mine)));
  JobComparison comparison;
  const auto first = nlohmann::json::parse(texts[0]).get<JobFacts>();
  for (std::size_t rank = 1; rank < texts.size(); ++rank) {
    if (texts[rank] == texts[0]) continue;
    comparison.is_same = false;
    const int me = transport.rank();
    if (me != 0 && static_cast<std::size_t>(me) != rank) continue;
    const auto theirs = nlohmann::json::parse(texts[rank]).get<JobFacts>();
    for (std::size_t fact = 0; fact < std::min(first.size(), theirs.size()); ++fact) {
      const auto& [name, value] = first[fact];
      const std::string& other = theirs[fact].second;
      if (other == value) continue;
      comparison.errors.push_back({"rank " + std::to_string(rank), name,
                                   "is " + other + ", but " + value +
                                       " on rank 0; expected the same job in all processes"});
    }
  }
  return comparison;
}

}  // namespace foreshard::cli
