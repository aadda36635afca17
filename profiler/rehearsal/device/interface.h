// The C interface of the null device, libforeshard_rehearsal.so, for the hooks that rehearse a
// script.
//
// The library takes the place of the CUDA runtime, the CUDA driver, cuBLAS, cuBLASLt, cuDNN, cuFFT,
// cuSOLVER, cuSPARSE, NCCL, CUPTI and NVML in the process into which LD_PRELOAD loads it. Nothing is computed: every call
// that would use a GPU is counted, device memory is a range of addresses of which copies of at most
// 64 KiB touch pages, and all work is done when the call that issues it returns. An entry point
// that the library does not know to be harmless prints "foreshard rehearsal: NAME is not described;
// ..." on standard error and ends the process with exit status 70.
//
// Loading. The library's SONAME is libcuda.so.1: once it is preloaded, dlopen("libcuda.so.1") finds
// it, since the dynamic linker compares names with the SONAMEs of what is loaded. A folder
// of links to it named libcuda.so.1, libcuda.so and libnvidia-ml.so.1 (`foreshard rehearse` makes
// one), in LD_LIBRARY_PATH, makes dlopen("libnvidia-ml.so.1") return the same loaded library, and
// programs that look for libcuda.so.1 in folders (Triton: TRITON_LIBCUDA_PATH) find one. Other
// libraries of CUDA are loaded as always and not called.
//
// Environment, read when the library is first used:
//   FORESHARD_REHEARSAL_DEVICES   number of devices (default 1)
//   FORESHARD_REHEARSAL_MEMORY    memory of each device in bytes (default 85520809984, an H100 of
//                                 80 GB); allocations are rounded up to 2 MiB, as the driver does
//   FORESHARD_REHEARSAL_GPU_TIMING
//                                 when the host is told that work is done: at once (ready, the
//                                 default), or only when it has waited for it or for something that
//                                 comes after it (late). What record_stream holds back lies between
//   FORESHARD_REHEARSAL_DEVICE    what differs from an H100 SXM, as KEY=VALUE;KEY=VALUE;
//                                 machine.hpp has the keys
//   FORESHARD_REHEARSAL_LOG       a path: each process writes PATH.PID, one line for each call that
//                                 is counted or orders work and for each allocation of device
//                                 memory; log.hpp has the form
#ifndef FORESHARD_REHEARSAL_INTERFACE_H
#define FORESHARD_REHEARSAL_INTERFACE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// What all threads have done since the last call, as a JSON object; the counts are then zero again:
//   {"launches": kernels, without those of the libraries below; a call of cuFFT, cuSOLVER and
//                cuSPARSE that computes is one,
//    "matrix_products": calls of cuBLAS and cuBLASLt,
//    "cudnn_executions": calls of cuDNN that compute,
//    "cudnn_workspace_bytes": the largest workspace that an engine of cuDNN asked for: those of
//                             attention are known, others count as 0 (cudnn_attention.cpp),
//    "copies": cudaMemcpy of all kinds, without memsets,
//    "collectives": [{"kind": "all_gather" | "all_reduce" | "all_to_all" | "broadcast" | "recv" |
//                             "reduce" | "reduce_scatter" | "send",
//                     "ranks": of the communicator, "count": calls,
//                     "bytes": of one rank: an all-gather's input, a reduce-scatter's output, what
//                              an all-to-all sends}], sorted by kind and ranks,
//    "host_reads": copies from a device to the host,
//    "host_waits": waits for a stream, an event or a device}
// Work that a stream captures into a graph counts whenever the graph is launched. The text is valid
// until the calling thread calls again.
const char* foreshard_rehearsal_counts(void);

// Whether waits of the calling thread are counted, as they are until this is called: those of a
// profiler that the hooks end are none of the script's.
void foreshard_rehearsal_count_waits(int counts);

// What the device could not know and took to be nothing, such as workspaces of libraries, of all
// threads since the process began: sentences, one a line, each once. The text is valid until the
// calling thread calls again.
const char* foreshard_rehearsal_notes(void);

// Begins such a log in this file, instead of the one that is written, if any; NULL ends it.
void foreshard_rehearsal_log(const char* path);

// Writes "MARK text" into the log, if there is one, and flushes it.
void foreshard_rehearsal_mark(const char* text);

// Counts that the host reads back, such as the number of true elements of a mask: the next copies
// of 4 or 8 bytes from a device to the host by this thread yield these numbers, in the order given.
// The second function forgets those that no copy has taken.
void foreshard_rehearsal_next_count(long long count);
void foreshard_rehearsal_no_count(void);

// The next communicator that this thread splits off (ncclCommSplit) has so many ranks, of which
// this one is number `rank`: NCCL learns it from the other ranks, of which there are none. Without
// it such a call ends the process.
void foreshard_rehearsal_next_split(int ranks, int rank);

// Called for every other copy from a device to the host of at most 64 KiB, before it is done.
// `kernel` is what the calling thread launched last: a kernel's mangled name, "matrix product",
// "cudnn", a collective's kind, or "" for none. If the reader writes the bytes itself and returns
// nonzero, nothing is copied. It may be called on any thread, and may itself use the device. NULL
// removes it.
typedef int (*foreshard_rehearsal_reader)(void* destination, const void* source, size_t bytes,
                                          const char* kernel);
void foreshard_rehearsal_on_read(foreshard_rehearsal_reader reader);

#ifdef __cplusplus
}
#endif
#endif
