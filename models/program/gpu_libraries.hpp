// What a run on GPUs was computed with: NVIDIA's libraries as they were loaded, and their versions.
//
// `foreshard train` says it, and recordings carry it (metadata gpu_libraries).
#pragma once

#include <optional>
#include <string>

namespace foreshard {

struct GpuLibraries {
  std::string driver;       // "580.95.05", or "unknown (why)"
  std::string driver_cuda;  // the latest CUDA that the driver serves: "13.0"
  std::string runtime;      // of CUDA: "13.0"
  std::string cublaslt;     // "13.1.0"
  std::string attention;    // "cuDNN 9.19.0", or "plain (why not cuDNN)"
  // Nothing where the run did not use them.
  std::optional<std::string> nccl, cupti;
};

// "CUDA 13.0, driver 580.95.05 (CUDA 13.0), cuBLASLt 13.1.0, attention: cuDNN 9.19.0, NCCL 2.28.9".
std::string sentence(const GpuLibraries& libraries);

// The JSON object of `gpu_libraries` in answers, and of the metadata.
std::string to_json(const GpuLibraries& libraries);
// Nothing where the text is not such an object.
std::optional<GpuLibraries> gpu_libraries_from_json(const std::string& text);

}  // namespace foreshard
