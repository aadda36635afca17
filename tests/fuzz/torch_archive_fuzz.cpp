// Any bytes either are refused as a tensor of torch.save or are one, whose bytes are as many as its shape says.
#include <cstdlib>

#include "executor/data/torch_archive.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace foreshard::executor;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto tensor = read_archived_tensor(bytes, "fuzzed", "name");
  if (!tensor) {
    if (tensor.error().file != "fuzzed") std::abort();
    return 0;
  }
  std::int64_t elements = 1;
  for (const std::int64_t extent : tensor->shape) elements *= extent;
  if (std::ssize(tensor->data) != elements * item_size(tensor->type)) std::abort();
  const auto made = archive_of_tensor(tensor->type, tensor->shape, tensor->data);
  std::string archive = made.head;
  archive.append(reinterpret_cast<const char*>(tensor->data.data()), tensor->data.size());
  archive += made.tail;
  const auto again = read_archived_tensor(std::as_bytes(std::span(archive)), "written", "name");
  if (!again || again->shape != tensor->shape || again->type != tensor->type) std::abort();
  return 0;
}
