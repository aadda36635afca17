// The null device as programs find it: libforeshard_rehearsal.so, loaded into a process of its own
// for each test, whose environment says what the device is like.
#pragma once

#include <functional>
#include <map>
#include <string>

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace foreshard::tests {

class NullDevice {
 public:
  NullDevice();

  // By its name; an entry point that is not there ends the process.
  template <class Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

  void* allocate(std::size_t bytes) const;  // by cudaMalloc

  // What foreshard_rehearsal_counts returns.
  nlohmann::json counts() const;

 private:
  void* symbol(const char* name) const;

  void* library_;
};

// An entry point that the toolkit declares: CALL(device, cudaMalloc)(&pointer, bytes).
#define CALL(DEVICE, NAME) (DEVICE).find<decltype(NAME)>(#NAME)

using Environment = std::map<std::string, std::string>;

// Runs `body` in a process of its own, whose expectations must hold.
void on_null_device(const Environment& environment,
                    const std::function<void(const NullDevice&)>& body);

// The same for a body that must end the process with status 70 and such a line on standard error.
void expect_refusal(const Environment& environment,
                    const std::function<void(const NullDevice&)>& body, const std::string& line);

}  // namespace foreshard::tests
