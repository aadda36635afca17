// Every library that the program loads while it runs can be loaded: all symbols that it lacks are in what
// it is linked to. That is so without a driver and without a GPU too.
#include <string>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace foreshard {
namespace {

class Module : public testing::TestWithParam<const char*> {};

// In a process of its own, in which no other library has brought what this one lacks.
TEST_P(Module, CanBeLoaded) {
  const auto load = [] {
    const bool is_loaded = dlopen(GetParam(), RTLD_NOW | RTLD_LOCAL) != nullptr;
    if (!is_loaded) static_cast<void>(std::fputs(dlerror(), stderr));
    _exit(is_loaded ? 0 : 1);
  };
  EXPECT_EXIT(load(), testing::ExitedWithCode(0), "");
}

std::string name_of(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  name = name.substr(name.rfind('/') + 1);
  return name.substr(0, name.find('.'));
}

INSTANTIATE_TEST_SUITE_P(Modules, Module, testing::Values(FORESHARD_BUILT_MODULES), name_of);

}  // namespace
}  // namespace foreshard
