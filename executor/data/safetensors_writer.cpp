#include "executor/data/safetensors_writer.hpp"

#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

namespace foreshard::executor {

namespace {

std::int64_t bytes_of(const TensorDeclaration& tensor) {
  std::int64_t bytes = item_size(tensor.type);
  for (const auto extent : tensor.shape) bytes *= extent;
  return bytes;
}

}  // namespace

Result<SafetensorsWriter> SafetensorsWriter::create(
    const std::string& path, const std::vector<TensorDeclaration>& tensors,
    const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::int64_t end = 0;
  for (const auto& tensor : tensors) {
    const auto begin = end;
    end += bytes_of(tensor);
    header[tensor.name] = {{"dtype", std::string(name(tensor.type))},
                           {"shape", tensor.shape},
                           {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // the data start on a multiple of 8 bytes

  auto file = AtomicFile::create(path);
  if (!file) return tl::unexpected(file.error());
  file->pass_by_cache();
  std::byte length[8];
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<std::byte>(text.size() >> (8 * i));
  if (auto done = file->write(length); !done) return tl::unexpected(done.error());
  if (auto done = file->write(std::as_bytes(std::span(text))); !done) {
    return tl::unexpected(done.error());
  }
  return SafetensorsWriter(std::move(*file), end);
}

SafetensorsWriter::SafetensorsWriter(AtomicFile file, std::int64_t bytes)
    : file_(std::move(file)), remaining_(bytes) {}

Result<void> SafetensorsWriter::append(std::span<const std::byte> bytes) {
  remaining_ -= static_cast<std::int64_t>(bytes.size());
  if (remaining_ < 0) throw std::logic_error("more tensor data written than declared");
  return file_.write(bytes);
}

Result<void> SafetensorsWriter::finish() {
  if (remaining_ != 0) throw std::logic_error("less tensor data written than declared");
  return file_.commit();
}

}  // namespace foreshard::executor
