// The catalogue's CSV files, built into the program so that it needs no data beside it.
#pragma once

#include <string_view>

namespace foreshard {

std::string_view hardware_csv();
std::string_view generations_csv();
std::string_view instances_csv();
std::string_view prices_csv();
std::string_view interconnect_csv();
std::string_view kernel_rates_csv();
std::string_view memory_kernels_csv();
std::string_view collectives_csv();
std::string_view host_times_csv();
std::string_view host_ranges_csv();
std::string_view hosts_csv();
std::string_view step_errors_csv();
std::string_view host_links_csv();

}  // namespace foreshard
