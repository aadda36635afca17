// Stands for CUDA 12's runtime in a process that only looks for its name.
extern "C" int cudaRuntimeOfATest() {
  return 12;
}
