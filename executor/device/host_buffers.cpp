#include "executor/device/host_buffers.hpp"

#include <algorithm>
#include <new>

namespace foreshard::executor {
namespace {

std::size_t size(Bytes bytes) {
  return static_cast<std::size_t>(bytes.count);
}

}  // namespace

HostBuffers::~HostBuffers() {
  while (!unused_.empty()) give_back(unused_.begin());
}

void HostBuffers::give_back(std::multimap<std::int64_t, std::byte*>::iterator unused) {
  ::operator delete (unused->second, std::align_val_t{static_cast<std::size_t>(kHostAlignment)});
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
  return static_cast<std::byte*>(
      ::operator new (size(rounded), std::align_val_t{static_cast<std::size_t>(kHostAlignment)}));
}

void HostBuffers::free(std::byte* pointer, Bytes bytes) {
  const Bytes rounded = round_up(bytes, Bytes{kHostAlignment});
  current_ -= rounded;
  unused_bytes_ += rounded;
  unused_.emplace(rounded.count, pointer);
}

}  // namespace foreshard::executor
