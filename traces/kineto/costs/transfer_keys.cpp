#include "traces/kineto/costs/transfer_keys.hpp"

#include <algorithm>

#include "traces/kineto/costs/arguments.hpp"

namespace foreshard::traces::kineto {
namespace {

CostKey key(Operator op, DType type, CostDims dims) {
  return {op, type, type, type, dims};
}

Operator collective_named(std::string_view word) {
  const auto has = [&](std::string_view part) { return word.find(part) != std::string_view::npos; };
  if (has("allgather") || has("all_gather")) return Operator::all_gather;
  if (has("reduce_scatter")) return Operator::reduce_scatter;
  if (has("allreduce") || has("all_reduce")) return Operator::all_reduce;
  if (has("alltoall") || has("all_to_all")) return Operator::all_to_all;
  if (has("broadcast")) return Operator::broadcast;
  return Operator::kCount;
}

}  // namespace

std::optional<CostKey> copy_key(std::string_view name, std::int64_t bytes) {
  if (bytes <= 0 || bytes > kLargest) return std::nullopt;
  if (name.starts_with("Memcpy HtoD"))
    return key(Operator::copy_host_to_device, DType::fp32, {bytes});
  if (name.starts_with("Memcpy DtoH"))
    return key(Operator::copy_device_to_host, DType::fp32, {bytes});
  if (name.starts_with("Memcpy DtoD"))
    return key(Operator::copy_device_to_device, DType::fp32, {bytes});
  if (name.starts_with("Memset")) return key(Operator::fill_zero, DType::fp32, {bytes});
  return std::nullopt;
}

std::int64_t collective_bytes(const RawEvent& event) {
  const std::int64_t elements = std::max(event.in_elements, event.out_elements);
  const std::int64_t size = element_type(event.element_type).size;
  return elements > 0 && elements <= kLargest ? elements * size : 0;
}

std::optional<CostKey> collective_key(const RawEvent& event) {
  const Operator op = collective_named(event.collective);
  const auto type = element_type(event.element_type).type;
  const std::int64_t bytes = collective_bytes(event);
  if (op == Operator::kCount || !type || bytes == 0 || event.group_size <= 0 ||
      event.group_size > kLargest) {
    return std::nullopt;
  }
  return key(op, *type, {bytes, event.group_size});
}

}  // namespace foreshard::traces::kineto
