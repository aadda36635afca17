// The measurement that would narrow the band of a prediction most, and the band afterwards: the
// measurement is assumed to confirm the prediction, and the band is that of the costs that `fit` would
// write, by the same update.
#pragma once

#include <optional>

#include "simulator/predict/prediction.hpp"

namespace foreshard::simulator {

// `options` are those of the prediction, which has a step time. Nothing where no measurement that
// `fit` takes would narrow the band.
std::optional<RecommendedMeasurement> recommend_measurement(const Job& job,
                                                            const PredictionOptions& options,
                                                            const Prediction& prediction);

}  // namespace foreshard::simulator
