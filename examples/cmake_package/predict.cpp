// Whether a training plan fits on a number of GPUs, and how long its step takes:
//   predict MODEL RANKS MACHINE [PLAN]
#include <cstdlib>
#include <iostream>

#include <foreshard/predict.hpp>

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: predict MODEL RANKS MACHINE [PLAN]\n";
    return 2;
  }
  foreshard::api::Question question;
  question.model = argv[1];
  question.ranks = std::atoi(argv[2]);
  question.machine = argv[3];
  if (argc > 4) question.plan = argv[4];
  const auto prediction = foreshard::api::predict(question);
  if (!prediction) {
    std::cerr << prediction.error().text() << '\n';
    return 2;
  }
  const auto& first = prediction->ranks.front();
  std::cout << "fits " << prediction->fits << "\nstep_time_ns "
            << prediction->step_time_ns.value_or(0) << "\npeak_reserved_bytes "
            << first.reserved_bytes << '\n';
}
