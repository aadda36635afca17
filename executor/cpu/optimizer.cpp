// The optimizer's step over one unit's shards, and the gradient norm it clips by.
#include <array>
#include <cmath>

#include "executor/cpu/operands.hpp"

namespace foreshard::executor {
namespace {

// update(parameter number, first element of the piece, its length, elements before it in the flat
// gradient), over the elements each shard really has.
template <class Update>
void for_each_piece(const KernelArguments& a, const Update& update) {
  for (std::size_t i = 0; i < a.unit->parameters.size(); ++i) {
    const ParameterShard& p = a.unit->parameters[i];
    a.workers.run_ranges(p.local, kGrain, [&](std::int64_t begin, std::int64_t end, int) {
      update(i, begin, end - begin, p.offset + begin);
    });
  }
}

float clip_factor(const KernelArguments& a) {
  return static_cast<float>(input<double>(a, 1)[1]);
}

}  // namespace

// A fixed number of ranges, whose sums are added in order.
void run_gradient_norm(const KernelArguments& a) {
  constexpr std::int64_t kParts = 64;
  const std::int64_t n = a.key.dims[0], item = item_size(a.key.dtype);
  const SimdKernels& simd = simd_kernels();
  std::array<double, kParts> sums{};
  a.workers.run(kParts, [&](std::int64_t part, int) {
    const std::int64_t begin = n * part / kParts, end = n * (part + 1) / kParts;
    sums[static_cast<std::size_t>(part)] =
        simd.sum_of_squares[variant(a.key.dtype)](input(a, 0) + begin * item, end - begin);
  });
  double total = 0;
  for (const double sum : sums) total += sum;
  output<double>(a, 0)[a.aux] = total;
}

void run_clip_coefficient(const KernelArguments& a) {
  constexpr double kGuard = 1e-6;  // as torch.nn.utils.clip_grad_norm_ has it
  const double* squares = input<double>(a, 0);
  double total = 0;
  for (std::int64_t i = 0; i < a.key.dims[0]; ++i) total += squares[i];
  const double norm = std::sqrt(total), limit = a.scalars.clip_grad_norm;
  double* const clip = output<double>(a, 0);
  // A NaN norm makes the factor NaN, and every gradient with it, as torch.clamp does.
  const double factor = limit > 0 ? limit / (norm + kGuard) : 1.0;
  clip[0] = norm;
  clip[1] = factor > 1.0 ? 1.0 : factor;
}

void run_adamw(const KernelArguments& a) {
  AdamwScalars scalars = adamw_scalars(a.scalars);
  scalars.clip = clip_factor(a);
  const std::size_t gradient = variant(a.key.dtype2), parameter = variant(a.key.dtype),
                    state = variant(a.key.dtype3);
  const auto kernel = simd_kernels().adamw[gradient][parameter][state];
  const std::int64_t gradient_item = item_size(a.key.dtype2), item = item_size(a.key.dtype),
                     state_item = item_size(a.key.dtype3);
  const std::size_t count = a.unit->parameters.size();
  for_each_piece(a, [&](std::size_t i, std::int64_t begin, std::int64_t n, std::int64_t at) {
    kernel(input(a, 0) + at * gradient_item, output(a, i) + begin * item,
           output(a, count + i) + begin * state_item, output(a, 2 * count + i) + begin * state_item,
           n, scalars);
  });
}

void run_sgd(const KernelArguments& a) {
  SgdScalars scalars = sgd_scalars(a.scalars);
  scalars.clip = clip_factor(a);
  const auto kernel = simd_kernels().sgd[variant(a.key.dtype2)][variant(a.key.dtype)];
  const std::int64_t gradient_item = item_size(a.key.dtype2), item = item_size(a.key.dtype);
  for_each_piece(a, [&](std::size_t i, std::int64_t begin, std::int64_t n, std::int64_t at) {
    kernel(input(a, 0) + at * gradient_item, output(a, i) + begin * item, n, scalars);
  });
}

}  // namespace foreshard::executor
