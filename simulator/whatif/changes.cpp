#include "simulator/whatif/changes.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fnmatch.h>

#include "models/base/nearest_names.hpp"

namespace foreshard::simulator {
namespace {

constexpr double kMostFactor = 1e6;

// A name and a factor of it, divided at the last =. No factor is also what is none.
struct Assignment {
  std::string name;
  std::string_view value;

  std::optional<double> factor() const {
    double number = 0;
    const char* const end = value.data() + value.size();
    const auto read = std::from_chars(value.data(), end, number);
    const bool is_factor =
        read.ec == std::errc() && read.ptr == end && number >= 0 && number <= kMostFactor;
    return is_factor ? std::optional(number) : std::nullopt;
  }
};

std::optional<Assignment> assignment(const std::string& text) {
  const std::size_t divide = text.rfind('=');
  if (divide == std::string::npos || divide == 0) return std::nullopt;
  return Assignment{text.substr(0, divide), std::string_view(text).substr(divide + 1)};
}

tl::unexpected<Error> not_a_factor(const char* option, const std::string& given) {
  return fail("", option,
              "'" + given +
                  "' gives no factor; expected a number from 0 to 1000000 after the last "
                  "=, by which a time is multiplied (0.5 halves it)");
}

struct Setting {
  const char* name;
  double Changes::*factor;
};
constexpr std::array kFactors{Setting{"collectives", &Changes::collectives},
                              Setting{"launch", &Changes::launch}, Setting{"host", &Changes::host}};
constexpr const char* kStragglers = "stragglers";

Result<void> set(Changes& changes, const std::string& given) {
  const auto setting = assignment(given);
  if (setting && setting->name == kStragglers) {
    if (setting->value != "none") {
      return fail("", "--set", "'" + given + "' is not known; expected stragglers=none");
    }
    changes.without_stragglers = true;
    return {};
  }
  for (const Setting& known : kFactors) {
    if (!setting || setting->name != known.name) continue;
    const auto factor = setting->factor();
    if (!factor) return not_a_factor("--set", given);
    changes.*known.factor = *factor;
    return {};
  }
  return fail("", "--set",
              "'" + given + "' cannot be set" +
                  did_you_mean(nearest_names(setting ? setting->name : given,
                                             {"collectives", "launch", "host", kStragglers})) +
                  "; expected collectives=FACTOR, launch=FACTOR, host=FACTOR or stragglers=none");
}

}  // namespace

Result<Changes> parse_changes(const std::vector<std::string>& scales,
                              const std::vector<std::string>& settings) {
  Changes changes;
  for (const std::string& given : scales) {
    const auto scale = assignment(given);
    const auto factor = scale ? scale->factor() : std::nullopt;
    if (!factor) return not_a_factor("--scale", given);
    changes.scales.push_back({scale->name, *factor});
  }
  std::set<std::string> names;
  for (const std::string& given : settings) {
    if (!names.insert(given.substr(0, given.rfind('='))).second) {
      return fail("", "--set", "'" + given + "' sets again what was set; expected each name once");
    }
    if (auto done = set(changes, given); !done) return tl::unexpected(done.error());
  }
  return changes;
}

Result<std::vector<double>> activity_factors(const Changes& changes, const RecordedRun& run,
                                             const traces::Strings& strings) {
  std::vector<double> factors(kOtherActivities + run.classes.size(), 1.0);
  factors[kHost] = changes.host;
  factors[kLaunch] = changes.host * changes.launch;
  for (std::size_t c = 0; c < run.classes.size(); ++c) {
    if (run.classes[c].kind == traces::EventKind::communication) {
      factors[kOtherActivities + c] = changes.collectives;
    }
  }
  for (const Scale& scale : changes.scales) {
    bool matches = false;
    for (std::size_t c = 0; c < run.classes.size(); ++c) {
      const std::string& name = strings[run.classes[c].name];
      if (::fnmatch(scale.glob.c_str(), name.c_str(), FNM_NOESCAPE) != 0) continue;
      factors[kOtherActivities + c] *= scale.factor;
      matches = true;
    }
    if (!matches) {
      return fail("", "--scale",
                  "'" + scale.glob +
                      "' matches no work of a device in this recording; expected the "
                      "name of a kernel, copy or collective, or a glob of *, ? and [...]");
    }
  }
  return factors;
}

}  // namespace foreshard::simulator
