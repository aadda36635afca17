// A run whose throughput is known, as `fit --observed` is given it:
//
//   [MODEL@RANKS[xNODES]:]PLAN=TOKENS_PER_S[/gpu]
#pragma once

#include <string>

#include "cli/common/question_options.hpp"
#include "simulator/fit/observed_runs.hpp"

namespace foreshard::cli {

// `defaults` has the model, ranks and nodes of runs that name none, `machine_id` is what --machine takes. What is wrong names the text.
Result<simulator::ObservedRun> observed_run(const std::string& text, const QuestionOptions& defaults,
                                            const std::string& machine_id);

}  // namespace foreshard::cli
