// PyTorch itself on the null device: its own allocator and libraries, on a machine without a GPU.
// It needs a Python with PyTorch for CUDA 13, named by FORESHARD_TORCH_PYTHON.
#include <cstdio>
#include <cstdlib>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

namespace foreshard::tests {
namespace {

// A step of training, of which allocations and counts are known: 100 rows of 1000 numbers through a
// layer without bias. It prints peaks and counts.
constexpr const char* kScript = R"(
import ctypes, json, torch
device = ctypes.CDLL('libcuda.so.1')
device.foreshard_rehearsal_counts.restype = ctypes.c_char_p
layer = torch.nn.Linear(1000, 1000, bias=False, device='cuda')
x = torch.ones(100, 1000, device='cuda')
device.foreshard_rehearsal_counts()
layer(x).sum().backward()
counts = json.loads(device.foreshard_rehearsal_counts())
four = torch.tensor([1, 2, 3, 4]).cuda().tolist()
try: torch.empty(1 << 34, dtype=torch.uint8, device='cuda'); fits = True
except torch.OutOfMemoryError: fits = False
version = ctypes.c_int(); device.cudaRuntimeGetVersion(ctypes.byref(version))
major, minor = map(int, torch.version.cuda.split('.'))
print(json.dumps(dict(runtime=version.value - major * 1000 - minor * 10, counts=counts, four=four, fits=fits, peak=torch.cuda.max_memory_allocated(),
                      reserved=torch.cuda.memory_reserved(), devices=torch.cuda.device_count())))
)";

// What a line of the shell prints; its exit status must be 0.
std::string output_of(const std::string& command) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("popen: " + command);
  std::string out;
  for (char part[1000]; std::fgets(part, sizeof part, pipe) != nullptr;) out += part;
  EXPECT_EQ(WEXITSTATUS(::pclose(pipe)), 0) << command << "\n" << out;
  return out;
}

class TorchOnTheNullDevice : public testing::Test {
 protected:
  void SetUp() override {
    const char* named = std::getenv("FORESHARD_TORCH_PYTHON");
    if (named == nullptr) GTEST_SKIP() << "needs FORESHARD_TORCH_PYTHON, a Python with PyTorch";
    python_ = "'" + std::string(named) + "'";
  }

  std::string python_;
};

TEST_F(TorchOnTheNullDevice, TrainsWithoutAGpu) {
  const std::string library = FORESHARD_REHEARSAL_LIBRARY;
  const std::string names = library.substr(0, library.rfind('/')) + "/rehearsal";
  const nlohmann::json said = nlohmann::json::parse(output_of(
      "FORESHARD_REHEARSAL_DEVICES=2 FORESHARD_REHEARSAL_MEMORY=17179869183 LD_PRELOAD='" +
      library + "' LD_LIBRARY_PATH='" + names + "' " + python_ + " -c \"" + kScript + "\""));
  EXPECT_EQ(said.at("runtime"), 0);  // the CUDA that this PyTorch was built for, whatever ours
  EXPECT_EQ(said.at("devices"), 2);
  EXPECT_EQ(said.at("four"), (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(said.at("fits"), false);
  // The output's product and the weight's gradient.
  EXPECT_EQ(said.at("counts").at("matrix_products"), 2);
  EXPECT_EQ(said.at("counts").at("host_reads"), 0);
  EXPECT_GT(said.at("counts").at("launches"), 0);
  EXPECT_EQ(said.at("reserved").get<long>() % (2 << 20), 0);
  EXPECT_GT(said.at("peak"), 2 * 4'000'000);
}

TEST_F(TorchOnTheNullDevice, FindsEveryEntryPointThere) {
  void* const library = ::dlopen(FORESHARD_REHEARSAL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << ::dlerror();
  std::string folder = output_of(python_ +
                                 " -c \"import importlib.util as i; "
                                 "print(i.find_spec('torch').submodule_search_locations[0])\"");
  folder.pop_back();  // the end of the line
  int entry_points = 0;
  for (const char* name :
       {"torch_cuda", "c10_cuda", "torch_python", "torch_cpu", "torch_cuda_linalg"}) {
    std::istringstream symbols(
        output_of("nm -D -P --undefined-only '" + folder + "/lib/lib" + name + ".so'"));
    for (std::string line; std::getline(symbols, line);) {
      const std::string symbol = line.substr(0, line.find_first_of(" @"));
      static const std::regex kOfCuda(
          "(__)?cu(da|blas|dnn|fft|pti|rand|solver|sparse|File)\\w+|nccl[A-Z]\\w+");
      if (!std::regex_match(symbol, kOfCuda)) continue;
      ++entry_points;
      EXPECT_NE(::dlsym(library, symbol.c_str()), nullptr) << name << " wants " << symbol;
    }
  }
  EXPECT_GT(entry_points, 500);
}

}  // namespace
}  // namespace foreshard::tests
