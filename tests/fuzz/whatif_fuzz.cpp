// Any bytes as a recording that is asked what if: an error, a refusal, or an answer that adds up.
#include <cstdint>
#include <string>

#include "simulator/whatif/what_if.hpp"
#include "tests/fuzz/trace_laws.hpp"
#include "traces/input/byte_source.hpp"
#include "traces/kineto/recording.hpp"

namespace {

// The input's size chooses what is asked, so that its bytes are a recording and nothing else.
foreshard::simulator::WhatIfQuestion question(std::size_t size) {
  using namespace foreshard::simulator;
  WhatIfQuestion asked;
  switch (size % 4) {
    case 0: asked.changes.scales = {{"*", 0.5}}; break;
    case 1: asked.changes.launch = 0; break;
    case 2: asked.changes.without_stragglers = true; break;
    default: asked.changes.collectives = 0, asked.changes.host = 3;
  }
  return asked;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foreshard;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto bytes = traces::inflated(traces::bytes_in_memory(input));
  const auto recordings = traces::kineto::read_recordings(*bytes, "rank1.json", {});
  if (!recordings) return 0;
  const auto answer = simulator::what_if(recordings->front().trace, question(size), "rank1.json");
  if (!answer) {
    fuzz::require(answer.error().text().find("rank1.json") != std::string::npos);
    return 0;
  }
  fuzz::require(answer->recorded.span_ns >= 0 && answer->replayed.span_ns >= 0);
  fuzz::require(answer->unmatched_events >= 0);
  fuzz::require(answer->asked.has_value() == answer->refusal.empty());
  fuzz::require(!simulator::what_if_json(*answer).empty());
  // Times of centuries are held at the largest that can be counted, wherever they are added up.
  constexpr std::int64_t kTenDays = std::int64_t{10} * 86'400 * 1'000'000'000;
  if (!answer->asked || answer->asked->span_ns > kTenDays) return 0;
  std::int64_t path = 0;
  for (const simulator::PathPart& part : answer->critical_path) path += part.ns;
  fuzz::require(path == answer->asked->span_ns);
  return 0;
}
