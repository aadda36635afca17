// Independent pieces of work on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace foreshard::simulator {

// Calls work(n, t) for each n below `count`, in order, on as many threads, the calling one among them. t
// is the thread's number, from 0; calls for several n are made at the same time, so that they may write
// to nothing but what belongs to n or t alone. What they throw is thrown here, of several the lowest n's.
void in_parallel(std::size_t count, int threads,
                 const std::function<void(std::size_t n, std::size_t thread)>& work);

}  // namespace foreshard::simulator
