// The tables of an export that Foreshard reads, each into the events it stands for. Only for the
// sources of this folder.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "traces/nsys/builder.hpp"
#include "traces/nsys/source.hpp"
#include "traces/nsys/string_table.hpp"

namespace foreshard::traces::nsys {

struct Import {
  Source& source;
  StringTable& names;
  Builder& builder;
  std::set<std::string> read;  // tables that are in the trace or need not be
};

// Kernels, copies, fills, allocations: what devices did.
void read_device_tables(Import& in);
// Calls of runtime and driver, of libraries, of MPI and of the operating system.
void read_host_tables(Import& in);
// Synchronisation: waits of streams, and of host threads where no call is recorded. After the host
// tables.
void read_synchronization(Import& in);
void read_nvtx(Import& in);
// What was sampled of devices, into `trace`. After Builder::finish(), whose result is `first_ns`.
void read_gpu_metrics(Import& in, std::int64_t first_ns, Trace& trace);

// The number in the machine of each rank's GPU. After Builder::finish().
std::vector<std::int64_t> gpus_of_ranks(Import& in);

// The name of an operator without what torch.autograd.profiler.emit_nvtx adds to it:
// "aten::mm, seq = 7, op_id = 9" is "aten::mm". Equal to `name` for every other range.
std::string_view operator_name(std::string_view name);

// All tables of an export called `name`, and its metadata.
Trace read_export(Source& source, const std::string& name);

}  // namespace foreshard::traces::nsys
