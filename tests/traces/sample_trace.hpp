// A small trace with something of everything.
#pragma once

#include <string>

#include "tests/temporary_folder.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces {

Trace sample_trace();

// Empty when equal, otherwise where the two differ first.
std::string difference(const Trace& a, const Trace& b);

using tests::read_file;
using tests::TemporaryFolder;
using tests::write_file;

}  // namespace foreshard::traces
