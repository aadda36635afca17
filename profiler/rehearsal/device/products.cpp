#include "profiler/rehearsal/device/products.hpp"

#include "profiler/rehearsal/device/counts.hpp"
#include "profiler/rehearsal/device/cupti_records.hpp"
#include "profiler/rehearsal/device/durations.hpp"
#include "profiler/rehearsal/device/kernels.hpp"
#include "profiler/rehearsal/device/log.hpp"
#include "profiler/rehearsal/device/streams.hpp"

namespace foreshard::rehearsal {

void product(cudaStream_t stream, std::int64_t m, std::int64_t n, std::int64_t k,
             std::int64_t batch) {
  launched_by_library("matrix product");
  // One launch by a name that no kernel of cuBLAS has: which it chooses is not known.
  const CallId call = record_kernel("matrix_product", {dim3(1), dim3(1), 0, stream});
  log_line(call, "PRODUCT %p %ld %ld %ld %ld", static_cast<void*>(stream), m, n, k, batch);
  count_product(stream);
  work(stream, durations::product(m, n, k, batch));
}

}  // namespace foreshard::rehearsal
