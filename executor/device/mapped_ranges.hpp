// Where the logical addresses of a caching allocator (models/allocator/virtual_segments.hpp) lie in
// memory: ranges of addresses, each with the memory that backs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <utility>

#include "models/allocator/virtual_segments.hpp"

namespace foreshard::executor {

// `Mapping` has the members `base`, a pointer to the range's first byte, and `bytes`, its length.
template <class Mapping>
class MappedRanges {
 public:
  Mapping& add(Address address, Mapping mapping) {
    return mappings_.insert_or_assign(address, std::move(mapping)).first->second;
  }
  void remove(Address first) { mappings_.erase(first); }

  // The range that contains an address, with its first one; nullptr where there is none.
  std::pair<const Address, Mapping>* around(Address address) { return around(mappings_, address); }
  // Throws std::logic_error for an address in no range.
  std::byte* pointer(Address address) const {
    const auto* const found = around(mappings_, address);
    if (found == nullptr) throw std::logic_error("an address without device memory");
    return found->second.base + (address - found->first);
  }

  auto begin() { return mappings_.begin(); }
  auto end() { return mappings_.end(); }

 private:
  template <class Map>
  static auto around(Map& mappings, Address address) -> decltype(&*mappings.begin()) {
    auto found = mappings.upper_bound(address);
    if (found == mappings.begin()) return nullptr;
    --found;
    return address - found->first < found->second.bytes ? &*found : nullptr;
  }

  std::map<Address, Mapping> mappings_;
};

}  // namespace foreshard::executor
