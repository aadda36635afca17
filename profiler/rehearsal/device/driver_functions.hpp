// The driver's functions as cuGetProcAddress finds them: a name and a version of CUDA say which
// symbol. The table is generated from the toolkit's headers (entry_points.py).
#pragma once

#include <string_view>
#include <vector>

namespace foreshard::rehearsal {

struct DriverFunction {
  std::string_view name;
  int since;  // the version of CUDA, as CUDA_VERSION
  void* address;
};

const std::vector<DriverFunction>& driver_functions();

// As of that version of CUDA; nullptr: there is none.
void* find_driver_function(std::string_view name, int version);

}  // namespace foreshard::rehearsal
