#include "profiler/report/short_names.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "profiler/report/format.hpp"
#include "profiler/report/kernel_signature.hpp"

namespace foreshard::profiler {
namespace {

constexpr std::size_t kMaxFunctors = 2;
constexpr std::size_t kDifferenceShown = 16;

// Kernels whose template arguments identify what they do.
bool is_generic(std::string_view name) {
  for (const std::string_view part :
       {"elementwise_kernel", "elementwise_grid_stride", "reduce_kernel", "multi_tensor_apply",
        "static_kernel", "cutlass::device_kernel", "cutlass::Kernel"}) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

std::string what_it_is(std::string_view name) {
  constexpr std::string_view kEngine = "autograd::engine::evaluate_function: ";
  if (name.starts_with(kEngine)) {
    name.remove_prefix(kEngine.size());
    constexpr std::string_view kNamespace = "torch::autograd::";
    if (name.starts_with(kNamespace)) name.remove_prefix(kNamespace.size());
    return "autograd: " + std::string(name);
  }
  KernelSignature signature = kernel_signature(name);
  if (signature.template_arguments.empty()) return signature.name;
  std::vector<std::string> words;
  if (is_generic(signature.name)) {
    const bool is_cutlass = signature.name.starts_with("cutlass::");
    words = functors(signature.template_arguments, is_cutlass ? 1 : kMaxFunctors);
    if (is_cutlass && !words.empty() && words[0].starts_with("cutlass")) return words[0];
  }
  if (auto type = element_type(signature.template_arguments); !type.empty()) {
    words.push_back(std::move(type));
  }
  if (words.empty()) return signature.name;
  std::string text = signature.name + "<";
  for (std::size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : " ") + words[i];
  return text + ">";
}

std::string with_all_arguments(const std::string& name) {
  const KernelSignature signature = kernel_signature(name);
  if (signature.template_arguments.empty()) return signature.name;
  return signature.name + "<" + without_namespaces(signature.template_arguments) + ">";
}

// `alike`, for each of these texts with the part in which it differs from the others.
std::vector<std::string> with_differences(const std::vector<std::string>& names,
                                          const std::string& alike, std::size_t most) {
  std::size_t same = names[0].size(), same_end = names[0].size();
  for (const std::string& name : names) {
    const auto differs = std::mismatch(names[0].begin(), names[0].end(), name.begin(), name.end());
    same = std::min(same, static_cast<std::size_t>(differs.first - names[0].begin()));
    const auto end = std::mismatch(names[0].rbegin(), names[0].rend(), name.rbegin(), name.rend());
    same_end = std::min(same_end, static_cast<std::size_t>(end.first - names[0].rbegin()));
  }
  const auto is_word = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (static_cast<unsigned char>(c) & 0x80) != 0;
  };
  while (same > 0 && is_word(names[0][same - 1])) --same;  // words are shown whole
  std::vector<std::string> texts;
  std::set<std::string> taken;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    std::size_t end = std::max(same, name.size() - std::min(name.size(), same_end));
    while (end < name.size() && is_word(name[end])) ++end;
    std::string difference = truncate(name.substr(same, end - same), kDifferenceShown);
    if (difference.empty()) difference = "-";
    if (!taken.insert(difference).second) {
      difference = "#" + std::to_string(i + 1);
      taken.insert(difference);
    }
    texts.push_back(truncate(alike, most - width(difference) - 3) + " [" + difference + "]");
  }
  return texts;
}

}  // namespace

std::string short_name(std::string_view name, std::size_t most) {
  // Inductor's names list the operators that were fused and end with the number of the kernel.
  constexpr std::size_t kNumber = 8;
  return truncate(what_it_is(name), most, name.starts_with("triton_") ? kNumber : 0);
}

std::vector<std::string> short_names(const std::vector<std::string>& names, std::size_t most) {
  std::map<std::string, std::string> shown;               // of each name
  std::map<std::string, std::vector<std::string>> alike;  // names by what they would look like
  for (const std::string& name : names) {
    const auto [text, is_new] = shown.try_emplace(name, short_name(name, most));
    if (is_new) alike[text->second].push_back(name);
  }
  std::set<std::string> taken;
  for (const auto& [text, same] : alike) {
    if (same.size() == 1) taken.insert(text);
  }
  for (const auto& [text, same] : alike) {
    if (same.size() == 1) continue;
    std::vector<std::string> longer;
    for (const std::string& name : same) longer.push_back(with_all_arguments(name));
    const bool do_differ = std::set(longer.begin(), longer.end()).size() == same.size();
    if (!do_differ || std::any_of(longer.begin(), longer.end(),
                                  [&](const std::string& one) { return width(one) > most; })) {
      longer = with_differences(do_differ ? longer : same, text, most);
    }
    for (std::size_t i = 0; i < same.size(); ++i) {
      std::string& one = shown[same[i]] = longer[i];
      for (int number = 2; !taken.insert(one).second; ++number) {
        const std::string suffix = " (" + std::to_string(number) + ")";
        one = truncate(longer[i], most - suffix.size()) + suffix;
      }
    }
  }
  std::vector<std::string> texts;
  texts.reserve(names.size());
  for (const std::string& name : names) texts.push_back(shown[name]);
  return texts;
}

}  // namespace foreshard::profiler
