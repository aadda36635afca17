// Copies between a unit's parameters and the flat buffers of its collectives.
//
// A gathered buffer holds one slice for each rank, and a slice holds the padded shards of the unit's
// parameters one after the other. Rank by rank the shards of a parameter that is cut on rows make
// the whole, with its padding; blocks of columns are transposed into rows by an operator of its own.
#include <cstring>

#include "executor/cpu/operands.hpp"

namespace foreshard::executor {
namespace {

void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}
void clear_bytes(std::byte* to, std::int64_t bytes) {
  if (bytes > 0) std::memset(to, 0, static_cast<std::size_t>(bytes));
}

std::int64_t bytes_in(std::span<const std::byte> bytes) {
  return static_cast<std::int64_t>(bytes.size());
}

}  // namespace

void run_shard_cast(const KernelArguments& a) {
  const auto kernel = simd_kernels().cast[variant(a.key.dtype2)][variant(a.key.dtype)];
  const std::int64_t from_item = item_size(a.key.dtype2), to_item = item_size(a.key.dtype);
  const bool is_flat = a.writes.size() == 1;
  std::byte* to = output(a, 0);
  for (std::size_t i = 0; i < a.reads.size(); ++i) {
    const std::byte* const shard = input(a, i);
    const std::int64_t n = bytes_in(a.reads[i]) / from_item;
    if (!is_flat) to = output(a, i);
    a.workers.run_ranges(n, kGrain, [&](std::int64_t begin, std::int64_t end, int) {
      kernel(shard + begin * from_item, to + begin * to_item, end - begin);
    });
    to += n * to_item;
  }
}

void run_all_gather_copy_in(const KernelArguments& a) {
  std::byte* to = output(a, 0) + a.aux * a.key.dims[0] * item_size(a.key.dtype);
  for (const std::span<const std::byte> part : a.reads) {
    copy_bytes(to, part.data(), bytes_in(part));
    to += bytes_in(part);
  }
}

void run_all_gather_copy_out(const KernelArguments& a) {
  const std::int64_t item = item_size(a.key.dtype), ranks = a.key.dims[1];
  const std::int64_t slice_bytes = a.key.dims[0] * item;
  std::int64_t offset = 0;  // of the parameter in each slice, in bytes
  for (const std::span<std::byte> whole : a.writes) {
    const std::int64_t part = bytes_in(whole) / ranks;
    const std::byte* const gathered = input(a, 0) + offset;
    offset += part;
    a.workers.run(ranks, [&](std::int64_t rank, int) {
      copy_bytes(whole.data() + rank * part, gathered + rank * slice_bytes, part);
    });
  }
}

void run_transpose(const KernelArguments& a) {
  const std::int64_t A = a.key.dims[0], B = a.key.dims[1];
  const std::int64_t row = a.key.dims[2] * item_size(a.key.dtype);
  a.workers.run_ranges(A * B, rows_per_grain(a.key.dims[2]),
                       [&](std::int64_t begin, std::int64_t end, int) {
                         for (std::int64_t to = begin; to < end; ++to) {
                           const std::int64_t from = to % A * B + to / A;
                           copy_bytes(output(a, 0) + to * row, input(a, 0) + from * row, row);
                         }
                       });
}

void run_copy_slice(const KernelArguments& a) {
  const std::int64_t bytes = a.key.dims[0] * item_size(a.key.dtype);
  copy_bytes(output(a, 0), input(a, 0) + a.aux * bytes, bytes);
}

void run_reduce_scatter_copy_in(const KernelArguments& a) {
  const auto cast = simd_kernels().cast[variant(a.key.dtype2)][variant(a.key.dtype)];
  const std::int64_t from_item = item_size(a.key.dtype2), to_item = item_size(a.key.dtype);
  const std::int64_t ranks = a.key.dims[1];
  const std::int64_t slice_bytes = a.key.dims[0] * to_item;
  for (std::size_t i = 0; i < a.reads.size(); ++i) {
    const ParameterShard& p = a.unit->parameters[i];
    const std::byte* const gradient = a.reads[i].data();
    std::byte* const parts = output(a, 0) + p.offset * to_item;
    const std::int64_t numel = p.rows * p.columns;
    a.workers.run(ranks, [&](std::int64_t rank, int) {
      const std::int64_t begin = rank * p.padded;
      const std::int64_t present = begin >= numel             ? 0
                                   : numel - begin < p.padded ? numel - begin
                                                              : p.padded;
      std::byte* const to = parts + rank * slice_bytes;
      if (present > 0) cast(gradient + begin * from_item, to, present);
      clear_bytes(to + present * to_item, (p.padded - present) * to_item);
    });
  }
}

}  // namespace foreshard::executor
