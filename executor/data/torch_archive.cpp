#include "executor/data/torch_archive.hpp"

#include <utility>

#include "executor/data/stored_zip.hpp"
#include "executor/data/torch_pickle.hpp"
#include "traces/snapshot/pickle/pickle.hpp"

namespace foreshard::executor {
namespace {

using traces::PickleId;
using traces::PickleObjects;
using traces::PickleType;
using traces::PickleValues;

struct TorchType {
  StoredType type;
  std::string_view name, storage;
};
constexpr TorchType kTypes[] = {
    {StoredType::f32, "float32", "FloatStorage"}, {StoredType::bf16, "bfloat16", "BFloat16Storage"},
    {StoredType::f16, "float16", "HalfStorage"},  {StoredType::f64, "float64", "DoubleStorage"},
    {StoredType::i64, "int64", "LongStorage"},    {StoredType::i32, "int32", "IntStorage"},
    {StoredType::i16, "int16", "ShortStorage"},   {StoredType::i8, "int8", "CharStorage"},
    {StoredType::u8, "uint8", "ByteStorage"},     {StoredType::boolean, "bool", "BoolStorage"},
};

constexpr std::string_view kFolder = "archive/";

std::string in_archive(std::string_view name) {
  return std::string(kFolder) + std::string(name);
}

std::vector<std::int64_t> dense_strides(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) {
    // Of a shape that no storage can have it may overflow.
    (void)__builtin_mul_overflow(strides[d], shape[d], &strides[d - 1]);
  }
  return strides;
}

std::string pickle_of_tensor(StoredType type, std::span<const std::int64_t> shape,
                             std::int64_t elements) {
  std::string_view storage;
  for (const TorchType& known : kTypes) {
    if (known.type == type) storage = known.storage;
  }
  TorchPickle pickle;
  pickle.global("torch._utils", "_rebuild_tensor_v2");
  pickle.mark();
  pickle.mark();
  pickle.text("storage"), pickle.global("torch", storage), pickle.text("0"), pickle.text("cpu");
  pickle.integer(elements);
  pickle.tuple();
  pickle.refer();
  pickle.integer(0);
  pickle.sizes(shape);
  pickle.sizes(dense_strides(shape));
  pickle.boolean(false);
  pickle.global("collections", "OrderedDict"), pickle.empty_tuple(), pickle.call();
  pickle.tuple();
  pickle.call();
  return pickle.finish();
}

// The files behind the data.
std::string end_of(StoredZipWriter& zip) {
  const std::string version = zip.file(in_archive("version"), "3\n");
  return version + zip.finish();
}

// The tensor that a pickle describes, and the name of its storage.
struct Description {
  StoredType type = StoredType::f32;
  std::string storage;
  std::int64_t first = 0;
  std::vector<std::int64_t> shape, strides;
};

class DescriptionReader {
 public:
  explicit DescriptionReader(const PickleValues& values) : values_(values) {}

  std::optional<Description> read(PickleId root) const {
    const auto call = entries(root, PickleType::object);
    if (call.size() < 2 || !is_global(call[0], "torch._utils _rebuild_tensor_v2")) return {};
    const auto arguments = entries(call[1], PickleType::tuple);
    if (arguments.size() < 4) return {};
    const auto reference = entries(arguments[0], PickleType::object);
    if (reference.size() != 1) return {};
    const auto storage = entries(reference[0], PickleType::tuple);
    if (storage.size() < 3 || !values_.is(storage[2], PickleType::text)) return {};
    Description found;
    const auto* type = type_of(storage[1]);
    const auto shape = sizes(arguments[2]), strides = sizes(arguments[3]);
    if (type == nullptr || !shape || !strides || shape->size() != strides->size()) return {};
    if (!values_.is(arguments[1], PickleType::integer)) return {};
    found.type = type->type;
    found.storage = values_.text(storage[2]);
    found.first = values_.integer(arguments[1]);
    found.shape = *shape;
    found.strides = *strides;
    return found;
  }

 private:
  std::vector<PickleId> entries(PickleId id, PickleType type) const {
    std::vector<PickleId> found;
    if (!values_.is(id, type) || values_.count(id) > 64) return found;
    for (const auto& entry : values_.entries(id)) found.push_back(entry.value);
    return found;
  }

  bool is_global(PickleId id, std::string_view name) const {
    return values_.is(id, PickleType::global) && values_.text(id) == name;
  }

  const TorchType* type_of(PickleId id) const {
    for (const TorchType& type : kTypes) {
      if (is_global(id, "torch " + std::string(type.storage))) return &type;
    }
    return nullptr;
  }

  std::optional<std::vector<std::int64_t>> sizes(PickleId id) const {
    constexpr std::int64_t kLargest = std::int64_t{1} << 48;
    if (!values_.is(id, PickleType::tuple)) return std::nullopt;
    std::vector<std::int64_t> found;
    for (const PickleId value : entries(id, PickleType::tuple)) {
      if (!values_.is(value, PickleType::integer)) return std::nullopt;
      const std::int64_t size = values_.integer(value);
      if (size < 0 || size > kLargest) return std::nullopt;
      found.push_back(size);
    }
    return found;
  }

  const PickleValues& values_;
};

// In an order that is that of memory; dimensions of one element have no stride of account.
bool is_dense(const Description& tensor) {
  const auto dense = dense_strides(tensor.shape);
  for (std::size_t d = 0; d < dense.size(); ++d) {
    if (tensor.shape[d] > 1 && tensor.strides[d] != dense[d]) return false;
  }
  return true;
}

}  // namespace

std::optional<std::string_view> torch_name(StoredType type) {
  for (const TorchType& known : kTypes) {
    if (known.type == type) return known.name;
  }
  return std::nullopt;
}

std::optional<StoredType> torch_type_named(std::string_view name) {
  for (const TorchType& known : kTypes) {
    if (known.name == name) return known.type;
  }
  return std::nullopt;
}

TensorArchive archive_of_tensor(StoredType type, std::span<const std::int64_t> shape,
                                std::span<const std::byte> data) {
  const auto elements = static_cast<std::int64_t>(data.size()) / item_size(type);
  StoredZipWriter zip;
  TensorArchive archive;
  archive.head = zip.file(in_archive("data.pkl"), pickle_of_tensor(type, shape, elements));
  archive.head += zip.file(in_archive("byteorder"), "little");
  archive.head += zip.begin_file(in_archive("data/0"), data);
  archive.tail = end_of(zip);
  return archive;
}

std::string archive_of_value(std::string_view pickle) {
  StoredZipWriter zip;
  std::string archive = zip.file(in_archive("data.pkl"), pickle);
  archive += zip.file(in_archive("byteorder"), "little");
  return archive + end_of(zip);
}

Result<ArchivedTensor> read_archived_tensor(std::span<const std::byte> archive,
                                            const std::string& file, const std::string& name) {
  const auto files = read_stored_zip(archive, file, name);
  if (!files) return tl::unexpected(files.error());
  if (files->empty()) return fail(file, name, "is an empty archive; expected a tensor");
  // The folder is called by the file's name, or "archive".
  const std::string& first = files->begin()->first;
  const std::string folder = first.substr(0, first.find('/') + 1);
  const auto text_of = [&](const std::string& of) -> std::optional<std::string_view> {
    const auto found = files->find(folder + of);
    if (found == files->end()) return std::nullopt;
    return std::string_view(reinterpret_cast<const char*>(found->second.data()),
                            found->second.size());
  };
  const auto pickled = text_of("data.pkl");
  if (!pickled) return fail(file, name, "has no data.pkl; expected a tensor of torch.save");
  if (text_of("byteorder").value_or("little") != "little") {
    return fail(file, name, "is not little-endian; expected a tensor of such a machine");
  }
  const auto pickle = traces::read_pickle(*pickled, file, {}, PickleObjects::named);
  const auto tensor = pickle && !pickle->damage
                          ? DescriptionReader(pickle->values).read(pickle->root)
                          : std::nullopt;
  if (!tensor) return fail(file, name, "is no tensor of a known type; expected one of torch.save");
  const auto storage = files->find(folder + "data/" + tensor->storage);
  if (storage == files->end()) return fail(file, name, "lacks its storage; expected its values");
  if (!is_dense(*tensor)) {
    return fail(file, name,
                "is not dense, with strides " + shape_text(tensor->strides) +
                    "; expected a contiguous tensor");
  }
  const std::span<const std::byte> data = storage->second;
  const auto item = static_cast<std::uint64_t>(item_size(tensor->type));
  std::uint64_t elements = 1;
  for (const std::int64_t size : tensor->shape) {
    if (__builtin_mul_overflow(elements, static_cast<std::uint64_t>(size), &elements)) {
      return fail(file, name, "has an impossible shape, " + shape_text(tensor->shape));
    }
  }
  const std::uint64_t there = data.size() / item, begin = static_cast<std::uint64_t>(tensor->first);
  if (tensor->first < 0 || begin > there || elements > there - begin) {
    return fail(file, name,
                "has a storage of " + std::to_string(there) + " elements; expected " +
                    shape_text(tensor->shape) + " of them behind " + std::to_string(begin));
  }
  return ArchivedTensor{tensor->type, tensor->shape, data.subspan(begin * item, elements * item)};
}

}  // namespace foreshard::executor
