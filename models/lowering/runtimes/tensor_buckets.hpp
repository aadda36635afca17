// How torch.distributed packs tensors into buckets (compute_bucket_assignment_by_size).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/base/dtype.hpp"

namespace foreshard::lowering {

struct SizedTensor {
  std::int64_t bytes;
  std::optional<DType> type;  // nothing: one that no plan names, such as complex numbers
};

// By bucket the tensors' indices.
using BucketAssignment = std::vector<std::vector<std::size_t>>;

// Tensors of one type in their order. A bucket is closed as soon as it reaches its limit: the first
// bucket of a type the first limit, and so on, all further ones the last. Buckets are in the order of
// their first tensors.
BucketAssignment buckets_by_size(const std::vector<SizedTensor>& tensors,
                                 const std::vector<std::int64_t>& limits);

}  // namespace foreshard::lowering
