// Where libraries of NVIDIA lie besides the folders that the dynamic linker knows: in a CUDA toolkit, and
// in the packages of Python that PyTorch brings (site-packages/nvidia/*/lib: CUDA 13's libraries in cu13,
// others in cudnn, nccl and so on).
#pragma once

#include <string>
#include <vector>

namespace foreshard {

// A place where libraries are installed, and those of its folders that there are.
struct LibraryPlace {
  std::string name;  // for messages
  std::vector<std::string> folders;
};

// The folders that the user names in FORESHARD_LIBRARY_PATH, with colons between.
LibraryPlace named_library_folders();

// Those that there are, by the environment: first toolkits (CUDA_HOME, CUDA_PATH, /usr/local/cuda, and
// CONDA_PREFIX, in which conda puts them), then Python's packages, of VIRTUAL_ENV, CONDA_PREFIX,
// PYTHONPATH, every python3 on PATH, and the user's own (PYTHONUSERBASE).
std::vector<LibraryPlace> installed_library_folders();

}  // namespace foreshard
