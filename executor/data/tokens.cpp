#include "executor/data/tokens.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <sys/resource.h>
#include <unistd.h>

#include "executor/data/npy.hpp"
#include "executor/data/raw_tokens.hpp"
#include "executor/data/sample_permutation.hpp"
#include "executor/data/shipped_text.hpp"
#include "executor/data/token_files.hpp"
#include "models/base/fnv_hash.hpp"
#include "models/base/mapped_file.hpp"
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

// All files of a list stay open: as many as the system allows, not the few that shells begin with.
void allow_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

std::int64_t item_size(TokenType type) {
  return with_type(type, [](auto zero) { return static_cast<std::int64_t>(sizeof(zero)); });
}

std::string_view name(TokenType type) {
  static constexpr std::string_view kNames[] = {"uint8",  "int8",  "uint16", "int16",
                                                "uint32", "int32", "uint64", "int64"};
  return kNames[static_cast<std::size_t>(type)];
}

std::optional<TokenType> raw_type_named(std::string_view text) {
  for (const TokenType type : {TokenType::u16, TokenType::u32}) {
    if (name(type) == text) return type;
  }
  return std::nullopt;
}

std::int64_t sample_number(const BatchPosition& at, const SampleOrder& order, std::int64_t index) {
  const std::int64_t micro_steps =
      (at.step - 1 - order.steps_done) * at.accumulation + at.micro_step;
  return order.samples_done + at.rank + at.world * (micro_steps * at.micro_batch + index);
}

Result<SampleOrder> order_behind(const RunState& before, const TokenData& data,
                                 std::optional<std::uint64_t> shuffle_seed) {
  const auto plan = parse_plan(before.plan, "the plan");
  if (!plan) return tl::unexpected(plan.error());
  SampleOrder order{before.step, before.samples, shuffle_seed};
  if (before.data.tokens > 0 && !before.data.has_same_tokens(data.identity())) {
    order.samples_done = 0;
    return order;
  }
  const std::int64_t sequence = plan->batch.sequence;
  const bool has_same_samples = sequence == data.sequence();
  if (has_same_samples && before.shuffle_seed() == shuffle_seed) return order;
  const std::int64_t samples = std::max<std::int64_t>(1, (data.tokens() - 1) / sequence);
  const std::int64_t epochs = before.samples / samples, in_epoch = before.samples % samples;
  order.samples_done = epochs * data.samples();
  if (in_epoch == 0) return order;
  const bool is_in_order = !shuffle_seed && !before.is_shuffled;
  order.samples_done += is_in_order ? in_epoch * sequence / data.sequence() : data.samples();
  return order;
}

Result<TokenData> TokenData::open(const std::string& path, std::int64_t vocabulary,
                                  std::int64_t sequence, std::int64_t samples_needed,
                                  std::optional<TokenType> asked) {
  const auto files = token_files(path);
  if (!files) return tl::unexpected(files.error());
  TokenData data;
  data.name_ = path;
  data.path_ = std::filesystem::absolute(path).lexically_normal().string();
  data.vocabulary_ = vocabulary;
  data.sequence_ = sequence;
  if (asked) data.type_said_ = name(*asked);
  if (files->size() > 1) allow_open_files();
  for (const std::string& file : *files) {
    if (auto ok = data.add(file, asked); !ok) return tl::unexpected(ok.error());
  }
  return finish(std::move(data), samples_needed);
}

Result<void> TokenData::add(const std::string& path, std::optional<TokenType> asked) {
  const std::string extension = std::filesystem::path(path).extension().string();
  const auto mapped = MappedFile::open(path, kTokenFiles);
  if (!mapped) return tl::unexpected(mapped.error());
  auto file = InputFile::open_regular(path, kTokenFiles);
  if (!file) return tl::unexpected(file.error());
  const bool is_raw = extension == ".bin" || extension == ".ds";
  if (!is_raw && asked) {
    return fail(path, "--data-type", "is for .bin and .ds files; expected none with " + extension);
  }
  const auto bytes = mapped->bytes();
  Part part{path, std::make_shared<const InputFile>(std::move(*file)), 0, tokens_,
            std::ssize(bytes)};
  TokenType type = TokenType::u8;
  bool is_swapped = false;
  if (extension == ".npy") {
    const auto array = parse_npy(bytes, path);
    if (!array) return tl::unexpected(array.error());
    type = array->type;
    is_swapped = array->byte_swapped;
    part.count = array->length;
    part.offset = static_cast<std::int64_t>(array->data_offset);
  } else if (is_raw) {
    if (extension == ".ds" && !asked) {
      const auto noted = datatrove_type(path);
      if (!noted) return tl::unexpected(noted.error());
      asked = *noted;
    }
    const auto raw = parse_raw_tokens(bytes, path, vocabulary_, asked);
    if (!raw) return tl::unexpected(raw.error());
    type = raw->type;
    is_swapped = std::endian::native == std::endian::big;
    part.count = raw->length;
    part.offset = static_cast<std::int64_t>(raw->data_offset);
  }
  if (!parts_.empty() && (type != type_ || is_swapped != byte_swapped_)) {
    return fail(path, "",
                "has tokens of " + std::string(executor::name(type)) + " and " +
                    parts_.front().name + " of " + std::string(executor::name(type_)) +
                    ", or in another order of bytes; expected files of one type");
  }
  type_ = type;
  byte_swapped_ = is_swapped;
  tokens_ += part.count;
  parts_.push_back(std::move(part));
  return {};
}

Result<TokenData> TokenData::shipped_text(std::int64_t vocabulary, std::int64_t sequence) {
  const auto text = executor::shipped_text();
  TokenData data;
  data.name_ = "the shipped text";
  data.text_ = std::as_bytes(std::span(text));
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
  if (const auto position = data.first_outside(samples * data.sequence_ + 1)) {
    const auto value = with_type(data.type_, [&](auto zero) {
      using T = decltype(zero);
      std::byte raw[sizeof(T)];
      data.read(*position, raw);
      return std::to_string(static_cast<T>(element<T>(raw, 0, data.byte_swapped_)));
    });
    return fail(data.name_, "token " + std::to_string(*position),
                "is " + value + ", outside the model's vocabulary; expected less than vocab_size " +
                    std::to_string(data.vocabulary_));
  }
  return data;
}

void TokenData::read(std::int64_t first, std::span<std::byte> tokens) const {
  const std::int64_t size = item_size(type_);
  if (parts_.empty()) {
    std::ranges::copy(text_.subspan(static_cast<std::size_t>(first * size), tokens.size()),
                      tokens.begin());
    return;
  }
  auto part = std::prev(std::ranges::upper_bound(parts_, first, {}, &Part::first));
  while (!tokens.empty()) {
    const std::int64_t count =
        std::min(std::ssize(tokens) / size, part->first + part->count - first);
    const auto bytes = static_cast<std::size_t>(count * size);
    read_part(*part, first - part->first, tokens.first(bytes));
    tokens = tokens.subspan(bytes);
    first += count;
    ++part;
  }
}

void TokenData::read_part(const Part& part, std::int64_t first, std::span<std::byte> tokens) const {
  std::int64_t at = part.offset + first * item_size(type_);
  while (!tokens.empty()) {
    const ssize_t got = ::pread(part.file->descriptor(), tokens.data(), tokens.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      const std::string why = got < 0 ? "cannot be read (" + std::string(std::strerror(errno)) + ")"
                                      : "has become shorter";
      throw std::runtime_error(part.name + ": " + why + "; expected " + std::to_string(part.count) +
                               " tokens as at the start");
    }
    tokens = tokens.subspan(static_cast<std::size_t>(got));
    at += got;
  }
}

template <typename Visit>
void TokenData::in_blocks(std::int64_t first, std::int64_t count, Visit visit) const {
  constexpr std::int64_t kBlock = 4096;
  std::byte raw[static_cast<std::size_t>(kBlock) * sizeof(std::int64_t)];
  for (std::int64_t at = first; at < first + count; at += kBlock) {
    const std::int64_t n = std::min(kBlock, first + count - at);
    read(at, std::span(raw).first(static_cast<std::size_t>(n * item_size(type_))));
    if (!visit(raw, n, at)) return;
  }
}

// By blocks of tokens that are spread evenly over all of them.
DataIdentity TokenData::identity() const {
  constexpr std::int64_t kBlocks = 64, kBlock = 512;
  FnvHash hash;
  const std::int64_t last = std::max<std::int64_t>(0, tokens_ - kBlock);
  const auto limit = static_cast<std::uint64_t>(vocabulary_);
  for (std::int64_t block = 0; block < kBlocks; ++block) {
    const std::int64_t first =
        last / (kBlocks - 1) * block + last % (kBlocks - 1) * block / (kBlocks - 1);
    in_blocks(first, std::min(kBlock, tokens_), [&](const std::byte* raw, std::int64_t n, auto) {
      with_type(type_, [&](auto zero) {
        for (std::int64_t i = 0; i < n; ++i) {
          const auto value = element<decltype(zero)>(raw, i, byte_swapped_);
          hash.add(wrap_vocabulary_ ? value % limit : value);
        }
      });
      return true;
    });
  }
  return {path_, tokens_, hash.value(), type_said_};
}

std::optional<std::int64_t> TokenData::first_outside(std::int64_t count) const {
  if (wrap_vocabulary_) return std::nullopt;
  return with_type(type_, [&](auto zero) -> std::optional<std::int64_t> {
    using T = decltype(zero);
    const auto limit = static_cast<std::uint64_t>(vocabulary_);
    if (std::is_unsigned_v<T> && limit > std::numeric_limits<T>::max()) return std::nullopt;
    std::optional<std::int64_t> found;
    in_blocks(0, count, [&](const std::byte* raw, std::int64_t n, std::int64_t at) {
      bool outside = false;  // no early exit, so that the loop can be vectorised
      for (std::int64_t i = 0; i < n; ++i) outside |= element<T>(raw, i, byte_swapped_) >= limit;
      for (std::int64_t i = 0; outside && !found; ++i) {
        if (element<T>(raw, i, byte_swapped_) >= limit) found = at + i;
      }
      return !found;
    });
    return found;
  });
}

std::int64_t TokenData::token(std::int64_t position) const {
  const auto value = with_type(type_, [&](auto zero) {
    std::byte raw[sizeof zero];
    read(position, raw);
    return element<decltype(zero)>(raw, 0, byte_swapped_);
  });
  const auto limit = static_cast<std::uint64_t>(vocabulary_);
  return static_cast<std::int64_t>(wrap_vocabulary_ ? value % limit : value);
}

void TokenData::copy(std::int64_t first, std::int64_t count, std::int32_t* out) const {
  const auto limit = static_cast<std::uint64_t>(vocabulary_);
  in_blocks(first, count, [&](const std::byte* raw, std::int64_t n, std::int64_t at) {
    with_type(type_, [&](auto zero) {
      for (std::int64_t i = 0; i < n; ++i) {
        auto value = element<decltype(zero)>(raw, i, byte_swapped_);
        if (wrap_vocabulary_) value %= limit;
        if (value >= limit) {
          throw std::runtime_error(name_ + ": token " + std::to_string(at + i) +
                                   " was not checked or has changed; expected less than "
                                   "vocab_size " +
                                   std::to_string(vocabulary_));
        }
        out[at - first + i] = static_cast<std::int32_t>(value);
      }
    });
    return true;
  });
}

void TokenData::fill_batch(const BatchPosition& at, const SampleOrder& order, std::int32_t* inputs,
                           std::int32_t* targets) const {
  for (std::int64_t index = 0; index < at.micro_batch; ++index) {
    const std::int64_t number = sample_number(at, order, index), place = number % samples();
    const std::int64_t sample =
        order.shuffle_seed
            ? SamplePermutation(*order.shuffle_seed, number / samples(), samples()).sample_at(place)
            : place;
    const std::int64_t start = sample * sequence_;
    copy(start, sequence_, inputs + index * sequence_);
    copy(start + 1, sequence_, targets + index * sequence_);
  }
}

}  // namespace foreshard::executor
