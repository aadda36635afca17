#include "profiler/report/kernel_signature.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace foreshard::profiler {
namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)";

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

constexpr bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Nesting of brackets in a signature. An angle bracket counts only outside of others: inside, it
// compares.
class Nesting {
 public:
  void take(char before, char c) {
    constexpr std::string_view kOpening = "([{<", kClosing = ")]}>";
    if (kOpening.find(c) != std::string_view::npos) {
      open_.push_back(c);
      return;
    }
    const std::size_t kind = kClosing.find(c);
    const bool is_arrow = c == '>' && before == '-';
    if (kind == std::string_view::npos || is_arrow || open_.empty()) return;
    if (open_.back() == kOpening[kind]) open_.pop_back();
  }
  bool is_outside() const { return open_.empty(); }

 private:
  std::string open_;
};

// The end of what is in brackets from `begin` on.
std::size_t end_of_brackets(std::string_view text, std::size_t begin) {
  Nesting nesting;
  for (std::size_t i = begin; i < text.size(); ++i) {
    nesting.take(i == 0 ? '\0' : text[i - 1], text[i]);
    if (nesting.is_outside()) return i + 1;
  }
  return text.size();
}

// Namespaces of PyTorch and of compilers, in which nearly every kernel is.
std::string without_common_namespaces(std::string_view name) {
  std::string text(name);
  for (const std::string_view common : {"(anonymous namespace)::", "<unnamed>::", "at::native::",
                                        "at::cuda::", "std::", "internal::", "detail::"}) {
    for (std::size_t at = text.find(common); at != std::string::npos; at = text.find(common, at)) {
      text.erase(at, common.size());
    }
  }
  return text;
}

// _ZN2at6native6kernelI...: lengths before identifiers. The arguments stay as they are.
KernelSignature mangled(std::string_view text) {
  KernelSignature signature;
  std::size_t at = text.starts_with("_ZN") ? 3 : 2;
  while (at < text.size() && is_digit(text[at])) {
    std::size_t length = 0;
    const char* const end = text.data() + text.size();
    const char* const identifier = std::from_chars(text.data() + at, end, length).ptr;
    if (length == 0 || length > static_cast<std::size_t>(end - identifier)) break;
    const std::string_view part(identifier, length);
    at = static_cast<std::size_t>(identifier - text.data()) + length;
    if (part.starts_with("_GLOBAL__N")) continue;
    if (!signature.name.empty()) signature.name += "::";
    signature.name += part;
  }
  if (signature.name.empty()) return {std::string(text), {}};
  signature.name = without_common_namespaces(signature.name);
  return signature;
}

// Only signatures end with their arguments, right behind the name: not "FSDP::forward (layers.0)".
bool is_signature(std::string_view text) {
  if (text.starts_with("void ")) return true;
  return text.ends_with(')') && !text.starts_with("Memcpy") && !text.starts_with("Memset") &&
         text.find(" (") == std::string_view::npos;
}

using Renaming = std::pair<std::string_view, std::string_view>;
constexpr std::array<Renaming, 10> kFloats{{{"float", "fp32"},
                                            {"double", "fp64"},
                                            {"Half", "fp16"},
                                            {"__half", "fp16"},
                                            {"half_t", "fp16"},
                                            {"BFloat16", "bf16"},
                                            {"__nv_bfloat16", "bf16"},
                                            {"bfloat16_t", "bf16"},
                                            {"Float8_e4m3fn", "fp8"},
                                            {"Float8_e5m2", "fp8"}}};
constexpr std::array<Renaming, 4> kOthers{
    {{"long", "int64"}, {"int", "int32"}, {"short", "int16"}, {"bool", "bool"}}};

template <typename Renamings>
std::string_view renamed(const Renamings& renamings, std::string_view word) {
  const auto found = std::find_if(renamings.begin(), renamings.end(),
                                  [&](const Renaming& one) { return one.first == word; });
  return found == renamings.end() ? std::string_view() : found->second;
}

// Arguments that kernels of every kind have, and that do not distinguish them.
bool is_wrapping(std::string_view word) {
  static constexpr std::array<std::string_view, 37> kWrapping{"AUnaryFunctor",
                                                              "Array",
                                                              "BUnaryFunctor",
                                                              "BinaryFunctor",
                                                              "CUDAGeneratorImpl",
                                                              "FusedOptimizerTensorListMetadata",
                                                              "LoadWithCast",
                                                              "LoadWithoutCast",
                                                              "OffsetCalculator",
                                                              "OpaqueType",
                                                              "Params",
                                                              "ReduceOp",
                                                              "StoreWithCast",
                                                              "StoreWithoutCast",
                                                              "TensorListMetadata",
                                                              "TensorListScalarListMetadata",
                                                              "TrivialOffsetCalculator",
                                                              "array",
                                                              "char",
                                                              "class",
                                                              "const",
                                                              "false",
                                                              "func_wrapper_t",
                                                              "gpu_index_kernel",
                                                              "gpu_kernel_impl",
                                                              "gpu_kernel_impl_nocast",
                                                              "gpu_kernel_multiple_outputs_impl",
                                                              "instance",
                                                              "lambda",
                                                              "operator",
                                                              "pair",
                                                              "signed",
                                                              "true",
                                                              "tuple",
                                                              "unnamed",
                                                              "unsigned",
                                                              "void"};
  return std::binary_search(kWrapping.begin(), kWrapping.end(), word) ||
         (word.size() == 2 && word[0] == 'T' && is_digit(word[1])) ||  // nsys: "const T1 &"
         !renamed(kFloats, word).empty() || !renamed(kOthers, word).empty();
}

// Of a cast or a type of result at the start of `text`.
std::size_t length_of_noise(std::string_view text) {
  for (const std::string_view noise : {"(int)", "(bool)", "(unsigned int)", "void "}) {
    if (text.starts_with(noise)) return noise.size();
  }
  return 0;
}

}  // namespace

KernelSignature kernel_signature(std::string_view text) {
  if (text.starts_with("_Z")) return mangled(text);
  if (!is_signature(text)) return {std::string(text), {}};
  Nesting nesting;
  std::size_t name = 0, brackets = 0, brackets_end = 0, end = text.size();
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (nesting.is_outside()) {
      if (text.compare(i, kAnonymous.size(), kAnonymous) == 0) {
        i += kAnonymous.size() - 1;
        continue;
      }
      if (c == '(' && i > name) {
        end = i;
        break;
      }
      if (c == ' ') name = i + 1;  // what was before is the type that it returns
      if (c == '<') brackets = i;
    }
    nesting.take(i == 0 ? '\0' : text[i - 1], c);
    if (c == '>' && nesting.is_outside()) brackets_end = i;
  }
  if (name >= end) return {std::string(text), {}};
  KernelSignature signature;
  if (brackets > name && brackets_end > brackets && brackets_end + 1 == end) {
    signature.template_arguments = text.substr(brackets + 1, brackets_end - brackets - 1);
    end = brackets;
  }
  signature.name = without_common_namespaces(text.substr(name, end - name));
  return signature;
}

std::vector<std::string> functors(std::string_view arguments, std::size_t most) {
  std::vector<std::string> words;
  std::string_view within;  // the namespace or class before the word at hand
  for (std::size_t i = 0; i < arguments.size() && words.size() < most;) {
    if (arguments[i] == '(') {
      i = end_of_brackets(arguments, i);
      continue;
    }
    if (!is_word(arguments[i])) {
      const bool is_qualified = arguments.compare(i, 2, "::") == 0;
      if (!is_qualified) within = {};
      i += is_qualified ? 2 : 1;
      continue;
    }
    const std::size_t begin = i;
    while (i < arguments.size() && is_word(arguments[i])) ++i;
    std::string_view word = arguments.substr(begin, i - begin);
    if (arguments.compare(i, 2, "::") == 0) {
      within = word;
      continue;
    }
    if (is_digit(word[0]) || is_wrapping(word)) continue;
    for (const std::string_view ending : {"_kernel_impl", "_kernel_cuda", "_kernel"}) {
      if (word.size() > ending.size() && word.ends_with(ending)) {
        word.remove_suffix(ending.size());
        break;
      }
    }
    // A class of its namespace's own, as CUTLASS's kernels are: fp8_ptp128c::GemmKernel.
    std::string text(word);
    if (word == "GemmKernel" && !within.empty()) text.insert(0, std::string(within) + "::");
    if (std::find(words.begin(), words.end(), text) == words.end()) words.push_back(text);
  }
  return words;
}

std::string element_type(std::string_view arguments) {
  std::string_view other;
  for (std::size_t i = 0; i < arguments.size();) {
    if (!is_word(arguments[i])) {
      ++i;
      continue;
    }
    const std::size_t begin = i;
    while (i < arguments.size() && is_word(arguments[i])) ++i;
    const std::string_view word = arguments.substr(begin, i - begin);
    if (const auto type = renamed(kFloats, word); !type.empty()) return std::string(type);
    const bool is_cast = begin > 0 && arguments[begin - 1] == '(' && i < arguments.size() &&
                         arguments[i] == ')' && i + 1 < arguments.size() &&
                         is_word(arguments[i + 1]);
    const bool is_unsigned = arguments.substr(0, begin).ends_with("unsigned ");
    if (other.empty() && !is_cast && !is_unsigned) other = renamed(kOthers, word);
  }
  return std::string(other);
}

std::string without_namespaces(std::string_view arguments) {
  std::string text;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments.compare(i, 2, "::") == 0) {
      std::size_t kept = text.size();
      if (text.ends_with(kAnonymous)) kept -= kAnonymous.size();
      while (kept > 0 && is_word(text[kept - 1])) --kept;
      text.resize(kept);
      ++i;
    } else if (const std::size_t noise = length_of_noise(arguments.substr(i)); noise > 0) {
      i += noise - 1;
    } else if (arguments[i] != ' ' || i + 1 >= arguments.size() || arguments[i + 1] != '>') {
      text += arguments[i];
    }
  }
  return text;
}

}  // namespace foreshard::profiler
