// CUPTI's records as activities. Structures are those of CUDA 12's first CUPTI; later versions, CUDA 13's too,
// append fields to them (decode_test.cpp), so that a record is read by its beginning and stepped over by the
// library.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "profiler/record/cupti/activity.hpp"

namespace foreshard::profiler {

// The record at the beginning of `bytes`, which go on until the end of its buffer. Nothing where it is
// of a kind that is not recorded, or cut short. Text is taken over as pointers, not looked at.
std::optional<Activity> decode(std::span<const std::byte> bytes);

}  // namespace foreshard::profiler
