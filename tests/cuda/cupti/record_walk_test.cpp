// Buffers of any records: stepped over by NVIDIA's own library, which needs no GPU for that, each
// is found where decoding takes it to be. And of bytes that are no records nothing is read beyond
// their end.
#include <cstring>
#include <utility>
#include <vector>

#include <cupti.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/mman.h>

#include "profiler/record/cupti/decode.hpp"

namespace foreshard::profiler {
namespace {

struct Kind {
  CUpti_ActivityKind number;
  std::size_t bytes;  // of CUDA 13's records
  ActivityKind decoded;
  std::size_t read = bytes;  // of CUDA 12's, with which they begin
};
constexpr Kind kKinds[] = {
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, sizeof(CUpti_ActivityKernel10), ActivityKind::kernel,
     sizeof(CUpti_ActivityKernel9)},
    {CUPTI_ACTIVITY_KIND_MEMCPY, sizeof(CUpti_ActivityMemcpy6), ActivityKind::copy,
     sizeof(CUpti_ActivityMemcpy5)},
    {CUPTI_ACTIVITY_KIND_MEMCPY2, sizeof(CUpti_ActivityMemcpyPtoP4), ActivityKind::copy},
    {CUPTI_ACTIVITY_KIND_MEMSET, sizeof(CUpti_ActivityMemset4), ActivityKind::fill},
    {CUPTI_ACTIVITY_KIND_RUNTIME, sizeof(CUpti_ActivityAPI), ActivityKind::runtime_call},
    {CUPTI_ACTIVITY_KIND_DRIVER, sizeof(CUpti_ActivityAPI), ActivityKind::driver_call},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, sizeof(CUpti_ActivitySynchronization2),
     ActivityKind::synchronization, sizeof(CUpti_ActivitySynchronization)},
    {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, sizeof(CUpti_ActivityExternalCorrelation),
     ActivityKind::external_id},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, sizeof(CUpti_ActivityOverhead3), ActivityKind::overhead,
     sizeof(CUpti_ActivityOverhead)},
    {CUPTI_ACTIVITY_KIND_MEMORY2, sizeof(CUpti_ActivityMemory4), ActivityKind::allocation,
     sizeof(CUpti_ActivityMemory3)},
    {CUPTI_ACTIVITY_KIND_MEMORY_POOL, sizeof(CUpti_ActivityMemoryPool3), ActivityKind::memory_pool,
     sizeof(CUpti_ActivityMemoryPool2)},
    {CUPTI_ACTIVITY_KIND_MARKER, sizeof(CUpti_ActivityMarker2), ActivityKind::marker}};
// Stepped over, as others in the process may have asked for them.
constexpr Kind kUnknown = {CUPTI_ACTIVITY_KIND_STREAM, sizeof(CUpti_ActivityStream),
                           ActivityKind::kCount};

// Bytes of any value, but for the kind at their beginning.
std::vector<std::uint8_t> bytes_of(const Kind& kind) {
  auto bytes = *rc::gen::container<std::vector<std::uint8_t>>(kind.bytes,
                                                              rc::gen::arbitrary<std::uint8_t>());
  std::memcpy(bytes.data(), &kind.number, sizeof kind.number);
  return bytes;
}

rc::Gen<Kind> any_kind() {
  return rc::gen::map(rc::gen::inRange<std::size_t>(0, std::size(kKinds) + 1),
                      [](std::size_t n) { return n < std::size(kKinds) ? kKinds[n] : kUnknown; });
}

// Memory whose last byte is the last that may be read.
class Guarded {
 public:
  explicit Guarded(const std::vector<std::uint8_t>& bytes) : size_(bytes.size()) {
    memory_ = static_cast<std::uint8_t*>(
        ::mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (memory_ == MAP_FAILED || ::mprotect(memory_ + kPage, kPage, PROT_NONE) != 0) std::abort();
    std::memcpy(memory_ + kPage - size_, bytes.data(), size_);
  }
  ~Guarded() { ::munmap(memory_, 2 * kPage); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  std::span<const std::byte> bytes() const {
    return std::as_bytes(std::span(memory_ + kPage - size_, size_));
  }

 private:
  static constexpr std::size_t kPage = 4096;
  std::uint8_t* memory_;
  std::size_t size_;
};

using Next = decltype(&cuptiActivityGetNextRecord);

// Of NVIDIA's library, beside that of the host which this program is linked to.
template <class Function>
Function nvidias(const char* name) {
  void* const library = ::dlopen(FORESHARD_CUPTI_LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  return reinterpret_cast<Function>(library == nullptr ? nullptr : ::dlsym(library, name));
}

TEST(RecordWalk, FindsEveryRecordOfABuffer) {
  const auto next = nvidias<Next>("cuptiActivityGetNextRecord");
  if (next == nullptr) GTEST_SKIP() << "needs CUPTI's library to load: " << ::dlerror();
  EXPECT_TRUE(rc::check([&] {
    const auto kinds = *rc::gen::container<std::vector<Kind>>(any_kind());
    std::vector<std::uint8_t> buffer;
    for (const Kind& kind : kinds) {
      const auto record = bytes_of(kind);
      buffer.insert(buffer.end(), record.begin(), record.end());
    }
    std::size_t n = 0, at = 0;
    CUpti_Activity* record = nullptr;
    while (next(buffer.data(), buffer.size(), &record) == CUPTI_SUCCESS) {
      RC_ASSERT(n < kinds.size());
      const auto* const found = reinterpret_cast<const std::uint8_t*>(record);
      RC_ASSERT(static_cast<std::size_t>(found - buffer.data()) == at);
      const auto activity = decode(std::as_bytes(std::span(buffer).subspan(at)));
      RC_ASSERT(activity.has_value() == (kinds[n].decoded != ActivityKind::kCount));
      if (activity) RC_ASSERT(activity->kind == kinds[n].decoded);
      at += kinds[n++].bytes;
    }
    RC_ASSERT(n == kinds.size());
  }));
}

// The host's CUPTI calls the runtime's calls as NVIDIA's does, and both serve NVTX.
TEST(HostCupti, IsAsNvidias) {
  const auto name_of = nvidias<decltype(&cuptiGetCallbackName)>("cuptiGetCallbackName");
  if (name_of == nullptr) GTEST_SKIP() << "needs CUPTI's library to load: " << ::dlerror();
  int known = 0;
  for (std::uint32_t number = 1; number < CUPTI_RUNTIME_TRACE_CBID_SIZE; ++number) {
    const char *here = nullptr, *there = nullptr;
    cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, number, &here);
    if (here == nullptr) continue;
    ++known;
    name_of(CUPTI_CB_DOMAIN_RUNTIME_API, number, &there);
    EXPECT_STREQ(here, there);
  }
  EXPECT_GT(known, 0);
  EXPECT_NE(nvidias<void*>("InitializeInjectionNvtx2"), nullptr);
}

RC_GTEST_PROP(Decode, ReadsNothingBeyondABuffersEnd, ()) {
  const Kind kind = *any_kind();
  auto bytes = bytes_of(kind);
  bytes.resize(*rc::gen::inRange<std::size_t>(0, bytes.size() + 1));
  const Guarded guarded(bytes);
  const auto activity = decode(guarded.bytes());
  const bool is_whole = bytes.size() >= kind.read && kind.decoded != ActivityKind::kCount;
  RC_ASSERT(activity.has_value() == is_whole);
}

RC_GTEST_PROP(Decode, GivesNoNegativeTimesAndSizes, ()) {
  const Kind kind = kKinds[*rc::gen::inRange<std::size_t>(0, std::size(kKinds))];
  const auto bytes = bytes_of(kind);
  const auto activity = decode(std::as_bytes(std::span(bytes)));
  RC_ASSERT(activity.has_value());
  RC_ASSERT(activity->start_ns >= 0 && activity->end_ns >= 0 && activity->bytes >= 0);
}

}  // namespace
}  // namespace foreshard::profiler
