// Graphs that streams were captured into, and their executable form, which is the same thing here.
#pragma once

#include <memory>
#include <utility>

#include "profiler/rehearsal/device/streams.hpp"

namespace foreshard::rehearsal {

// A handle is the address of a pointer to the graph, which it keeps.
template <class Handle>
Handle as_handle(std::shared_ptr<Graph> graph) {
  return reinterpret_cast<Handle>(new std::shared_ptr<Graph>(std::move(graph)));
}

template <class Handle>
std::shared_ptr<Graph>& of(Handle handle) {
  return *reinterpret_cast<std::shared_ptr<Graph>*>(handle);
}

// Nodes are not kept one by one.
[[noreturn]] void refuse_nodes();

}  // namespace foreshard::rehearsal
