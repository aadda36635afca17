// The links between TPUs: a slice of a pod is a grid of chips in two or three dimensions, each chip
// linked to its neighbours alone (ICI). Along an axis that is closed to a ring a chip has two
// links; along one that is not, the chips at its ends have one. A collective uses all axes at once,
// so that what bounds it are the links of the chip that has fewest, at a corner: it receives all
// but its own part of what is gathered, or sends all but its own part of what is scattered.
//
// Which axes are closed: of two-dimensional pods those of 16 chips, whose ends are wired together;
// of three-dimensional ones all axes of slices that are made of whole cubes of 4 x 4 x 4, which
// optical switches join. After Google's documentation of TPU v4 to v6e, and Austin et al., "How to
// Scale Your Model" (2025), the chapters on TPUs and on sharding.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/hardware/hardware.hpp"

namespace foreshard::simulator {

class Torus {
 public:
  // Of a machine whose links are ICI's; nothing: others.
  static std::optional<Torus> of(const Machine& machine);

  // The axes, ascending, of the smallest slice that can be rented and has so many chips: a power of
  // two of them, from 64 on in three dimensions a number of cubes, as near to a square or a cube as
  // their factors allow.
  std::vector<std::int64_t> axes(std::int64_t chips) const;

  // Links of a chip at a corner of the slice.
  std::int64_t corner_links(std::int64_t chips) const;
  // Hops from a chip to the one that is farthest.
  std::int64_t hops(std::int64_t chips) const;

  double link_gb_s() const { return link_gb_s_; }  // of one link, one way

 private:
  Torus(int dimensions, double link_gb_s) : dimensions_(dimensions), link_gb_s_(link_gb_s) {}

  bool is_ring(std::int64_t axis, const std::vector<std::int64_t>& all) const;

  int dimensions_;
  double link_gb_s_;
};

}  // namespace foreshard::simulator
