// Which measurement would narrow the band of a prediction most, and to what. Nothing is guessed:
// the measurement is taken to say what was predicted, and the band is that of the costs that `fit`
// would make of it, by the same update.
#pragma once

#include <optional>

#include "simulator/predict/prediction.hpp"

namespace foreshard::simulator {

// `options` are those of the prediction, which has a step time. Nothing where no measurement of
// those that `fit` takes would narrow the band.
std::optional<Narrowing> find_narrowing(const Job& job, const PredictionOptions& options,
                                        const Prediction& prediction);

}  // namespace foreshard::simulator
