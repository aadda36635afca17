// Copies between a unit's parameters and the flat buffers of its collectives.
//
// A gathered buffer holds one slice for each rank, and a slice holds the padded shards of the unit's
// parameters one after the other. Rank by rank the shards of a parameter that is cut on rows make
// the whole, with its padding; blocks of columns are transposed into rows by an operator of its own.
#include <algorithm>
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

// Elements that a thread copies at a time; less is not worth waking another one.
constexpr std::int64_t kCopyGrain = 4 * kGrain;

// Elements of one parameter's shard in one slice of a flat buffer.
struct Piece {
  std::int64_t slice = 0;
  std::size_t parameter = 0;
  std::int64_t begin = 0;  // in the shard
  std::int64_t at = 0;     // in the flat buffer
  std::int64_t count = 0;
};

// All shards of a flat buffer, which consists of slices of equal shards, one after the other and perhaps less
// than a slice, in one run over all threads.
template <class ShardSize, class Copy>
void share_pieces(const KernelArguments& a, std::int64_t slices, std::size_t parameters,
                  const ShardSize& size_of, const Copy& copy) {
  std::int64_t filled = 0;  // of each slice
  for (std::size_t p = 0; p < parameters; ++p) filled += size_of(p);
  a.workers.run_ranges(slices * filled, kCopyGrain, [&](std::int64_t n, std::int64_t end, int) {
    while (n < end) {
      const std::int64_t slice = n / filled;
      std::int64_t begin = n % filled;
      std::size_t p = 0;
      for (; begin >= size_of(p); ++p) begin -= size_of(p);
      const std::int64_t count = std::min(size_of(p) - begin, end - n);
      copy(Piece{slice, p, begin, slice * a.key.dims[0] + n % filled, count});
      n += count;
    }
  });
}

}  // namespace

void run_shard_cast(const KernelArguments& a) {
  const auto kernel = simd_kernels().cast[variant(a.key.dtype2)][variant(a.key.dtype)];
  const std::int64_t from_item = item_size(a.key.dtype2), to_item = item_size(a.key.dtype);
  const bool is_flat = a.writes.size() == 1;
  const auto size_of = [&](std::size_t i) { return bytes_in(a.reads[i]) / from_item; };
  share_pieces(a, 1, a.reads.size(), size_of, [&](const Piece& piece) {
    std::byte* const to = is_flat ? output(a, 0) + piece.at * to_item
                                  : output(a, piece.parameter) + piece.begin * to_item;
    kernel(input(a, piece.parameter) + piece.begin * from_item, to, piece.count);
  });
}

void run_all_gather_copy_in(const KernelArguments& a) {
  const std::int64_t item = item_size(a.key.dtype);
  std::byte* const slice = output(a, 0) + a.aux * a.key.dims[0] * item;
  const auto size_of = [&](std::size_t i) { return bytes_in(a.reads[i]) / item; };
  share_pieces(a, 1, a.reads.size(), size_of, [&](const Piece& piece) {
    copy_bytes(slice + piece.at * item, input(a, piece.parameter) + piece.begin * item,
               piece.count * item);
  });
}

void run_all_gather_copy_out(const KernelArguments& a) {
  const std::int64_t item = item_size(a.key.dtype), ranks = a.key.dims[1];
  const auto size_of = [&](std::size_t i) { return bytes_in(a.writes[i]) / ranks / item; };
  share_pieces(a, ranks, a.writes.size(), size_of, [&](const Piece& piece) {
    const std::int64_t begin = piece.slice * size_of(piece.parameter) + piece.begin;
    copy_bytes(output(a, piece.parameter) + begin * item, input(a, 0) + piece.at * item,
               piece.count * item);
  });
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
  const std::int64_t item = item_size(a.key.dtype), n = a.key.dims[0];
  a.workers.run_ranges(n, kCopyGrain, [&](std::int64_t begin, std::int64_t end, int) {
    copy_bytes(output(a, 0) + begin * item, input(a, 0) + (a.aux * n + begin) * item,
               (end - begin) * item);
  });
}

void run_reduce_scatter_copy_in(const KernelArguments& a) {
  const auto cast = simd_kernels().cast[variant(a.key.dtype2)][variant(a.key.dtype)];
  const std::int64_t from_item = item_size(a.key.dtype2), to_item = item_size(a.key.dtype);
  const auto& parameters = a.unit->parameters;
  const auto size_of = [&](std::size_t i) { return parameters[i].padded; };
  share_pieces(a, a.key.dims[1], a.reads.size(), size_of, [&](const Piece& piece) {
    const ParameterShard& p = parameters[piece.parameter];
    const std::int64_t begin = piece.slice * p.padded + piece.begin;
    const std::int64_t present =
        std::clamp<std::int64_t>(p.rows * p.columns - begin, 0, piece.count);
    std::byte* const to = output(a, 0) + piece.at * to_item;
    if (present > 0) cast(input(a, piece.parameter) + begin * from_item, to, present);
    clear_bytes(to + present * to_item, (piece.count - present) * to_item);
  });
}

}  // namespace foreshard::executor
