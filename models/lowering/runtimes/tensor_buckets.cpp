#include "models/lowering/runtimes/tensor_buckets.hpp"

#include <algorithm>
#include <map>

namespace foreshard::lowering {

BucketAssignment buckets_by_size(const std::vector<SizedTensor>& tensors,
                                 const std::vector<std::int64_t>& limits) {
  struct OpenBucket {
    std::vector<std::size_t> members;
    std::int64_t bytes = 0;
    std::size_t limit = 0;  // its index
  };
  std::map<std::optional<DType>, OpenBucket> open;  // by type
  BucketAssignment closed;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    OpenBucket& bucket = open[tensors[i].type];
    bucket.members.push_back(i);
    bucket.bytes += tensors[i].bytes;
    if (bucket.bytes < limits[bucket.limit]) continue;
    closed.push_back(std::move(bucket.members));
    bucket = {{}, 0, std::min(bucket.limit + 1, limits.size() - 1)};
  }
  for (auto& [type, bucket] : open) {
    if (!bucket.members.empty()) closed.push_back(std::move(bucket.members));
  }
  std::sort(closed.begin(), closed.end(),
            [](const auto& a, const auto& b) { return a.front() < b.front(); });
  return closed;
}

}  // namespace foreshard::lowering
