#include "simulator/search/plan_parts.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "models/plan/plan_keys.hpp"

namespace foreshard::simulator {
namespace {

struct KeyPart {
  std::string_view key;  // "section.key", or "section." for all of a section
  bool work, state;
};

constexpr KeyPart kParts[] = {
    {"batch.micro_batch", true, false},
    {"batch.sequence", true, false},
    {"batch.accumulation", false, false},  // bounds count micro-steps themselves
    {"batch.", false, true},
    {"checkpointing.", true, false},
    {"offload.activations", true, false},
    {"offload.", false, true},
    {"wrap.", false, true},
    {"sharding.", false, true},
    {"precision.param", true, true},
    {"precision.", false, true},
    {"optimizer.", false, true},
    {"prefetch.", false, true},
    {"allocator.", false, false},
};

// Short enough to add nothing to speak of, long enough to be a sequence for every kernel.
constexpr std::int64_t kShortSequence = 16;

const std::vector<PlanSetting>& neutral_settings() {
  static const std::vector<PlanSetting> settings = [] {
    Plan neutral;
    neutral.batch.micro_batch = 1;
    neutral.batch.sequence = kShortSequence;
    std::vector<PlanSetting> all;
    for (const PlanKey& key : plan_keys()) all.push_back({&key, key.value_in(neutral)});
    return all;
  }();
  return settings;
}

}  // namespace

bool depends_on(PlanPart part, std::string_view key) {
  const auto* const row =
      std::find_if(std::begin(kParts), std::end(kParts), [key](const KeyPart& part_of) {
        return part_of.key.ends_with('.') ? key.starts_with(part_of.key) : key == part_of.key;
      });
  if (row == std::end(kParts)) return true;
  return part == PlanPart::work ? row->work : row->state;
}

Plan alone(PlanPart part, Plan plan) {
  for (const PlanSetting& setting : neutral_settings()) {
    if (!depends_on(part, setting.key->name())) setting.set_in(plan);
  }
  return plan;
}

}  // namespace foreshard::simulator
