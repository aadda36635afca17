// Any bytes as a stored question: an error, or a question that restates itself when it is asked again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "models/question/question_json.hpp"

namespace {

foreshard::Result<foreshard::DeviceTraits> no_gpu(const std::string&,
                                                  const std::optional<foreshard::Machine>&) {
  return foreshard::DeviceTraits{};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto asked = foreshard::parse_question(text, "question");
  if (!asked) return 0;
  asked->config = *foreshard::load_llama_config("llama-tiny-3m");  // no file is opened
  if (asked->machine.find('/') != std::string::npos) return 0;
  const auto question = foreshard::question_of(*asked, {}, no_gpu);
  if (!question) return 0;
  const std::string restated = foreshard::question_json(*question);
  auto again = foreshard::parse_question(restated, "restated");
  if (!again) std::abort();
  again->config = asked->config;
  const auto same = foreshard::question_of(*again, {}, no_gpu);
  if (!same || foreshard::question_json(*same) != restated) std::abort();
  return 0;
}
