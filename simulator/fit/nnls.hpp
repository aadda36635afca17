// Non-negative least squares: the x >= 0 that makes |A x - b| smallest, by the active-set method of
// Lawson and Hanson (Solving Least Squares Problems, 1974, chapter 23).
//
// Cost models are sums of terms that each take time, so a negative coefficient would be a nonsense
// that happens to fit; constraining it is what makes extrapolation safe.
#pragma once

#include <span>
#include <vector>

namespace foreshard::simulator {

// `a` is row-major with `columns` columns and b.size() rows.
std::vector<double> non_negative_least_squares(std::span<const double> a, int columns,
                                               std::span<const double> b);

}  // namespace foreshard::simulator
