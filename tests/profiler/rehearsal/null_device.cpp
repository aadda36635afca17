#include "tests/profiler/rehearsal/null_device.hpp"

#include <cstdio>
#include <cstdlib>

namespace foreshard::tests {
namespace {

void enter(const Environment& environment) {
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
}

}  // namespace

NullDevice::NullDevice() : library_(::dlopen(FORESHARD_REHEARSAL_LIBRARY, RTLD_NOW | RTLD_LOCAL)) {
  if (library_ != nullptr) return;
  std::fprintf(stderr, "%s\n", ::dlerror());
  std::exit(1);
}

void* NullDevice::symbol(const char* name) const {
  void* const found = ::dlsym(library_, name);
  if (found != nullptr) return found;
  std::fprintf(stderr, "%s\n", ::dlerror());
  std::exit(1);
}

void* NullDevice::allocate(std::size_t bytes) const {
  void* pointer = nullptr;
  EXPECT_EQ(CALL(*this, cudaMalloc)(&pointer, bytes), cudaSuccess);
  return pointer;
}

nlohmann::json NullDevice::counts() const {
  return nlohmann::json::parse(find<const char*()>("foreshard_rehearsal_counts")());
}

void on_null_device(const Environment& environment,
                    const std::function<void(const NullDevice&)>& body) {
  const auto run = [&] {
    enter(environment);
    body(NullDevice());
    std::exit(testing::Test::HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

void expect_refusal(const Environment& environment,
                    const std::function<void(const NullDevice&)>& body, const std::string& line) {
  const auto run = [&] {
    enter(environment);
    body(NullDevice());
    std::exit(0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(70), "^foreshard rehearsal: " + line);
}

}  // namespace foreshard::tests
