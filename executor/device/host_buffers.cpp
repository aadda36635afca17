#include "executor/device/host_buffers.hpp"

#include <algorithm>

namespace foreshard::executor {

HostBuffers::~HostBuffers() {
  while (!unused_.empty()) give_back(unused_.begin());
}

void HostBuffers::give_back(std::multimap<std::int64_t, std::byte*>::iterator unused) {
  device_.free_host(unused->second, Bytes{unused->first});
  unused_bytes_ -= Bytes{unused->first};
  unused_.erase(unused);
}

std::byte* HostBuffers::allocate(Bytes bytes) {
  const Bytes rounded = round_up(bytes, Bytes{kHostAlignment});
  current_ += rounded;
  peak_ = std::max(peak_, current_);
  if (const auto found = unused_.find(rounded.count); found != unused_.end()) {
    std::byte* const pointer = found->second;
    unused_bytes_ -= rounded;
    unused_.erase(found);
    return pointer;
  }
  while (!unused_.empty() && current_ + unused_bytes_ > peak_) give_back(std::prev(unused_.end()));
  return device_.allocate_host(rounded);
}

void HostBuffers::free(std::byte* pointer, Bytes bytes) {
  const Bytes rounded = round_up(bytes, Bytes{kHostAlignment});
  current_ -= rounded;
  unused_bytes_ += rounded;
  unused_.emplace(rounded.count, pointer);
}

}  // namespace foreshard::executor
