// What a descriptor of cuDNN's backend API was given, as far as the workspace of a plan depends on
// it: a plan leads to its graph, that to operations, those to tensors.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include <cudnn.h>

namespace foreshard::rehearsal {

struct Descriptor {
  using Parts = std::vector<std::shared_ptr<const Descriptor>>;

  cudnnBackendDescriptorType_t type;
  std::map<cudnnBackendAttributeName_t, Parts> parts;
  std::vector<std::int64_t> dimensions;  // of a tensor
};

// What the engine of a plan, or of a configuration, asks for; 0 and a note where that is not known.
std::int64_t workspace_bytes(const Descriptor& plan);

}  // namespace foreshard::rehearsal
