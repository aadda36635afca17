// The kernels of CUDA under test, through the device: operands lie in its memory, between guards,
// at multiples of 256 bytes or at the worst alignment that their elements may have.
#include <algorithm>

#include "executor/cuda/device/cuda_device.hpp"
#include "executor/cuda/kernels/check.hpp"
#include "executor/cuda/kernels/cudnn/fused_attention.hpp"
#include "models/sharding/cuda_device.hpp"
#include "tests/cuda/emulation/block.hpp"
#include "tests/executor/cpu/kernel_runner.hpp"

namespace foreshard::executor {
namespace {

constexpr std::byte kGuard{0xa5};
constexpr std::size_t kAligned = 256;

bool is_misaligned = false;

struct MisalignedOperands {
  MisalignedOperands() { is_misaligned = true; }
  ~MisalignedOperands() { is_misaligned = false; }
  MisalignedOperands(const MisalignedOperands&) = delete;
  MisalignedOperands& operator=(const MisalignedOperands&) = delete;
};

// A workspace is a buffer of its own: always aligned, and nobody cares what is in it.
bool is_workspace(const Tensor& t) {
  return t.bytes.size() == static_cast<std::size_t>(tested_device().matmul_workspace.count);
}

// Memory of the device as the host sees it before and after a launch.
class Image {
 public:
  // Where the tensor lies in it.
  std::size_t add(const Tensor& t) {
    const std::size_t past = is_misaligned ? static_cast<std::size_t>(item_size(t.type)) : 0;
    const std::size_t begin = next() + past;
    bytes_.resize(begin, kGuard);
    bytes_.insert(bytes_.end(), t.bytes.begin(), t.bytes.end());
    bytes_.resize(bytes_.size() + kAligned, kGuard);
    return begin;
  }
  // An aligned place behind all tensors.
  std::size_t next() const { return (bytes_.size() / kAligned + 1) * kAligned; }
  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class KernelDevice {
 public:
  std::vector<Tensor> run(const Launch& launch) {
    Image image;
    std::vector<std::size_t> in, out;
    for (const Tensor& t : launch.reads) in.push_back(image.add(t));
    for (const Tensor& t : launch.writes) {
      if (!is_workspace(t)) out.push_back(image.add(t));
    }
    std::vector<std::byte> expected = image.bytes();
    const auto workspace = static_cast<std::size_t>(tested_device().matmul_workspace.count);
    const std::span<std::byte> memory = reserve(image.next() + workspace);
    device_.copy(Stream::compute, 0, memory.first(expected.size()), expected.data());
    std::vector<std::span<const std::byte>> reads;
    std::vector<std::span<std::byte>> writes;
    for (std::size_t i = 0; i < in.size(); ++i) {
      reads.emplace_back(memory.subspan(in[i], launch.reads[i].bytes.size()));
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      writes.push_back(memory.subspan(out[i], launch.writes[i].bytes.size()));
    }
    if (out.size() < launch.writes.size()) writes.push_back(memory.last(workspace));
    device_.set_scalars(launch.scalars);
    device_.launch(Stream::compute, 1,
                   {launch.key, reads, writes, launch.aux, &launch.unit, launch.scalars});
    device_.copy(Stream::compute, 2, image.bytes(), memory.data());
    device_.synchronize();
    std::vector<Tensor> done = launch.writes;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto written = image.bytes().begin() + static_cast<std::ptrdiff_t>(out[i]);
      std::copy_n(written, done[i].bytes.size(), done[i].bytes.begin());
      std::copy_n(written, done[i].bytes.size(),
                  expected.begin() + static_cast<std::ptrdiff_t>(out[i]));
    }
    if (image.bytes() != expected) {
      throw std::logic_error(text(launch.key) + " wrote beside its operands");
    }
    return done;
  }

 private:
  // The memory of all launches, one after the other.
  std::span<std::byte> reserve(std::size_t bytes) {
    constexpr Address kAddress = 1 << 20;
    if (bytes > reserved_) {
      if (reserved_ > 0) {
        device_.backing().decommit(kAddress, static_cast<std::int64_t>(reserved_));
      }
      reserved_ = 2 * bytes;
      if (!device_.backing().commit(kAddress, static_cast<std::int64_t>(reserved_))) {
        throw std::runtime_error("the device has no memory for " + std::to_string(bytes));
      }
    }
    return {device_.pointer(kAddress), bytes};
  }

  RunControl run_{1};
  cuda::CudaDevice device_{run_, 0, 0, fsdp2_streams(), {.traits = tested_device()}};
  std::size_t reserved_ = 0;
};

}  // namespace

std::vector<Tensor> run(const Launch& launch, int threads) {
  static KernelDevice device;
  emulation::reverse_threads(threads != 1);
  return device.run(launch);
}

// Deterministic, as tests compare bits, and with as small a workspace as the CPU's, which they fill often.
DeviceTraits tested_device() {
  static const DeviceTraits here = [] {
    int major = 0, minor = 0, multiprocessors = 0;
    cuda::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), "major");
    cuda::check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0), "minor");
    cuda::check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0),
                "multiprocessors");
    return cuda_device(10 * major + minor, multiprocessors, cuda::has_fused_attention());
  }();
  DeviceTraits traits = here;
  traits.is_deterministic = true;
  traits.matmul_workspace = DeviceTraits{}.matmul_workspace;
  return traits;
}

bool products_may_round_before_bias() {
  return true;
}

std::vector<KernelVariant> kernel_variants() {
  return {{"aligned", [] { return std::shared_ptr<const void>(); }},
          {"misaligned", [] { return std::make_shared<const MisalignedOperands>(); }}};
}

}  // namespace foreshard::executor
