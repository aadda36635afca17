#include "cli/common/host_memory_check.hpp"

#include <algorithm>

#include "cli/common/output.hpp"
#include "models/base/figures.hpp"
#include "models/base/host_memory.hpp"
#include "models/sharding/job.hpp"
#include "simulator/predict/checkpoint.hpp"
#include "simulator/predict/prediction.hpp"

namespace foreshard::cli {

Result<void> check_host_memory(const Job& job, int ranks_here,
                               std::optional<std::int64_t> device_memory, const HostUse& use) {
  const auto available = available_memory();
  if (!available) return {};
  simulator::PredictionOptions options;
  options.device_memory = device_memory;
  options.wants_time = false;
  options.run = use.run;
  const simulator::Prediction prediction = simulator::predict(job, options);
  std::vector<std::int64_t> needs;
  for (const auto& rank : prediction.ranks_memory) {
    const bool is_on_host = job.device.kind == DeviceKind::cpu;
    const bool copies = use.copies_state && place_of(job, rank.rank)[Group::replicate].index == 0;
    needs.push_back((is_on_host ? rank.peaks.allocated : 0) + rank.peak_host +
                    (copies ? simulator::checkpoint_bytes(job, rank.rank) : 0));
  }
  // Which ranks are here is up to the launcher; the smallest are certain.
  std::sort(needs.begin(), needs.end());
  needs.resize(std::min(needs.size(), static_cast<std::size_t>(ranks_here)));
  std::int64_t needed = 0;
  for (const std::int64_t need : needs) needed += need;
  if (needed <= *available) return {};
  return fail("", "--ranks",
              std::to_string(ranks_here) + (ranks_here == 1 ? " rank needs " : " ranks need ") +
                  binary_bytes(needed) + " of this machine's memory, of which " +
                  binary_bytes(*available) +
                  " are available; expected a smaller model or batch, checkpointing, or ranks on "
                  "other machines");
}

}  // namespace foreshard::cli
