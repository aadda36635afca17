#include "gui/models/base/cost_words.hpp"

#include "gui/models/base/words.hpp"

namespace foreshard::gui {
namespace {

constexpr Words cost_words("Cost");

}  // namespace

QString cost_source_word(CostSource source) {
  switch (source) {
    case CostSource::measured: return cost_words("measured");
    case CostSource::fitted: return cost_words("fitted");
    case CostSource::modelled: return cost_words("modelled");
    case CostSource::unknown: return cost_words("unknown");
    default: return {};
  }
}

QString cost_source_sentence(CostSource source) {
  switch (source) {
    case CostSource::measured: return cost_words("Measured: recorded at this size");
    case CostSource::fitted:
      return cost_words("Fitted: interpolated from recordings of other sizes");
    case CostSource::modelled:
      return cost_words("Modelled: computed from published figures of the hardware");
    case CostSource::unknown: return cost_words("Unknown: it counts as taking no time");
    default: return {};
  }
}

}  // namespace foreshard::gui
