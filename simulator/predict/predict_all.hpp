// Many predictions at once, as a search over plans or a comparison needs them.
//
// Predictions share nothing but what their jobs share and nobody changes: a model's tree (replan), the
// options, the machine. So they run on as many threads as there are, and every one is what predict
// is for its job alone, whatever the number of threads.
#pragma once

#include <cstddef>
#include <functional>

#include "simulator/predict/prediction.hpp"

namespace foreshard::simulator {

// Makes job `n`; sees its prediction. Both are called on the thread that has come to n, for several n
// at the same time, so that they may write to nothing but what belongs to n alone.
using JobMaker = std::function<Job(std::size_t n)>;
using PredictionUse =
    std::function<void(std::size_t n, const Job& job, const Prediction& prediction)>;

// Predicts jobs 0 to `count` - 1. The predictions of a thread take over one another's memory, so that
// what `use` needs of one it copies. What they throw is thrown here, of several the lowest job's.
void predict_all(std::size_t count, const JobMaker& make, const PredictionOptions& options,
                 int threads, const PredictionUse& use);

}  // namespace foreshard::simulator
