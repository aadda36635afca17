// Costs of a step that XLA compiled for TPUs, from the data sheet's: kernels and collectives cost
// what they cost on any machine of the catalogue (machine_costs.cpp), but the host issues one
// program instead of every instruction, nothing asks a driver for memory, and gathers arrive where
// they are used, so that the copies around FSDP's flat buffers are none.
//
// No recording of a TPU stands behind them, nor a model of XLA's schedule: published throughputs of
// MaxText (docs/costs.md) set the rates of catalogue/kernel_rates.csv, and the band is wide.
#pragma once

#include <memory>

#include "simulator/costs/cost_model.hpp"

namespace foreshard::simulator {

// `data_sheet`: the costs of the machine, a TPU. `is_calibrated`: runs have taught its rates.
std::unique_ptr<CostModel> tpu_costs(std::unique_ptr<CostModel> data_sheet, const Machine& machine,
                                     bool is_calibrated);

}  // namespace foreshard::simulator
