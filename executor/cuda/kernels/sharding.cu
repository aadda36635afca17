// Copies between a unit's parameters and the flat buffers of its collectives, as executor/cpu has
// them: all arrays of a unit in one kernel, elements converted on the way.
#include "executor/cuda/kernels/batches.cuh"

namespace foreshard::executor::cuda {
namespace {

// One part for each rank: rank r's `elements` of `to` begin at r * to_step, and those of `from` at
// r * from_step. Of all ranks' elements `from` has the first `present`; the rest are zero.
template <class From, class To>
struct Copy {
  const From* from;
  To* to;
  std::int64_t elements, present;
  std::int64_t from_step, to_step;
};

template <class From, class To>
__global__ void __launch_bounds__(kThreads)
    copy_arrays(const __grid_constant__ Batch<Copy<From, To>> batch) {
  const std::int64_t rank = blockIdx.y;
  for_each_pack(batch, [rank](const Copy<From, To>& copy, std::int64_t i) {
    const From* const from = copy.from + rank * copy.from_step + i;
    To* const to = copy.to + rank * copy.to_step + i;
    const std::int64_t left = copy.elements - i, present = copy.present - rank * copy.elements - i;
    const Elements<From> x = load_elements(from, min(present, left));
    if constexpr (std::is_same_v<From, To>) {
      store_elements(to, x, left);
    } else {
      store(to, widened(x), left);
    }
  });
}

template <class From, class To>
auto copies(const CudaLaunch& a, std::int64_t ranks) {
  return batches<Copy<From, To>>([&a, ranks](const Batch<Copy<From, To>>& batch, unsigned blocks) {
    start(a, dim3(blocks, static_cast<unsigned>(ranks)), kThreads, copy_arrays<From, To>, batch);
  });
}

template <class T>
std::int64_t length(std::span<const std::byte> bytes) {
  return static_cast<std::int64_t>(bytes.size() / sizeof(T));
}

// x[A, B, C] becomes [B, A, C]: threadIdx.x along rows of C, threadIdx.y over rows.
template <class T>
__global__ void transpose(std::int64_t A, std::int64_t B, std::int64_t C, const T* x, T* y) {
  const std::int64_t to = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (to >= A * B) return;
  x += (to % A * B + to / A) * C;
  y += to * C;
  for (std::int64_t i = threadIdx.x * kEach; i < C; i += blockDim.x * kEach) {
    store_elements(y + i, load_elements(x + i, C - i), C - i);
  }
}

}  // namespace

void run_shard_cast(const CudaLaunch& a) {
  with_types(a, [&](auto from, auto to) {
    using From = decltype(from);
    using To = decltype(to);
    auto all = copies<From, To>(a, 1);
    const bool is_flat = a.writes.size() == 1;
    To* place = output<To>(a, 0);
    for (std::size_t i = 0; i < a.reads.size(); ++i) {
      const std::int64_t n = length<From>(a.reads[i]);
      if (!is_flat) place = output<To>(a, i);
      all.add({input<From>(a, i), place, n, n, 0, 0});
      place += n;
    }
    all.finish();
  });
}

void run_all_gather_copy_in(const CudaLaunch& a) {
  with_type(a.key.dtype, [&](auto element) {
    using T = decltype(element);
    auto all = copies<T, T>(a, 1);
    T* place = output<T>(a, 0) + a.aux * a.key.dims[0];
    for (std::size_t i = 0; i < a.reads.size(); ++i) {
      const std::int64_t n = length<T>(a.reads[i]);
      all.add({input<T>(a, i), place, n, n, 0, 0});
      place += n;
    }
    all.finish();
  });
}

void run_all_gather_copy_out(const CudaLaunch& a) {
  const std::int64_t slice = a.key.dims[0], ranks = a.key.dims[1];
  with_type(a.key.dtype, [&](auto element) {
    using T = decltype(element);
    auto all = copies<T, T>(a, ranks);
    const T* gathered = input<T>(a, 0);
    for (std::size_t i = 0; i < a.writes.size(); ++i) {
      const std::int64_t part = length<T>(a.writes[i]) / ranks;
      all.add({gathered, output<T>(a, i), part, part * ranks, slice, part});
      gathered += part;
    }
    all.finish();
  });
}

void run_copy_slice(const CudaLaunch& a) {
  const std::int64_t n = a.key.dims[0];
  with_type(a.key.dtype, [&](auto element) {
    using T = decltype(element);
    auto one = copies<T, T>(a, 1);
    one.add({input<T>(a, 0) + a.aux * n, output<T>(a, 0), n, n, 0, 0});
    one.finish();
  });
}

void run_reduce_scatter_copy_in(const CudaLaunch& a) {
  const std::int64_t slice = a.key.dims[0], ranks = a.key.dims[1];
  with_types(a, [&](auto from, auto to) {
    using From = decltype(from);
    using To = decltype(to);
    auto all = copies<From, To>(a, ranks);
    for (std::size_t i = 0; i < a.reads.size(); ++i) {
      const ParameterShard& p = a.unit->parameters[i];
      all.add({input<From>(a, i), output<To>(a, 0) + p.offset, p.padded, p.rows * p.columns,
               p.padded, slice});
    }
    all.finish();
  });
}

void run_transpose(const CudaLaunch& a) {
  const std::int64_t A = a.key.dims[0], B = a.key.dims[1], C = a.key.dims[2];
  if (A * B * C == 0) return;
  const int along = threads_of_row(C, kThreads), rows = kThreads / along;
  with_type(a.key.dtype, [&](auto element) {
    using T = decltype(element);
    start(a, cover(A * B, rows), dim3(static_cast<unsigned>(along), static_cast<unsigned>(rows)),
          transpose<T>, A, B, C, input<T>(a, 0), output<T>(a, 0));
  });
}

}  // namespace foreshard::executor::cuda
