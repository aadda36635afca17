// Training data: a long list of tokens, cut into samples of `sequence` + 1 tokens.
//
// Sample i is tokens[i*S .. i*S + S]: the first S are inputs, the last S their targets. The j-th
// sample of rank r of W is number r + W*j, so all ranks together read the list in order; numbers
// beyond the last whole sample start again at the first: the next epoch. Micro-step m of A in step t (from 1)
// reads samples j = ((t-1)*A + m)*B and the B-1 after it. Shuffled, a number is a place in its epoch's own order
// (sample_permutation.hpp), whatever the number of ranks.
//
// The list may be in several files, one behind another (token_files.hpp). A file is read where samples are taken from it: one that has become shorter is an error that names it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "executor/data/run_state.hpp"
#include "models/base/error.hpp"
#include "models/base/input_file.hpp"

namespace foreshard::executor {

enum class TokenType : std::uint8_t { u8, i8, u16, i16, u32, i32, u64, i64 };
std::int64_t item_size(TokenType type);
std::string_view name(TokenType type);  // "uint16", as NumPy calls it
// "uint16" or "uint32", which raw files may be of; nothing otherwise.
std::optional<TokenType> raw_type_named(std::string_view name);

// Where a run starts to count: a resumed one goes on with the first sample not yet seen, even when
// its number of ranks or its batch has changed.
struct SampleOrder {
  std::int64_t steps_done = 0;
  std::int64_t samples_done = 0;
  std::optional<std::uint64_t> shuffle_seed = std::nullopt;  // nothing: in order
};

// One micro-batch of one rank.
struct BatchPosition {
  int rank = 0;
  int world = 1;
  std::int64_t step = 1;  // counted from 1
  std::int64_t micro_step = 0;
  std::int64_t accumulation = 1;
  std::int64_t micro_batch = 1;
};

class TokenData {
 public:
  // .npy (1-D, any integer dtype), .bin or .ds (raw_tokens.hpp; `asked`: their type) or .txt (each byte is a
  // token); of several files all are of one type. `samples_needed` limits how many samples are checked against the vocabulary now; 0
  // checks all.
  static Result<TokenData> open(const std::string& path, std::int64_t vocabulary,
                                std::int64_t sequence, std::int64_t samples_needed = 0,
                                std::optional<TokenType> asked = std::nullopt);

  // The text that ships with the project, as bytes, taken modulo the vocabulary where that is
  // smaller than 256, so that it serves every model.
  static Result<TokenData> shipped_text(std::int64_t vocabulary, std::int64_t sequence);

  std::int64_t tokens() const { return tokens_; }
  std::int64_t samples() const { return (tokens_ - 1) / sequence_; }
  std::int64_t sequence() const { return sequence_; }
  std::int64_t token(std::int64_t position) const;
  DataIdentity identity() const;

  // Inputs and targets, micro_batch * sequence each. Throws std::runtime_error at a token outside
  // the vocabulary, one that open() did not check or that has changed since, and where there is
  // none any more.
  void fill_batch(const BatchPosition& at, const SampleOrder& order, std::int32_t* inputs,
                  std::int32_t* targets) const;

 private:
  TokenData() = default;
  static Result<TokenData> finish(TokenData data, std::int64_t samples_needed);
  std::optional<std::int64_t> first_outside(std::int64_t count) const;
  void copy(std::int64_t first, std::int64_t count, std::int32_t* out) const;
  // Throws std::runtime_error where they cannot be read.
  void read(std::int64_t first, std::span<std::byte> tokens) const;
  // visit(tokens, n, first) for some of the tokens at a time, until it returns false.
  template <typename Visit>
  void in_blocks(std::int64_t first, std::int64_t count, Visit visit) const;

  // Tokens [first, first + count) of the list, from `offset` on in the file.
  struct Part {
    std::string name;
    std::shared_ptr<const InputFile> file;
    std::int64_t offset = 0, first = 0, count = 0;
  };
  Result<void> add(const std::string& file, std::optional<TokenType> asked);
  void read_part(const Part& part, std::int64_t first, std::span<std::byte> tokens) const;

  std::string name_;
  std::string path_;         // empty: of no file
  std::string type_said_;    // by whoever opened it
  std::vector<Part> parts_;  // none: text_
  std::span<const std::byte> text_;
  TokenType type_ = TokenType::u8;
  bool byte_swapped_ = false;
  bool wrap_vocabulary_ = false;
  std::int64_t tokens_ = 0;
  std::int64_t vocabulary_ = 0;
  std::int64_t sequence_ = 1;
};

// How a run goes on behind the state of another one: with the sample that holds the first token not yet
// read. Other data are read from their beginning. Where epochs are shuffled otherwise than before, by another seed,
// into samples of another length, or only one of the two times, the next epoch begins: what is left of the old one is
// not to be found in the new order.
Result<SampleOrder> order_behind(const RunState& before, const TokenData& data,
                                 std::optional<std::uint64_t> shuffle_seed);

// The number of the sample that stands `index`-th (below micro_batch) in a micro-batch, over all epochs.
std::int64_t sample_number(const BatchPosition& at, const SampleOrder& order, std::int64_t index);

}  // namespace foreshard::executor
