// `foreshard whatif`: a recording simulated again, first unchanged and then under other times.
//
// The recording becomes an activity network (causal_network.hpp). Nothing can be asked of one that
// does not return its own step time and span to 2 % when nothing is changed, nor of one in which more
// than a tenth of the span lies between events that nothing in the recording explains: the answer then
// says so, and has no figures of the question. What the network does not know: that kernels slow one
// another down when they come to overlap.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/base/error.hpp"
#include "simulator/engine/critical_path.hpp"
#include "simulator/whatif/changes.hpp"
#include "simulator/whatif/other_cluster.hpp"
#include "traces/trace.hpp"

namespace foreshard::simulator {

struct WhatIfQuestion {
  Changes changes;
  OtherCluster cluster;
};

struct ReplayTimes {
  std::optional<std::int64_t> step_ns;  // traces::steady_step_time; nothing where no step is marked
  std::int64_t span_ns = 0;  // from the first call or work of a device to the last one's end
};

struct WhatIfAnswer {
  std::string question, question_line;  // of the recording: as JSON, and in words
  ReplayTimes recorded, replayed;
  // Of what follows nothing where nothing can be asked.
  std::optional<ReplayTimes> asked;
  // The span's, longest first; what is not work of a device in parentheses. They add up to the
  // span.
  std::vector<PathPart> critical_path;
  std::vector<Slack> slack;           // of the work of each name the least, least first
  std::int64_t unmatched_events = 0;  // works of devices whose launch is not in the recording
  std::int64_t unexplained_ns = 0;    // of the recorded span, at most, that no change can shorten
  std::string refusal;                // why nothing can be asked; empty: it can
  std::vector<std::string> assumptions;  // about another machine or number of ranks
};

// `file` is named in errors: no work of a device, a glob that matches none, an unknown machine.
Result<WhatIfAnswer> what_if(const traces::Trace& trace, const WhatIfQuestion& question,
                             const std::string& file);

// Why nothing can be asked of a recording that is replayed like this and of whose span so much is
// unexplained, in a sentence; empty: it can.
std::string refusal(const ReplayTimes& recorded, const ReplayTimes& replayed,
                    std::int64_t unexplained_ns);

// The JSON object of `foreshard whatif` (docs/json.md), without `schema_version`, and the same for
// people.
std::string what_if_json(const WhatIfAnswer& answer);
std::string what_if_text(const WhatIfAnswer& answer);

}  // namespace foreshard::simulator
