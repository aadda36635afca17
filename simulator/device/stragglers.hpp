// A step waits for the slowest of its ranks. Devices of one kind differ in the clock that their
// power and temperature allow, and the same device differs from step to step; both lengthen what
// computes, not what moves bytes. Ranks' factors are taken to be independent and lognormal about
// the median, so the step has the largest of N of them, whose distribution is Phi(ln x / sigma)^N.
#pragma once

namespace foreshard::simulator {

// The largest of several ranks' factors.
struct SlowestRank {
  double factor = 1;     // expected
  double deviation = 0;  // of its logarithm: of the maximum, and of what is not known of sigma
};

// `sigma`: standard deviation of the logarithm of one rank's factor; `sigma_error`: that of sigma's own
// logarithm. The expectation is an integral over the maximum's density. One rank has no other to
// wait for: its factor is 1.
SlowestRank slowest_of(int ranks, double sigma, double sigma_error);

// The factor below which the largest of so many lies with that probability; of one rank too.
double slowest_quantile(int ranks, double sigma, double probability);

}  // namespace foreshard::simulator
