#include "models/allocator/allocator_settings.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <charconv>
#include <iterator>
#include <optional>
#include <utility>

namespace foreshard {
namespace {

constexpr std::array<std::string_view, 6> kKeys{
    "expandable_segments",          "max_split_size_mb",         "roundup_power2_divisions",
    "garbage_collection_threshold", "max_non_split_rounding_mb", "per_process_memory_fraction"};
constexpr std::array<std::string_view, 8> kWithoutEffect{
    "release_lock_on_cudamalloc",     "release_lock_on_hipmalloc",
    "pinned_use_cuda_host_register",  "pinned_use_hip_host_register",
    "pinned_num_register_threads",    "pinned_use_background_threads",
    "pinned_reserve_segment_size_mb", "graph_capture_record_stream_reuse"};
constexpr std::string_view kNotSimulated = "large_segment_size_mb";

std::string quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

// Cuts off what stands before the next comma outside of brackets.
std::string_view next_part(std::string_view& rest) {
  int depth = 0;
  std::size_t end = 0;
  for (; end < rest.size() && (depth > 0 || rest[end] != ','); ++end) {
    depth += rest[end] == '[' ? 1 : rest[end] == ']' ? -1 : 0;
  }
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

template <typename Number>
std::optional<Number> number(std::string_view text) {
  Number n = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), n);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return n;
}

std::optional<std::int64_t> division(std::string_view text) {
  const auto n = number<std::int64_t>(text);
  const bool is_valid =
      n && *n >= 0 && (*n == 0 || std::has_single_bit(static_cast<std::uint64_t>(*n)));
  return is_valid ? n : std::nullopt;
}

// One number for all sizes, or [MIB:N,...,>:N]: from each size on to the next, smaller ones as the
// first, and beyond the last the one of '>'.
std::optional<AllocatorRules::Divisions> divisions(std::string_view text) {
  AllocatorRules::Divisions result{};
  if (!text.starts_with('[')) {
    const auto n = division(text);
    if (!n) return std::nullopt;
    result.fill(*n);
    return result;
  }
  if (text.size() < 3 || !text.ends_with(']')) return std::nullopt;
  std::string_view rest = text.substr(1, text.size() - 2);
  std::size_t from = 0;
  bool is_first = true;
  while (!rest.empty()) {
    const std::string_view entry = next_part(rest);
    const auto colon = entry.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const std::string_view size = entry.substr(0, colon);
    const auto n = division(entry.substr(colon + 1));
    if (!n) return std::nullopt;
    if (size == ">") {
      from = std::min(from + 1, result.size());
    } else {
      const auto mebibytes = number<std::uint64_t>(size);
      if (!mebibytes || !std::has_single_bit(*mebibytes)) return std::nullopt;
      const auto at = std::min<std::size_t>(static_cast<std::size_t>(std::countr_zero(*mebibytes)),
                                            result.size() - 1);
      if (is_first) {
        result.fill(*n);
      } else if (at <= from) {
        return std::nullopt;
      }
      from = at;
    }
    is_first = false;
    std::fill(result.begin() + static_cast<std::ptrdiff_t>(from), result.end(), *n);
  }
  return result;
}

// More than a segment of the large pool.
std::optional<std::int64_t> large_size(std::string_view text) {
  const auto mebibytes = number<std::int64_t>(text);
  if (!mebibytes || *mebibytes <= 20 || *mebibytes > 1'000'000'000) return std::nullopt;
  return *mebibytes * kMiB.count;
}

Result<void> apply(std::string_view key, std::string_view value, AllocatorRules& rules,
                   IdleSettings& idle, const std::string& flag) {
  const auto wrong = [&](const std::string& expected) {
    return fail("", flag, std::string(key) + " is " + quoted(value) + "; expected " + expected);
  };
  if (key == "expandable_segments") {
    const bool yes = value == "true" || value == "True" || value == "1";
    if (!yes && value != "false" && value != "False" && value != "0") {
      return wrong("true or false");
    }
    rules.expandable_segments = yes;
  } else if (key == "max_split_size_mb") {
    const auto bytes = large_size(value);
    if (!bytes) return wrong("more than 20, in MiB");
    rules.max_split_size = *bytes;
  } else if (key == "max_non_split_rounding_mb") {
    const auto bytes = large_size(value);
    if (!bytes) return wrong("more than 20, in MiB");
    rules.max_non_split_rounding = *bytes;
  } else if (key == "garbage_collection_threshold") {
    const auto threshold = number<double>(value);
    if (!threshold || !(*threshold > 0.0 && *threshold < 1.0)) {
      return wrong("a number between 0 and 1, such as 0.8");
    }
    rules.garbage_collection_threshold = *threshold;
  } else if (key == "per_process_memory_fraction") {
    const auto fraction = number<double>(value);
    if (!fraction || !(*fraction > 0.0 && *fraction <= 1.0)) {
      return wrong("a number above 0 and at most 1, such as 0.9");
    }
    rules.memory_fraction = *fraction;
  } else if (key == "roundup_power2_divisions") {
    const auto values = divisions(value);
    if (!values)
      return wrong("a power of two such as 8, or a list by size in MiB such as [256:1,512:2,>:4]");
    rules.round_to_power2_divisions(*values);
  } else if (key == "backend") {
    if (value != "native") return wrong("native: other backends do not cache as it does");
    idle.without_effect.push_back(std::string(key) + ":" + std::string(value));
  } else if (key == kNotSimulated) {
    idle.not_simulated.push_back(std::string(key) + ":" + std::string(value));
  } else if (std::find(kWithoutEffect.begin(), kWithoutEffect.end(), key) != kWithoutEffect.end()) {
    idle.without_effect.push_back(std::string(key) + ":" + std::string(value));
  } else {
    const std::string near = nearest(std::string(key), kKeys);
    std::string expected = "one of";
    for (const auto known : kKeys) {
      expected += known == kKeys.front() ? " " : ", ";
      expected += known;
    }
    const std::string hint =
        near.empty() ? "" : "; did you mean " + quoted(std::string_view(near)) + "?";
    return fail("", flag,
                quoted(key) + " is not an allocator setting; expected " + expected + hint);
  }
  return {};
}

}  // namespace

Result<AllocatorRules> parse_allocator_settings(std::string_view given, AllocatorRules rules,
                                                const std::string& flag, IdleSettings* idle) {
  std::string settings;
  std::copy_if(given.begin(), given.end(), std::back_inserter(settings),
               [](unsigned char c) { return std::isspace(c) == 0; });
  std::string_view text = settings;
  IdleSettings found;
  while (!text.empty()) {
    const std::string_view part = next_part(text);
    const auto sign = part.find_first_of("=:");
    if (sign == std::string_view::npos) {
      return fail("", flag, quoted(part) + " has no value; expected KEY=VALUE,...");
    }
    const auto done = apply(part.substr(0, sign), part.substr(sign + 1), rules, found, flag);
    if (!done) return tl::unexpected(done.error());
  }
  if (idle != nullptr) *idle = std::move(found);
  return rules;
}

}  // namespace foreshard
