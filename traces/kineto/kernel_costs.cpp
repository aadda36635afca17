#include "traces/kineto/kernel_costs.hpp"

#include <algorithm>
#include <span>

namespace foreshard::traces::kineto {
namespace {

// Whether these are all kernels that the owner of so many calls launched.
bool are_all(std::span<const LaunchedKernel> kernels, std::ptrdiff_t calls) {
  if (std::ssize(kernels) < calls) return false;
  return kernels.size() == 1 || std::all_of(kernels.begin(), kernels.end(),
                                            [](const LaunchedKernel& k) { return k.has_call; });
}

}  // namespace

void share_costs(Collected& recording, std::vector<LaunchedKernel> kernels,
                 std::vector<std::uint32_t> calls) {
  // Most often they are sorted: streams and threads go on in the order of time.
  if (!std::is_sorted(kernels.begin(), kernels.end())) std::sort(kernels.begin(), kernels.end());
  if (!std::is_sorted(calls.begin(), calls.end())) std::sort(calls.begin(), calls.end());
  auto call = calls.begin();
  for (auto first = kernels.begin(); first != kernels.end();) {
    const std::uint32_t owner = first->owner;
    const auto last = std::find_if(first, kernels.end(),
                                   [&](const LaunchedKernel& k) { return k.owner != owner; });
    while (call != calls.end() && *call < owner) ++call;
    const auto past =
        std::find_if(call, calls.end(), [=](std::uint32_t of) { return of != owner; });
    const Event& from = recording.events[owner];
    if (last - first == 1) {
      Event& only = recording.events[first->kernel];
      if (only.bytes == 0) only.bytes = from.bytes;
    }
    if (are_all({first, last}, past - call)) {
      for (auto k = first; k != last; ++k) {
        Event& to = recording.events[k->kernel];
        if (to.cost_key == 0) to.cost_key = from.cost_key;
      }
    }
    first = last;
    call = past;
  }
}

}  // namespace foreshard::traces::kineto
