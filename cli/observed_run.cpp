#include "cli/observed_run.hpp"

#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

#include "cli/common/output.hpp"
#include "cli/gpus.hpp"

namespace foreshard::cli {
namespace {

constexpr const char* kForm = "expected [MODEL@RANKS[xNODES]:]PLAN=TOKENS_PER_S[/gpu]";

template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || !(number > 0) ||
      number > std::numeric_limits<Number>::max()) {
    return {};
  }
  return number;
}

// Takes "MODEL@RANKS[xNODES]:" off the front.
Result<void> read_job(std::string_view& text, Asked& job) {
  const std::size_t at = text.find('@');
  const std::size_t colon = at == std::string_view::npos ? at : text.find(':', at);
  if (colon == std::string_view::npos) return {};
  const std::string_view size = text.substr(at + 1, colon - at - 1);
  const std::size_t cross = size.find('x');
  const auto ranks = number_in<int>(size.substr(0, cross));
  const auto nodes =
      cross == std::string_view::npos ? std::optional(0) : number_in<int>(size.substr(cross + 1));
  if (!ranks || !nodes) {
    return fail("", "--observed", "\"" + std::string(size) + "\" are no ranks; " + kForm);
  }
  if (at == 0) return fail("", "--observed", "has no model before '@'; " + std::string(kForm));
  job.model = text.substr(0, at);
  job.ranks = *ranks;
  job.nodes = *nodes > 0 ? nodes : std::nullopt;
  text.remove_prefix(colon + 1);
  return {};
}

}  // namespace

Result<simulator::ObservedRun> observed_run(const std::string& given, const QuestionOptions& defaults,
                                            const std::string& machine_id) {
  std::string_view text = given;
  QuestionOptions options = defaults;
  if (auto ok = read_job(text, options.said); !ok) return tl::unexpected(ok.error());
  const std::size_t equals = text.rfind('=');
  if (equals == std::string_view::npos) return fail("", "--observed", given + ": " + kForm);
  std::string_view figure = text.substr(equals + 1);
  const bool is_per_gpu = figure.ends_with("/gpu");
  if (is_per_gpu) figure.remove_suffix(4);
  const auto tokens = number_in<double>(figure);
  if (!tokens) {
    return fail("", "--observed",
                "\"" + std::string(figure) + "\" is no number of tokens per second; " + kForm);
  }
  options.plan = text.substr(0, equals);
  if (options.plan.empty()) return fail("", "--observed", given + " has no plan; " + kForm);
  if (options.said.model.empty() || options.said.ranks < 1) {
    return fail("", options.said.model.empty() ? "--model" : "--ranks",
                "is missing for " + given + "; expected it, or MODEL@RANKS: before the plan");
  }
  options.said.machine = machine_id;
  auto asked = options.load(own_device_by({}));
  if (!asked) return tl::unexpected(asked.error());
  const Job& job = asked->job;
  const double per_second = *tokens * (is_per_gpu ? job.ranks : 1);
  const double step_ns = 1e9 * static_cast<double>(tokens_per_step(job)) / per_second;
  constexpr double kLongestNs = 1e15;
  if (!(step_ns >= 1 && step_ns <= kLongestNs)) {
    return fail("", "--observed",
                given + " is a step of " + std::to_string(step_ns / 1e9) +
                    " s; expected tokens per second of a run");
  }
  return simulator::ObservedRun{options.plan, job,
                                Nanoseconds(static_cast<std::int64_t>(step_ns))};
}

}  // namespace foreshard::cli
