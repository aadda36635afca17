#include <algorithm>
#include <cmath>

#include "models/base/figures.hpp"
#include "simulator/search/search_report.hpp"

namespace foreshard::simulator {
namespace {

// In pixels. A panel is one plot with the list of its points below.
constexpr double kPlotWidth = 480, kPlotHeight = 300, kLeft = 90, kRight = 30, kTop = 56,
                 kAxis = 64, kLine = 17;
constexpr double kPanelWidth = kLeft + kPlotWidth + kRight;
constexpr double kListTop = kTop + kPlotHeight + kAxis;
constexpr std::size_t kLineLetters = 84;  // of the list
// Points that stand nearer to each other than their numbers are wide share the first one's.
constexpr double kNumberWidth = 18;

// Colours that people tell apart whatever their colour vision (Okabe and Ito, 2008).
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73",
                                    "#cc79a7", "#e69f00", "#56b4e9"};

struct Dot {
  double x = 0, y = 0;
  const FoundPlan* plan = nullptr;
};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  }
  return out;
}

// Where an axis begins and ends and how far its ticks are apart: 1, 2 or 5 times a power of ten.
struct Axis {
  double least = 0, most = 1, tick = 1;

  explicit Axis(std::vector<double> values) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    const bool begins_at_zero = *low < 0.4 * *high;
    const double span = std::max(*high - (begins_at_zero ? 0 : *low), 0.05 * *high);
    const double power = std::pow(10, std::floor(std::log10(span)) - 1);
    for (const double times : {1.0, 2.0, 5.0, 10.0, 20.0}) {
      tick = times * power;
      if (span / tick <= 8) break;
    }
    least = begins_at_zero ? 0 : std::floor(*low / tick - 0.2) * tick;
    most = std::ceil(*high / tick + 0.2) * tick;
  }
  double share(double value) const { return (value - least) / (most - least); }
  int ticks() const { return static_cast<int>(std::lround((most - least) / tick)); }
  double at_tick(int n) const { return least + n * tick; }
};

std::string tick_text(double value) {
  return value >= 10'000 ? with_thousands(std::llround(value)) : formatted("%g", value);
}

std::string text_at(double x, double y, const char* attributes, const std::string& text) {
  return formatted("<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes) + escaped(text) +
         "</text>\n";
}

class Panel {
 public:
  Panel(const Panel&) = delete;  // its points are pointed to
  Panel(Panel&&) = default;
  // `targets`: names in the order of their colours.
  Panel(std::string title, std::string x_name, std::vector<Dot> dots,
        const std::vector<std::string>& targets)
      : title_(std::move(title)),
        x_name_(std::move(x_name)),
        dots_(std::move(dots)),
        targets_(targets),
        x_(values(&Dot::x)),
        y_(values(&Dot::y)) {
    for (const Dot& dot : dots_) {
      if (numbered_.empty() || at_x(dot) - at_x(*numbered_.back()) >= kNumberWidth ||
          at_y(*numbered_.back()) - at_y(dot) >= kNumberWidth) {
        numbered_.push_back(&dot);
      }
    }
    write_list();
  }

  double height() const { return kListTop + kLine * static_cast<double>(list_.size()) + kLine; }

  std::string svg(double shift) const {
    std::string svg = formatted("<g transform=\"translate(%g 0)\">\n", shift);
    svg += text_at(kLeft, 28, "class=\"title\"", title_);
    svg += text_at(kLeft, kTop - 10, "class=\"name\"", "tokens/s");
    svg += text_at(kLeft + kPlotWidth / 2, kTop + kPlotHeight + 42,
                   "class=\"name\" text-anchor=\"middle\"", x_name_);
    return svg + grid() + front() + list() + "</g>\n";
  }

 private:
  std::vector<double> values(double Dot::*of) const {
    std::vector<double> all;
    for (const Dot& dot : dots_) all.push_back(dot.*of);
    return all;
  }
  double at_x(const Dot& dot) const { return kLeft + x_.share(dot.x) * kPlotWidth; }
  double at_y(const Dot& dot) const { return kTop + (1 - y_.share(dot.y)) * kPlotHeight; }

  std::string grid() const {
    std::string svg;
    for (int n = 0; n <= x_.ticks(); ++n) {
      const double x = kLeft + kPlotWidth * n / x_.ticks();
      svg += formatted("<path d=\"M%.1f %gV%g\" class=\"grid\"/>", x, kTop, kTop + kPlotHeight);
      svg +=
          text_at(x, kTop + kPlotHeight + 18, "text-anchor=\"middle\"", tick_text(x_.at_tick(n)));
    }
    for (int n = 0; n <= y_.ticks(); ++n) {
      const double y = kTop + kPlotHeight * (1 - n / static_cast<double>(y_.ticks()));
      svg += formatted("<path d=\"M%g %.1fH%g\" class=\"grid\"/>", kLeft, y, kLeft + kPlotWidth);
      svg += text_at(kLeft - 8, y + 4, "text-anchor=\"end\"", tick_text(y_.at_tick(n)));
    }
    return svg;
  }

  // With less than a point's memory or money the fastest plan is the one before it.
  std::string front() const {
    std::string path, points;
    for (const Dot& dot : dots_) {
      path += formatted(path.empty() ? "M%.1f %.1f" : "H%.1fV%.1f", at_x(dot), at_y(dot));
      points += formatted("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\" fill=\"%s\"><title>",
                          at_x(dot), at_y(dot), colour(dot)) +
                escaped(title_of(*dot.plan)) + "</title></circle>\n";
    }
    for (std::size_t n = 0; n < numbered_.size(); ++n) {
      points += text_at(at_x(*numbered_[n]) - 6, at_y(*numbered_[n]) - 8,
                        "class=\"number\" text-anchor=\"end\"", std::to_string(n + 1));
    }
    return formatted("<path d=\"%s H%g\" class=\"front\"/>\n", path.c_str(), kLeft + kPlotWidth) +
           points;
  }

  const char* colour(const Dot& dot) const {
    const auto at = std::find(targets_.begin(), targets_.end(), target_name(dot.plan->target));
    return kColours[static_cast<std::size_t>(at - targets_.begin()) % std::size(kColours)];
  }

  static std::string title_of(const FoundPlan& plan) {
    std::string title = target_name(plan.target) +
                        formatted(": %.0f tokens/s, ", plan.tokens_per_s) +
                        binary_bytes(plan.peak_reserved);
    for (const auto& [key, value] : plan.values) title += "\n" + key + " = " + value;
    return title;
  }

  // Of each numbered point where it runs, what it reaches, and what it has that the one before has not.
  void write_list() {
    std::vector<FoundPlan> plans;
    for (const Dot& dot : dots_) plans.push_back(*dot.plan);
    const auto keys = keys_that_differ(plans);
    if (!keys.empty())
      list_.push_back({0, nullptr, "Each plan with what differs from the one above:"});
    for (std::size_t n = 0; n < numbered_.size(); ++n) {
      const FoundPlan& plan = *numbered_[n]->plan;
      std::string line = target_name(plan.target) + ", " +
                         with_thousands(std::llround(plan.tokens_per_s)) + " tokens/s, " +
                         binary_bytes(plan.peak_reserved);
      if (plan.usd_per_million_tokens) line += formatted(", $%.3f", *plan.usd_per_million_tokens);
      list_.push_back({n + 1, numbered_[n], line});
      line.clear();
      for (const std::string& key : keys) {
        if (n > 0 && numbered_[n - 1]->plan->values.at(key) == plan.values.at(key)) continue;
        const std::string entry = key + " = " + plan.values.at(key);
        if (!line.empty() && line.size() + entry.size() > kLineLetters) {
          list_.push_back({0, nullptr, line + ","});
          line.clear();
        }
        line += (line.empty() ? "" : ", ") + entry;
      }
      if (!line.empty()) list_.push_back({0, nullptr, line});
    }
  }

  std::string list() const {
    std::string svg;
    double y = kListTop + kLine;
    for (const Line& line : list_) {
      if (line.dot != nullptr) {
        svg += formatted("<circle cx=\"%g\" cy=\"%.1f\" r=\"4.5\" fill=\"%s\"/>", kLeft - 8, y - 4,
                         colour(*line.dot));
        svg += text_at(kLeft - 20, y, "class=\"number\" text-anchor=\"end\"",
                       std::to_string(line.number));
      }
      svg += text_at(kLeft + 6, y, line.dot != nullptr ? "class=\"plan\"" : "class=\"values\"",
                     line.text);
      y += kLine;
    }
    return svg;
  }

  struct Line {
    std::size_t number = 0;
    const Dot* dot = nullptr;  // null: more of the point above
    std::string text;
  };

  std::string title_, x_name_;
  std::vector<Dot> dots_;  // from left to right, as a front rises
  std::vector<std::string> targets_;
  Axis x_, y_;
  std::vector<const Dot*> numbered_;
  std::vector<Line> list_;
};

constexpr const char* kStyle =
    "<style>text{font:12px sans-serif;fill:#444}.title{font-size:16px;font-weight:bold;fill:#111}"
    ".name{fill:#111}.number,.plan{font-weight:bold;fill:#111}.values{font-size:11px}"
    ".grid{stroke:#e4e4e4}.front{stroke:#888;stroke-width:1.5;fill:none}</style>\n";

// Of both fronts, each once.
std::vector<std::string> target_names(const SearchAnswer& answer) {
  std::vector<std::string> names;
  for (const auto* front : {&answer.pareto, &answer.pareto_cost}) {
    for (const FoundPlan& plan : *front) {
      const std::string name = target_name(plan.target);
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

}  // namespace

std::string search_svg(const SearchAnswer& answer) {
  std::vector<Dot> memory, cost;
  for (auto plan = answer.pareto.rbegin(); plan != answer.pareto.rend(); ++plan) {
    memory.push_back({static_cast<double>(plan->peak_reserved) / static_cast<double>(kGiB.count),
                      plan->tokens_per_s, &*plan});
  }
  for (auto plan = answer.pareto_cost.rbegin(); plan != answer.pareto_cost.rend(); ++plan) {
    cost.push_back({*plan->usd_per_million_tokens, plan->tokens_per_s, &*plan});
  }
  const std::vector<std::string> targets = target_names(answer);
  std::vector<Panel> panels;
  if (!memory.empty()) {
    panels.emplace_back("Speed and memory", "peak reserved memory of a GPU (GiB)",
                        std::move(memory), targets);
  }
  if (!cost.empty()) {
    panels.emplace_back("Speed and cost", "US dollars for a million tokens", std::move(cost),
                        targets);
  }
  const double width = kPanelWidth * static_cast<double>(std::max<std::size_t>(1, panels.size()));
  double height = panels.empty() ? kTop + kAxis : 0;
  for (const Panel& panel : panels) height = std::max(height, panel.height());
  std::string svg = formatted(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" "
      "viewBox=\"0 0 %g %g\">\n",
      width, height, width, height);
  svg += kStyle;
  svg += "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  if (panels.empty()) {
    svg += text_at(kLeft, kTop, "class=\"title\"",
                   answer.over_budget + answer.too_late > 0
                       ? "No plan that fits keeps budget and deadline"
                       : "No plan fits");
  }
  for (std::size_t p = 0; p < panels.size(); ++p) {
    svg += panels[p].svg(kPanelWidth * static_cast<double>(p));
  }
  return svg + "</svg>\n";
}

}  // namespace foreshard::simulator
