// Recordings that others made, as traces: PyTorch's profiler (Kineto JSON), Nsight Systems (SQLite
// export) and PyTorch's CUDA memory snapshots (pickle). Each importer has a folder of its own.
//
// An importer takes what is in the file and nothing else: times are exact to the nanosecond, every
// event it understands is kept, every one it leaves out is counted by reason in Trace::dropped, and a
// file cut short becomes a trace with `complete` false, until the moment of the last whole event.
// A file of another type is an error. Kinds, in the words of Kineto's categories:
//
//   device lanes   kernel: compute, or communication where it is a collective's;
//                  gpu_memcpy, gpu_memset: memory; gpu_user_annotation: range
//   host lanes     cpu_op: host; cuda_runtime, cuda_driver: runtime, or host_wait where the call
//                  blocks until the device is done; user_annotation, NVTX: range;
//                  python_function: stack
//
// What was sampled (events of phase C, GPU_METRICS of Nsight Systems) are Trace::counters.
//
// Units and phases come from FSDP's annotations; a kernel has those of the call that launched it
// (Event::correlation). So do cost keys: an operator's key is that of all kernels that it launched,
// and only their sum is its cost. Metadata contains `source` (kineto, nsys, snapshot), `files`, and of
// each rank what is known: `device.R`, `host.R`, and `trouble.R` where its recording is not whole. How
// many events have a cost key, and how many might have had one, is `cost_keys_mapped` and
// `cost_keys_unmapped`; how many collectives of gloo's threads could not be related to their calls,
// `unrelated_collectives`.
#pragma once

#include <string>
#include <vector>

#include "models/base/error.hpp"
#include "traces/import_options.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces {

// Files of one run or of several, or folders of such files, `.gz` or plain: a trace for each run,
// with every rank of it. Runs are told apart by what the files contain and, where that is nothing, by a
// rank that comes twice.
Result<std::vector<Trace>> import_kineto(const std::vector<std::string>& paths,
                                         const ImportOptions& options = {});
// One export; its processes or devices are the ranks.
Result<Trace> import_nsys(const std::string& path, const ImportOptions& options = {});
// One snapshot, whose devices are the ranks, or a folder with one of each rank.
Result<Trace> import_snapshot(const std::string& path, const ImportOptions& options = {});

}  // namespace foreshard::traces
