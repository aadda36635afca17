// A step's micro-steps: emitted one by one, or, as far as they are alike, as a repetition.
//
// The first micro-step finds no gradients, and the second what the first left; from the third on each does
// what the one before did, and so does the last where it does not differ. Two of those that
// are alike stand for all of them.
#pragma once

#include <cstdint>
#include <functional>

#include "models/lowering/script/emitter.hpp"
#include "models/lowering/script/sharding_runtime.hpp"

namespace foreshard::lowering {

enum class MicroSteps : std::uint8_t { each, repeated };

// `micro_step` emits the one of that number, counted from 0, of all that the plan accumulates.
void emit_micro_steps(Emitter& emit, const ShardingRuntime& runtime, const Plan& plan,
                      MicroSteps form, const std::function<void(int number)>& micro_step);

}  // namespace foreshard::lowering
