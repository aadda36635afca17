#include "tests/cuda/runtime/activities.hpp"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <utility>

#include <dlfcn.h>

#include "tests/cuda/runtime/device.hpp"
#include "tests/cuda/runtime/faults.hpp"
#include "tests/cuda/runtime/streams.hpp"

namespace foreshard::host_cuda {
namespace {

std::atomic<Observer*> observer{nullptr};

void load() {
  const char* const path = std::getenv("CUDA_INJECTION64_PATH");
  void* const library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return;
  using Initialize = int (*)();
  const auto initialize = reinterpret_cast<Initialize>(dlsym(library, "InitializeInjection"));
  if (initialize != nullptr) initialize();
}

}  // namespace

void load_injection() {
  static std::once_flag once;
  std::call_once(once, load);
}

void observe(Observer* now) {
  observer.store(now);
}

void call(const std::string& name, const std::function<MemoryUse()>& work) {
  load_injection();
  Observer* const told = observer.load();
  if (told == nullptr) return static_cast<void>(work());
  const std::int64_t called = told->now();
  const std::uint32_t correlation = told->begin_call();
  const MemoryUse use = work();
  if (use.kind != MemoryUse::Kind::none) told->used(use, correlation, called);
  told->end_call(name, correlation, called);
}

int device_of(cudaStream_t stream) {
  return of(stream).device();
}

cudaError_t issue(const std::string& call, cudaStream_t stream, Work work,
                  std::function<void()> task) {
  Stream& to = of(stream);
  if (work.kind == Work::Kind::kernel) {
    load_kernels(to.device());
    task = that_may_fail(work.name, std::move(task));
  }
  Observer* const told = observer.load();
  if (told == nullptr) return to.issue(std::move(task));
  const std::int64_t called = told->now();
  const std::uint32_t correlation = told->begin_call();
  const cudaError_t error =
      to.issue([=, device = to.device(), work = std::move(work), task = std::move(task)] {
        const std::int64_t began = told->now();
        task();
        told->worked(work, stream, device, correlation, began);
      });
  told->end_call(call, correlation, called);
  return error;
}

}  // namespace foreshard::host_cuda
