// Messages between processes over TCP, one connection for each pair of ranks: what runs under
// torchrun and srun talk by, without MPI.
//
// A thread of its own reads, and writes what did not fit into a connection at once; those that wait
// for a message sleep until it is done. Where a process can read another one's memory, long messages
// stay there until the thread that awaits them copies them (process_memory.hpp). Plain sockets, because
// what message libraries add (queues of copies, connections that come back by themselves) is what
// tensors between ranks must not have.
#pragma once

#include <memory>

#include "executor/communication/tcp_rendezvous.hpp"
#include "executor/communication/transport.hpp"

namespace foreshard::executor {

// Blocks until all processes of the run have come, as `meet` does. Destruction sends goodbyes and
// waits for the others to do so too, unless it is part of a failure or none of them sends anything for
// `longest_silence`.
Result<std::unique_ptr<Transport>> connect_by_tcp(const Rendezvous& rendezvous,
                                                  Nanoseconds longest_silence = Nanoseconds{
                                                      60'000'000'000});

}  // namespace foreshard::executor
