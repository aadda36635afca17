// The real libraries of CUDA that a program is linked to: they are loaded as always, and not called
// but for their versions, which they tell without a device. The null device has the same versions,
// so that one build of it serves programs for several; where none is loaded, those of the headers
// that it was built with.
#pragma once

namespace foreshard::rehearsal {

int cuda_version();    // as CUDA_VERSION, of runtime and driver
int cublas_version();  // as CUBLAS_VERSION
int cudnn_version();   // as CUDNN_VERSION
int nccl_version();    // as NCCL_VERSION_CODE

}  // namespace foreshard::rehearsal
