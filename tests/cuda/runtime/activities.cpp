#include "tests/cuda/runtime/activities.hpp"

#include <atomic>
#include <utility>

#include "tests/cuda/runtime/device.hpp"
#include "tests/cuda/runtime/streams.hpp"

namespace foreshard::host_cuda {
namespace {

std::atomic<Observer*> observer{nullptr};

}  // namespace

void observe(Observer* now) {
  observer.store(now);
}

void issue(const std::string& call, cudaStream_t stream, Work work, std::function<void()> task) {
  Stream& to = *reinterpret_cast<Stream*>(stream);
  Observer* const told = observer.load();
  if (told == nullptr) return to.issue(std::move(task));
  const std::int64_t called = told->now();
  const std::uint32_t correlation = told->begin_call();
  to.issue([=, device = current_device(), work = std::move(work), task = std::move(task)] {
    const std::int64_t began = told->now();
    task();
    told->worked(work, stream, device, correlation, began);
  });
  told->end_call(call, correlation, called);
}

}  // namespace foreshard::host_cuda
