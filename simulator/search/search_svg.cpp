#include <algorithm>
#include <cmath>

#include "models/base/figures.hpp"
#include "simulator/search/search_report.hpp"

namespace foreshard::simulator {
namespace {

constexpr double kWidth = 460, kHeight = 320, kLeft = 80, kTop = 40, kBottom = 56, kRight = 20;
constexpr double kPanelWidth = kLeft + kWidth + kRight, kPanelHeight = kTop + kHeight + kBottom;
constexpr const char* kText = "font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\"";

struct Dot {
  double x = 0, y = 0;
  std::string title;
};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  }
  return out;
}

// 1, 2 or 5 times a power of ten, so that `most` has four to ten steps.
double tick_step(double most) {
  const double power = std::pow(10, std::floor(std::log10(most)) - 1);
  for (const double times : {1.0, 2.0, 5.0, 10.0}) {
    if (most / (times * power) <= 10) return times * power;
  }
  return 20 * power;
}

// One plot whose axes begin at zero, moved to the right by `shift`.
std::string panel(double shift, const std::string& x_name, const std::vector<Dot>& dots) {
  double most_x = 0, most_y = 0;
  for (const Dot& dot : dots) {
    most_x = std::max(most_x, 1.08 * dot.x);
    most_y = std::max(most_y, 1.08 * dot.y);
  }
  const auto at_x = [&](double x) { return kLeft + x / most_x * kWidth; };
  const auto at_y = [&](double y) { return kTop + kHeight - y / most_y * kHeight; };
  std::string svg = formatted("<g transform=\"translate(%g 0)\">\n", shift);
  for (double x = 0; x <= most_x; x += tick_step(most_x)) {
    svg += formatted(
        "<line x1=\"%.1f\" y1=\"%g\" x2=\"%.1f\" y2=\"%g\" stroke=\"#ddd\"/>"
        "<text x=\"%.1f\" y=\"%g\" text-anchor=\"middle\" %s>%g</text>\n",
        at_x(x), kTop, at_x(x), kTop + kHeight, at_x(x), kTop + kHeight + 18, kText, x);
  }
  for (double y = 0; y <= most_y; y += tick_step(most_y)) {
    svg += formatted(
        "<line x1=\"%g\" y1=\"%.1f\" x2=\"%g\" y2=\"%.1f\" stroke=\"#ddd\"/>"
        "<text x=\"%g\" y=\"%.1f\" text-anchor=\"end\" %s>%g</text>\n",
        kLeft, at_y(y), kLeft + kWidth, at_y(y), kLeft - 6, at_y(y) + 4, kText, y);
  }
  svg += formatted("<text x=\"%g\" y=\"%g\" text-anchor=\"middle\" %s>%s</text>\n",
                   kLeft + kWidth / 2, kTop + kHeight + 40, kText, x_name.c_str());
  svg += formatted("<text x=\"%g\" y=\"24\" %s>tokens/s</text>\n", kLeft, kText);
  std::string path;
  for (std::size_t d = 0; d < dots.size(); ++d) {
    path += formatted(d == 0 ? "M%.1f %.1f" : "H%.1fV%.1f", at_x(dots[d].x), at_y(dots[d].y));
  }
  svg += "<path d=\"" + path + "\" fill=\"none\" stroke=\"#1f77b4\" stroke-width=\"1.5\"/>\n";
  for (const Dot& dot : dots) {
    svg += formatted("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"#1f77b4\"><title>",
                     at_x(dot.x), at_y(dot.y)) +
           escaped(dot.title) + "</title></circle>\n";
  }
  return svg + "</g>\n";
}

std::string title_of(const FoundPlan& plan) {
  std::string title = target_name(plan.target) + formatted(": %.0f tokens/s, ", plan.tokens_per_s) +
                      binary_bytes(plan.peak_reserved);
  for (const auto& [key, value] : plan.values) title += "\n" + key + " = " + value;
  return title;
}

}  // namespace

std::string search_svg(const SearchAnswer& answer) {
  // From left to right, as a front rises.
  std::vector<Dot> memory, cost;
  for (auto plan = answer.pareto.rbegin(); plan != answer.pareto.rend(); ++plan) {
    memory.push_back({static_cast<double>(plan->peak_reserved) / static_cast<double>(kGiB.count),
                      plan->tokens_per_s, title_of(*plan)});
  }
  for (auto plan = answer.pareto_cost.rbegin(); plan != answer.pareto_cost.rend(); ++plan) {
    cost.push_back({*plan->usd_per_million_tokens, plan->tokens_per_s, title_of(*plan)});
  }
  const double panels = (memory.empty() ? 0 : 1) + (cost.empty() ? 0 : 1);
  std::string svg = formatted(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" viewBox=\"0 0 %g "
      "%g\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
      kPanelWidth * std::max(1.0, panels), kPanelHeight, kPanelWidth * std::max(1.0, panels),
      kPanelHeight);
  if (memory.empty()) {
    svg += formatted("<text x=\"%g\" y=\"%g\" %s>no plan fits</text>\n", kLeft, kTop, kText);
  } else {
    svg += panel(0, "peak reserved memory of a GPU (GiB)", memory);
  }
  if (!cost.empty()) svg += panel(kPanelWidth, "US dollars for a million tokens", cost);
  return svg + "</svg>\n";
}

}  // namespace foreshard::simulator
