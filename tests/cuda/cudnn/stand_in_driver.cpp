// The calls of CUDA's driver that cuDNN makes for a plan without a GPU: kernels that it has compiled are loaded, and
// asked what they take. All others are generated, and fail (stand_in_driver.cmake).
using Result = int;  // CUresult; 0 is success

namespace {

int something = 0;

Result give(void** handle) {
  *handle = &something;
  return 0;
}

}  // namespace

extern "C" {

Result cuLibraryLoadData(void** library) {
  return give(library);
}
Result cuLibraryGetKernel(void** kernel) {
  return give(kernel);
}
Result cuKernelGetFunction(void** function) {
  return give(function);
}
Result cuModuleLoadData(void** module) {
  return give(module);
}
Result cuModuleLoadDataEx(void** module) {
  return give(module);
}
Result cuModuleGetFunction(void** function) {
  return give(function);
}
Result cuFuncGetAttribute(int* value) {
  *value = 64;
  return 0;
}
Result cuKernelGetAttribute(int* value) {
  *value = 64;
  return 0;
}
Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks) {
  *blocks = 1;
  return 0;
}
Result cuGetErrorString(Result /*error*/, const char** text) {
  *text = "an error of a driver that does nothing";
  return 0;
}
Result cuGetErrorName(Result error, const char** text) {
  return cuGetErrorString(error, text);
}

}  // extern "C"
