// What every communicator must do, checked by each of its ranks against a model in plain scalar code.
#pragma once

#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "executor/communication/communicator.hpp"
#include "executor/cpu/cpu_device.hpp"

namespace foreshard::executor {

struct Bf16 {
  std::uint16_t bits;
};

inline double widen(float x) {
  return x;
}
inline double widen(double x) {
  return x;
}
inline double widen(Bf16 x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}

template <typename T>
T narrow(double x) {
  return static_cast<T>(x);
}
// Rounds to the nearest of the two neighbours, to the even one in the middle.
template <>
inline Bf16 narrow<Bf16>(double x) {
  const auto down =
      static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(x)) >> 16);
  const Bf16 inner{down}, outer{static_cast<std::uint16_t>(down + 1)};
  const double to_inner = std::abs(static_cast<float>(x) - widen(inner));
  const double to_outer = std::abs(widen(outer) - static_cast<float>(x));
  if (to_inner != to_outer) return to_inner < to_outer ? inner : outer;
  return down % 2 == 0 ? inner : outer;
}

template <typename T>
constexpr DType kTypeOf = std::is_same_v<T, float>    ? DType::fp32
                          : std::is_same_v<T, double> ? DType::fp64
                                                      : DType::bf16;

// Element i of what a rank brings; any value of wide range will do, as long as sums round.
template <typename T>
T value_of(int rank, std::int64_t i, int salt) {
  auto hash = static_cast<std::uint64_t>(i * 131 + rank * 7919 + salt * 104729 + 1);
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ULL;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebULL;
  const double mantissa = static_cast<double>(hash >> 11) * 0x1p-53 - 0.5;
  return narrow<T>(std::ldexp(mantissa, static_cast<int>(hash % 9) - 4));
}

template <typename T>
T reduced_value(int size, int owner, std::int64_t i, int salt, Reduction reduction) {
  T sum = value_of<T>((owner + size - 1) % size, i, salt);
  for (int k = 2; k <= size; ++k) {
    sum = narrow<T>(widen(sum) + widen(value_of<T>((owner + size - k) % size, i, salt)));
  }
  if (reduction == Reduction::average) sum = narrow<T>(widen(sum) / size);
  return sum;
}

template <typename T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

// The host's memory that a device reaches.
template <typename T>
struct PinnedMemory {
  using value_type = T;
  explicit PinnedMemory(Device& of) : device(&of) {}
  T* allocate(std::size_t n) { return reinterpret_cast<T*>(device->allocate_host(bytes(n))); }
  void deallocate(T* memory, std::size_t n) {
    device->free_host(reinterpret_cast<std::byte*>(memory), bytes(n));
  }
  static Bytes bytes(std::size_t n) { return Bytes{static_cast<std::int64_t>(n * sizeof(T))}; }
  Device* device;
};
template <typename T>
using PinnedVector = std::vector<T, PinnedMemory<T>>;

template <typename T, typename Memory>
std::byte* bytes_of(std::vector<T, Memory>& values) {
  return reinterpret_cast<std::byte*>(values.data());
}

template <typename T>
void check_reductions(Communicator& communicator, Device& device, Stream stream, std::int64_t count,
                      Reduction reduction, int salt) {
  const int size = communicator.size(), me = communicator.index();
  const PinnedMemory<T> memory(device);
  PinnedVector<T> input(static_cast<std::size_t>(count * size), T{}, memory);
  for (std::size_t i = 0; i < input.size(); ++i) {
    input[i] = value_of<T>(me, static_cast<std::int64_t>(i), salt);
  }
  PinnedVector<T> output(static_cast<std::size_t>(count), T{}, memory);
  PinnedVector<T> whole = input, in_place = input;
  const auto whole_count = static_cast<std::int64_t>(whole.size());
  communicator.reduce_scatter(stream, 1, kTypeOf<T>, reduction, bytes_of(input), bytes_of(output),
                              count);
  communicator.reduce_scatter(stream, 2, kTypeOf<T>, reduction, bytes_of(in_place),
                              bytes_of(in_place) + me * count * static_cast<int>(sizeof(T)), count);
  communicator.all_reduce(stream, 3, kTypeOf<T>, reduction, bytes_of(whole), whole_count);
  device.synchronize();
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i), mine = static_cast<std::size_t>(me * count + i);
    const T expected = reduced_value<T>(size, me, me * count + i, salt, reduction);
    wrong += same_bits(output[at], expected) ? 0 : 1;
    wrong += same_bits(in_place[mine], expected) ? 0 : 1;
  }
  const std::int64_t part = (whole_count + size - 1) / size;
  const std::int64_t rounded = (part + 15) / 16 * 16;
  for (std::int64_t i = 0; i < whole_count; ++i) {
    const int owner = static_cast<int>(i / rounded);
    const T expected = reduced_value<T>(size, owner, i, salt, reduction);
    wrong += same_bits(whole[static_cast<std::size_t>(i)], expected) ? 0 : 1;
  }
  EXPECT_EQ(wrong, 0) << "count " << count << ", rank " << me << " of " << size;
}

inline void check_all_gather(Communicator& communicator, Device& device, Stream stream,
                             std::int64_t bytes) {
  const int size = communicator.size(), me = communicator.index();
  const auto content = [](int rank, std::int64_t i) {
    return static_cast<std::byte>(rank * 37 + i * 11 + i / 251);
  };
  PinnedVector<std::byte> buffer(static_cast<std::size_t>(bytes * size), std::byte{},
                                 PinnedMemory<std::byte>(device));
  for (std::int64_t i = 0; i < bytes; ++i) {
    buffer[static_cast<std::size_t>(me * bytes + i)] = content(me, i);
  }
  communicator.all_gather(stream, 4, buffer.data(), bytes);
  device.synchronize();
  std::int64_t wrong = 0;
  for (int rank = 0; rank < size; ++rank) {
    for (std::int64_t i = 0; i < bytes; ++i) {
      wrong += buffer[static_cast<std::size_t>(rank * bytes + i)] == content(rank, i) ? 0 : 1;
    }
  }
  EXPECT_EQ(wrong, 0) << bytes << " bytes, rank " << me << " of " << size;
}

// Two streams, one communicator: its collectives must run in the order of issue although the second
// stream is free to start first.
inline void check_order_across_streams(RunControl& run, Communicator& communicator,
                                       Device& device) {
  constexpr Stream one = Stream::compute, other = Stream::all_gather;
  Event late;
  const PinnedMemory<float> memory(device);
  PinnedVector<float> a(64, 1.0F, memory);
  PinnedVector<float> b(64, static_cast<float>(communicator.index()), memory);
  device.call(one, kNoTag, [&run, &late] { late.wait(run, 1); });
  communicator.all_reduce(one, 5, DType::fp32, Reduction::sum, bytes_of(a), 64);
  communicator.all_reduce(other, 6, DType::fp32, Reduction::sum, bytes_of(b), 64);
  communicator.barrier(other, 7);
  late.fire(1);
  device.synchronize();
  const int size = communicator.size();
  for (const float x : a) EXPECT_EQ(x, static_cast<float>(size));
  for (const float x : b) EXPECT_EQ(x, static_cast<float>(size * (size - 1) / 2));
}

// Everything, as one rank sees it.
inline void check_communicator(RunControl& run, Communicator& communicator, Device& device) {
  constexpr Stream one = Stream::compute, other = Stream::reduce_scatter;
  for (const std::int64_t bytes : {0, 1, 63, 64, 4097, 1'500'001}) {
    check_all_gather(communicator, device, one, bytes);
  }
  int salt = 0;
  for (const Reduction reduction : {Reduction::sum, Reduction::average}) {
    for (const std::int64_t count : {0, 1, 15, 1025, 5000}) {
      check_reductions<float>(communicator, device, one, count, reduction, ++salt);
      check_reductions<double>(communicator, device, other, count, reduction, ++salt);
      check_reductions<Bf16>(communicator, device, one, count, reduction, ++salt);
    }
  }
  for (int round = 0; round < 8; ++round) check_order_across_streams(run, communicator, device);
}

}  // namespace foreshard::executor
