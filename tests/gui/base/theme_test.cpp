// Colours can be told apart, by eyes of every kind, and text can be read.
#include "gui/paint/theme.hpp"

#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace foreshard::gui {
namespace {

using Linear = std::array<double, 3>;

Linear linear(QColor colour) {
  const auto one = [](double c) {
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  return {one(colour.redF()), one(colour.greenF()), one(colour.blueF())};
}

// Machado, Oliveira and Fernandes (2009), severity 1, in linear RGB.
constexpr std::array<std::array<double, 9>, 4> kSight{{
    {1, 0, 0, 0, 1, 0, 0, 0, 1},
    {0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998},
    {0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881},
    {1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.303900},
}};

// OKLab: Bjorn Ottosson, 2020.
Linear oklab(const Linear& c) {
  const double l = std::cbrt(0.4122214708 * c[0] + 0.5363325363 * c[1] + 0.0514459929 * c[2]);
  const double m = std::cbrt(0.2119034982 * c[0] + 0.6806995451 * c[1] + 0.1073969566 * c[2]);
  const double s = std::cbrt(0.0883024619 * c[0] + 0.2817188376 * c[1] + 0.6299787005 * c[2]);
  return {0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
          1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
          0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

double distance(QColor a, QColor b, const std::array<double, 9>& sight) {
  const auto seen = [&](QColor colour) {
    const Linear c = linear(colour);
    Linear out{};
    for (std::size_t n = 0; n < 3; ++n) {
      out[n] = std::clamp(sight[3 * n] * c[0] + sight[3 * n + 1] * c[1] + sight[3 * n + 2] * c[2],
                          0.0, 1.0);
    }
    return oklab(out);
  };
  const Linear x = seen(a), y = seen(b);
  return 100 * std::hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]);
}

double contrast(QColor a, QColor b) {  // WCAG 2.1
  const auto luminance = [](QColor colour) {
    const Linear c = linear(colour);
    return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
  };
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

void expect_told_apart(const Theme& theme, const std::vector<Role>& roles, double normal,
                       double others) {
  for (std::size_t a = 0; a < roles.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      for (std::size_t sight = 0; sight < kSight.size(); ++sight) {
        EXPECT_GE(distance(theme[roles[a]], theme[roles[b]], kSight[sight]),
                  sight == 0 ? normal : others)
            << "roles " << static_cast<int>(roles[a]) << " and " << static_cast<int>(roles[b])
            << ", sight " << sight;
      }
    }
  }
}

std::vector<Role> roles(Role first, Role last) {
  std::vector<Role> all;
  for (auto n = static_cast<int>(first); n <= static_cast<int>(last); ++n) {
    all.push_back(static_cast<Role>(n));
  }
  return all;
}

// Twice what is just noticeable in OKLab is 4.
TEST(Theme, ColoursOfOnePictureAreToldApartByEveryEye) {
  for (const ThemeName name : {ThemeName::light, ThemeName::dark}) {
    const Theme& theme = Theme::of(name);
    expect_told_apart(theme, roles(Role::forward, Role::copies), 12, 8);
    expect_told_apart(theme, roles(Role::memory_parameters, Role::memory_workspaces), 9, 5);
    std::vector<Role> costs = roles(Role::cost_measured, Role::cost_unknown);
    costs.insert(costs.end(), {Role::host, Role::canvas});  // without a cost, and idle
    expect_told_apart(theme, costs, 12, 8);
  }
}

TEST(Theme, TextIsRead) {
  for (const ThemeName name : {ThemeName::light, ThemeName::dark}) {
    const Theme& theme = Theme::of(name);
    for (const Role ground : {Role::canvas, Role::panel, Role::raised}) {
      for (const Role text : {Role::text, Role::text2, Role::text3}) {
        EXPECT_GE(contrast(theme[text], theme[ground]), 4.5);
      }
    }
    for (const Role fill : roles(Role::forward, Role::cost_unknown)) {
      EXPECT_GE(contrast(theme.text_on(theme[fill]), theme[fill]), 3);
    }
  }
}

}  // namespace
}  // namespace foreshard::gui
