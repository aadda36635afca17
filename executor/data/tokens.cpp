#include "executor/data/tokens.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "executor/data/npy.hpp"
#include "executor/data/shipped_text.hpp"
#include "models/base/fnv_hash.hpp"
#include "models/plan/plan.hpp"

namespace foreshard::executor {

namespace {

// Calls visit(T{}) with the C++ type of the elements.
template <typename Visit>
auto with_type(TokenType type, Visit visit) {
  switch (type) {
    case TokenType::u8: return visit(std::uint8_t{});
    case TokenType::i8: return visit(std::int8_t{});
    case TokenType::u16: return visit(std::uint16_t{});
    case TokenType::i16: return visit(std::int16_t{});
    case TokenType::u32: return visit(std::uint32_t{});
    case TokenType::i32: return visit(std::int32_t{});
    case TokenType::u64: return visit(std::uint64_t{});
    case TokenType::i64: break;
  }
  return visit(std::int64_t{});
}

// Reads element `index`, which need not be aligned. Unsigned: a negative token is a huge one.
template <typename T>
std::uint64_t element(const std::byte* data, std::int64_t index, bool swapped) {
  std::byte bytes[sizeof(T)];
  std::memcpy(bytes, data + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
  if (swapped) std::reverse(std::begin(bytes), std::end(bytes));
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return static_cast<std::uint64_t>(value);
}

}  // namespace

std::int64_t item_size(TokenType type) {
  return with_type(type, [](auto zero) { return static_cast<std::int64_t>(sizeof(zero)); });
}

std::int64_t sample_number(const BatchPosition& at, const SampleOrder& order, std::int64_t index) {
  const std::int64_t micro_steps =
      (at.step - 1 - order.steps_done) * at.accumulation + at.micro_step;
  return order.samples_done + at.rank + at.world * (micro_steps * at.micro_batch + index);
}

Result<SampleOrder> order_behind(const RunState& before, const TokenData& data) {
  const auto plan = parse_plan(before.plan, "the plan");
  if (!plan) return tl::unexpected(plan.error());
  SampleOrder order{before.step, before.samples};
  if (before.data.tokens > 0 && !before.data.has_same_tokens(data.identity())) {
    order.samples_done = 0;
    return order;
  }
  const std::int64_t sequence = plan->batch.sequence;
  if (sequence == data.sequence()) return order;
  const std::int64_t samples = std::max<std::int64_t>(1, (data.tokens() - 1) / sequence);
  const std::int64_t epochs = before.samples / samples, in_epoch = before.samples % samples;
  order.samples_done = epochs * data.samples() + in_epoch * sequence / data.sequence();
  return order;
}

Result<TokenData> TokenData::open(const std::string& path, std::int64_t vocabulary,
                                  std::int64_t sequence, std::int64_t samples_needed) {
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension != ".npy" && extension != ".bin" && extension != ".txt") {
    return fail(path, "", "has an unknown format; expected a .npy, .bin or .txt file");
  }
  auto file = MappedFile::open(path, "tokens (.npy, .bin or .txt)");
  if (!file) return tl::unexpected(file.error());

  TokenData data;
  data.file_ = std::move(*file);
  data.name_ = path;
  data.path_ = std::filesystem::absolute(path).lexically_normal().string();
  data.vocabulary_ = vocabulary;
  data.sequence_ = sequence;
  const auto bytes = data.file_.bytes();
  data.data_ = bytes.data();
  if (extension == ".npy") {
    const auto array = parse_npy(bytes, path);
    if (!array) return tl::unexpected(array.error());
    data.type_ = array->type;
    data.byte_swapped_ = array->byte_swapped;
    data.tokens_ = array->length;
    data.data_ += array->data_offset;
  } else {
    if (extension == ".bin") data.type_ = vocabulary > 65536 ? TokenType::u32 : TokenType::u16;
    const auto size = static_cast<std::size_t>(item_size(data.type_));
    if (bytes.size() % size != 0) {
      return fail(path, "",
                  "has " + std::to_string(bytes.size()) + " bytes; expected a multiple of " +
                      std::to_string(size) + " for a vocabulary of " + std::to_string(vocabulary));
    }
    data.byte_swapped_ = std::endian::native == std::endian::big;
    data.tokens_ = static_cast<std::int64_t>(bytes.size() / size);
  }
  return finish(std::move(data), samples_needed);
}

Result<TokenData> TokenData::shipped_text(std::int64_t vocabulary, std::int64_t sequence) {
  const auto text = executor::shipped_text();
  TokenData data;
  data.name_ = "the shipped text";
  data.data_ = reinterpret_cast<const std::byte*>(text.data());
  data.tokens_ = static_cast<std::int64_t>(text.size());
  data.vocabulary_ = vocabulary;
  data.sequence_ = sequence;
  data.wrap_vocabulary_ = vocabulary < 256;
  return finish(std::move(data), 0);
}

Result<TokenData> TokenData::finish(TokenData data, std::int64_t samples_needed) {
  if (data.tokens_ <= data.sequence_) {
    return fail(data.name_, "",
                "has " + std::to_string(data.tokens_) +
                    " tokens, less than one sample; expected at least " +
                    std::to_string(data.sequence_ + 1) + " with batch.sequence " +
                    std::to_string(data.sequence_));
  }
  const auto samples =
      samples_needed == 0 ? data.samples() : std::min(samples_needed, data.samples());
  if (const auto position = data.first_outside(0, samples * data.sequence_ + 1)) {
    const auto value = with_type(data.type_, [&](auto zero) {
      using T = decltype(zero);
      return std::to_string(static_cast<T>(element<T>(data.data_, *position, data.byte_swapped_)));
    });
    return fail(data.name_, "token " + std::to_string(*position),
                "is " + value + ", outside the model's vocabulary; expected less than vocab_size " +
                    std::to_string(data.vocabulary_));
  }
  return data;
}

// By blocks of tokens that are spread evenly over all of them.
DataIdentity TokenData::identity() const {
  constexpr std::int64_t kBlocks = 64, kBlock = 512;
  FnvHash hash;
  const std::int64_t last = std::max<std::int64_t>(0, tokens_ - kBlock);
  for (std::int64_t block = 0; block < kBlocks; ++block) {
    const std::int64_t first =
        last / (kBlocks - 1) * block + last % (kBlocks - 1) * block / (kBlocks - 1);
    for (std::int64_t i = first; i < std::min(first + kBlock, tokens_); ++i) {
      hash.add(static_cast<std::uint64_t>(token(i)));
    }
  }
  return {path_, tokens_, hash.value()};
}

std::optional<std::int64_t> TokenData::first_outside(std::int64_t first, std::int64_t count) const {
  if (wrap_vocabulary_) return std::nullopt;
  return with_type(type_, [&](auto zero) -> std::optional<std::int64_t> {
    using T = decltype(zero);
    const auto limit = static_cast<std::uint64_t>(vocabulary_);
    if (std::is_unsigned_v<T> && limit > std::numeric_limits<T>::max()) return std::nullopt;
    constexpr std::int64_t kBlock = 4096;
    for (std::int64_t start = first; start < first + count; start += kBlock) {
      const auto end = std::min(start + kBlock, first + count);
      bool outside = false;  // no early exit, so that the loop can be vectorised
      for (auto i = start; i < end; ++i) outside |= element<T>(data_, i, byte_swapped_) >= limit;
      for (auto i = start; outside; ++i) {
        if (element<T>(data_, i, byte_swapped_) >= limit) return i;
      }
    }
    return std::nullopt;
  });
}

std::int64_t TokenData::token(std::int64_t position) const {
  const auto value = with_type(
      type_, [&](auto zero) { return element<decltype(zero)>(data_, position, byte_swapped_); });
  const auto limit = static_cast<std::uint64_t>(vocabulary_);
  return static_cast<std::int64_t>(wrap_vocabulary_ ? value % limit : value);
}

void TokenData::copy(std::int64_t first, std::int64_t count, std::int32_t* out) const {
  with_type(type_, [&](auto zero) {
    const auto limit = static_cast<std::uint64_t>(vocabulary_);
    for (std::int64_t i = 0; i < count; ++i) {
      auto value = element<decltype(zero)>(data_, first + i, byte_swapped_);
      if (wrap_vocabulary_) value %= limit;
      if (value >= limit) {
        throw std::runtime_error(name_ + ": token " + std::to_string(first + i) +
                                 " was not checked or has changed; expected less than vocab_size " +
                                 std::to_string(vocabulary_));
      }
      out[i] = static_cast<std::int32_t>(value);
    }
  });
}

void TokenData::fill_batch(const BatchPosition& at, const SampleOrder& order, std::int32_t* inputs,
                           std::int32_t* targets) const {
  for (std::int64_t index = 0; index < at.micro_batch; ++index) {
    const auto start = sample_number(at, order, index) % samples() * sequence_;
    copy(start, sequence_, inputs + index * sequence_);
    copy(start + 1, sequence_, targets + index * sequence_);
  }
}

}  // namespace foreshard::executor
