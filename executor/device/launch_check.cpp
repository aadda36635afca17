#include "executor/device/launch_check.hpp"

#include <cstdlib>
#include <mutex>
#include <string_view>

namespace foreshard::executor {
namespace {

// Held by the rank whose work is checked, until its failure is told.
std::mutex one_at_a_time;

}  // namespace

bool checks_launches() {
  for (const char* name : {"FORESHARD_CUDA_CHECK", "CUDA_LAUNCH_BLOCKING"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr && std::string_view(value) == "1") return true;
  }
  return false;
}

void do_checked(RunControl& run, Device& device, Meets meets,
                const std::function<std::string()>& name, const std::function<void()>& work) {
  std::unique_lock lock(one_at_a_time, std::defer_lock);
  if (meets == Meets::nobody) lock.lock();
  try {
    run.throw_if_aborted();
    work();
    device.synchronize();
  } catch (const Aborted&) {
    throw;
  } catch (const std::exception& error) {
    // What another rank does at this time is more likely to have failed: that rank says so first.
    if (!lock.owns_lock()) lock.lock();
    run.fail(device.rank(), name() + ": " + error.what());
    throw;
  }
}

void fail_without_name(RunControl& run, int rank, const std::string& why) {
  const std::lock_guard lock(one_at_a_time);
  run.fail(rank, why);
}

}  // namespace foreshard::executor
