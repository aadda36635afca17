// The part of a cost file that device_rates.hpp describes.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "simulator/costs/cost_file_reader.hpp"
#include "simulator/costs/device_rates.hpp"

namespace foreshard::simulator {

nlohmann::json to_json(const DeviceRates& rates);
DeviceRates read_device_rates(CostFileReader reader);

}  // namespace foreshard::simulator
