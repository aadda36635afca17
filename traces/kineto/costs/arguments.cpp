#include "traces/kineto/costs/arguments.hpp"

#include <algorithm>
#include <charconv>

#include "traces/kineto/json/json_text.hpp"

namespace foreshard::traces::kineto {
namespace {

struct TypeName {
  std::string_view text;
  ElementType type;
};

constexpr std::array kTypes{TypeName{"float", {4, DType::fp32, true}},
                            TypeName{"c10::BFloat16", {2, DType::bf16, true}},
                            TypeName{"c10::Half", {2, DType::fp16, true}},
                            TypeName{"long int", {8, std::nullopt, false}},
                            TypeName{"long", {8, std::nullopt, false}},
                            TypeName{"int", {4, DType::int32, false}},
                            TypeName{"bool", {1, std::nullopt, false}},
                            TypeName{"double", {8, DType::fp64, true}},
                            TypeName{"unsigned char", {1, std::nullopt, false}},
                            TypeName{"signed char", {1, std::nullopt, false}},
                            TypeName{"short", {2, std::nullopt, false}},
                            TypeName{"Float", {4, DType::fp32, true}},
                            TypeName{"BFloat16", {2, DType::bf16, true}},
                            TypeName{"Half", {2, DType::fp16, true}},
                            TypeName{"Long", {8, std::nullopt, false}},
                            TypeName{"Int", {4, DType::int32, false}},
                            TypeName{"Bool", {1, std::nullopt, false}},
                            TypeName{"Double", {8, DType::fp64, true}},
                            TypeName{"Byte", {1, std::nullopt, false}},
                            TypeName{"Char", {1, std::nullopt, false}},
                            TypeName{"Short", {2, std::nullopt, false}}};

std::string_view unquoted(std::string_view item) {
  return item.size() >= 2 && item.front() == '"' ? item.substr(1, item.size() - 2)
                                                 : std::string_view();
}

// The n-th element of a JSON array, empty where it has fewer.
std::string_view element(std::string_view array, int n) {
  std::size_t at = 1;
  for (;; --n) {
    at = skip_space(array, at);
    const std::size_t end = value_end(array, at);
    if (end == kNotThere || end == at) return {};
    if (n == 0) return array.substr(at, end - at);
    at = skip_space(array, end);
    if (at >= array.size() || array[at] != ',') return {};
    ++at;
  }
}

}  // namespace

ElementType element_type(std::string_view word) {
  const auto found = std::find_if(kTypes.begin(), kTypes.end(),
                                  [&](const TypeName& known) { return known.text == word; });
  if (found != kTypes.end()) return found->type;
  if (word.starts_with("c10::")) word.remove_prefix(5);
  if (word.starts_with("Float8_e4m3") || word.starts_with("Float8_e5m2")) {
    return {1, DType::fp8, true};
  }
  return {};
}

ElementType element_type_numbered(std::string_view number) {
  constexpr std::array<std::string_view, 16> kByNumber{
      "Byte", "Char", "Short", "Int",  "Long", "Half", "Float", "Double",
      "",     "",     "",      "Bool", "",     "",     "",      "BFloat16"};
  std::size_t n = kByNumber.size();
  const auto parsed = std::from_chars(number.data(), number.data() + number.size(), n);
  return parsed.ec == std::errc() && n < kByNumber.size() ? element_type(kByNumber[n])
                                                          : ElementType();
}

bool Dims::add(std::int64_t value) {
  if (rank_ == kMax) return false;
  values_[rank_++] = value;
  return true;
}

std::optional<std::int64_t> product(const Dims& dims) {
  std::int64_t out = 1;
  for (const std::int64_t dim : dims.all()) {
    if (dim <= 0 || __builtin_mul_overflow(out, dim, &out) || out > kLargest / 8) return {};
  }
  return dims.rank() > 0 ? std::optional(out) : std::nullopt;
}

std::optional<Dims> integers(std::string_view list) {
  if (!list.starts_with('[')) return std::nullopt;
  Dims out;
  std::size_t at = skip_space(list, 1);
  while (at < list.size() && list[at] != ']') {
    std::int64_t value = 0;
    const auto parsed = std::from_chars(list.data() + at, list.data() + list.size(), value);
    if (parsed.ec != std::errc() || !out.add(value)) return std::nullopt;
    at = skip_space(list, static_cast<std::size_t>(parsed.ptr - list.data()));
    if (at < list.size() && list[at] == ',') at = skip_space(list, at + 1);
  }
  return at < list.size() ? std::optional(out) : std::nullopt;
}

std::optional<Tensor> Arguments::tensor(int n) const {
  const auto dims = integers(element(event_.input_dims, n));
  const auto count = dims ? product(*dims) : std::nullopt;
  const ElementType type = element_type(unquoted(element(event_.input_types, n)));
  return count && type.size > 0 ? std::optional(Tensor{*dims, type, *count}) : std::nullopt;
}

std::optional<std::int64_t> Arguments::elements(int n) const {
  const auto dims = integers(element(event_.input_dims, n));
  return dims ? product(*dims) : std::nullopt;
}

std::optional<std::int64_t> Arguments::elements_of_only(int n) const {
  const std::string_view list = element(event_.input_dims, n);
  if (!list.starts_with("[[") || !element(list, 1).empty()) return std::nullopt;
  const auto dims = integers(element(list, 0));
  return dims ? product(*dims) : std::nullopt;
}

bool Arguments::is_scalar(int n) const {
  const auto dims = integers(element(event_.input_dims, n));
  return dims && dims->rank() == 0 && unquoted(element(event_.input_types, n)) != "TensorList";
}

std::string_view Arguments::value(int n) const {
  return unquoted(element(event_.concrete_inputs, n));
}

std::optional<std::int64_t> Arguments::integer(int n) const {
  const std::string_view text = value(n);
  std::int64_t out = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), out);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() ? std::optional(out)
                                                                             : std::nullopt;
}

bool Arguments::is_transposed(int n, const Dims& dims) const {
  const auto strides = integers(element(event_.input_strides, n));
  return strides && strides->rank() == 2 && (*strides)[0] == 1 && (*strides)[1] == dims[0] &&
         dims[0] > 1;
}

}  // namespace foreshard::traces::kineto
