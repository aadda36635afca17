// Memory of the host through which it fills and reads buffers of the device: the host itself touches
// no device memory. Buffers that are the host's already are their own staging.
#pragma once

#include <span>
#include <vector>

#include "models/lowering/script/emitter.hpp"

namespace foreshard::lowering {

class Staging {
 public:
  // Allocates a host buffer beside each of `buffers`, which lie all on the device or all on the host.
  // `persistent`: it is not freed again.
  Staging(Emitter& emit, std::span<const BufferId> buffers, bool persistent = false);

  std::span<const BufferId> host() const { return host_; }
  void copy_to_device();
  void copy_to_host();
  void wait();  // for the copies
  void free();  // once they are done

 private:
  bool is_apart() const { return host_ != buffers_; }

  Emitter& emit_;
  std::vector<BufferId> buffers_, host_;
  bool is_copying_ = false;
};

}  // namespace foreshard::lowering
