#include "simulator/predict/predict_all.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "simulator/predict/in_parallel.hpp"

namespace foreshard::simulator {

void predict_all(std::size_t count, const JobMaker& make, const PredictionOptions& options,
                 int threads, const PredictionUse& use) {
  std::vector<Prediction> of_thread(static_cast<std::size_t>(std::max(1, threads)));
  in_parallel(count, threads, [&](std::size_t n, std::size_t thread) {
    Prediction& prediction = of_thread[thread];
    const Job job = make(n);
    prediction = predict(job, options, std::move(prediction.run));
    use(n, job, prediction);
  });
}

}  // namespace foreshard::simulator
