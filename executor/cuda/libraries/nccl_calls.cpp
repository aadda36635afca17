#include "executor/cuda/libraries/nccl_calls.hpp"

#include <stdexcept>

#include "models/base/shared_library.hpp"

namespace foreshard::executor::cuda {
namespace {

constexpr const char* kLibrary = "libnccl.so.2";
// Since then ncclCommInitRankConfig has returned the communicator before it has connected, within a group.
constexpr int kOldest = NCCL_VERSION(2, 19, 0);

Result<NcclCalls> look_up() {
  const auto library = SharedLibrary::load(kLibrary);
  if (!library) {
    return fail("--comm", "nccl",
                library.error() +
                    "; expected NVIDIA's NCCL: installed, or Python's package nvidia-nccl-cu13");
  }
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* name) {
    library->take(function, name, missing);
  };
  NcclCalls calls{};
  decltype(&ncclGetVersion) get_version = nullptr;
  find(get_version, "ncclGetVersion");
  find(calls.get_unique_id, "ncclGetUniqueId");
  find(calls.init_rank, "ncclCommInitRankConfig");
  find(calls.get_async_error, "ncclCommGetAsyncError");
  find(calls.destroy, "ncclCommDestroy");
  find(calls.abort, "ncclCommAbort");
  find(calls.group_start, "ncclGroupStart");
  find(calls.group_end, "ncclGroupEnd");
  find(calls.all_gather, "ncclAllGather");
  find(calls.reduce_scatter, "ncclReduceScatter");
  find(calls.all_reduce, "ncclAllReduce");
  find(calls.error_string, "ncclGetErrorString");
  find(calls.last_error, "ncclGetLastError");
  if (missing != nullptr || get_version(&calls.version) != ncclSuccess || calls.version < kOldest) {
    return fail("--comm", "nccl",
                library->path() + " is too old" +
                    (missing != nullptr ? std::string(" (it has no ") + missing + ")" : "") +
                    "; expected NCCL 2.19 or later");
  }
  return calls;
}

}  // namespace

void NcclCalls::check(ncclResult_t result, const char* call) const {
  if (result == ncclSuccess || result == ncclInProgress) return;
  std::string text = std::string(call) + ": " + error_string(result);
  if (const char* more = last_error(nullptr); more != nullptr && *more != '\0') {
    text += std::string(": ") + more;
  }
  throw std::runtime_error(text);
}

Result<const NcclCalls*> load_nccl() {
  static const Result<NcclCalls> calls = look_up();
  if (!calls) return tl::unexpected(calls.error());
  return &*calls;
}

}  // namespace foreshard::executor::cuda
