// What the runtime's calls and streams do, for whoever records it: the host's CUPTI.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <cuda_runtime_api.h>

namespace foreshard::host_cuda {

struct Work {
  enum class Kind { kernel, copy, fill } kind = Kind::kernel;
  std::string name;        // of a kernel, mangled
  std::int64_t bytes = 0;  // of a copy or a fill
};

// What a call did with a device's memory.
struct MemoryUse {
  enum class Kind { none, allocated, freed, pool_created, pool_destroyed, pool_trimmed };
  Kind kind = Kind::none;
  int device = 0;
  const void* address = nullptr;  // of an allocation
  std::int64_t bytes = 0;
  const void* pool = nullptr;  // nullptr: of none
  std::int64_t pool_bytes = 0;
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual std::int64_t now() = 0;
  // Around a call of the runtime. The first gives it a correlation.
  virtual std::uint32_t begin_call() = 0;
  virtual void end_call(const std::string& call, std::uint32_t correlation,
                        std::int64_t start_ns) = 0;
  // Within a call.
  virtual void used(const MemoryUse& use, std::uint32_t correlation, std::int64_t start_ns) = 0;
  // On the stream's thread.
  virtual void worked(const Work& work, cudaStream_t stream, int device, std::uint32_t correlation,
                      std::int64_t start_ns) = 0;
};

// From now on; nullptr: nobody. It must stay while streams have work.
void observe(Observer* observer);

// What the driver does when a process first uses it: loads the library CUDA_INJECTION64_PATH.
void load_injection();

// A call of that name uses memory as `work` returns.
void call(const std::string& name, const std::function<MemoryUse()>& work);

int device_of(cudaStream_t stream);

// A call of that name gives a stream work.
cudaError_t issue(const std::string& call, cudaStream_t stream, Work work,
                  std::function<void()> task);

}  // namespace foreshard::host_cuda
