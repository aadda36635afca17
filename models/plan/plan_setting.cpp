#include "models/plan/plan_setting.hpp"

#include <type_traits>
#include <utility>

#include "models/plan/plan_keys.hpp"

namespace foreshard {
namespace {

// A field's value, by itself.
template <typename Field>
auto value_of(const Field& field) {
  return field;
}
template <typename T>
auto value_of(const Pair<T>& pair) {
  return std::pair(std::remove_const_t<T>(pair.first), std::remove_const_t<T>(pair.second));
}
template <typename T>
auto value_of(const SavedOutputs<T>& saved) {
  return std::array{saved.attention, saved.matmul, saved.every_second_matmul};
}

template <typename Field>
void assign(Field& field, const Field& value) {
  field = value;
}
template <typename T>
void assign(const Pair<T>& pair, const std::pair<T, T>& value) {
  pair.first = value.first;
  pair.second = value.second;
}
void assign(const SavedOutputs<bool>& saved, const std::array<bool, 3>& value) {
  saved.attention = value[0];
  saved.matmul = value[1];
  saved.every_second_matmul = value[2];
}

// use(field) of the key with that number.
template <typename PlanType, typename Use>
void with_field(PlanType& plan, std::size_t number, const Use& use) {
  std::size_t n = 0;
  visit_plan_keys(plan, [&](std::string_view, std::string_view, auto&& field, auto&&) {
    if (n++ == number) use(field);
  });
}

}  // namespace

PlanSetting::PlanSetting(const Plan& plan, std::size_t key)
    : number_(key), spelt_(spelt_keys(plan)[key]) {
  with_field(plan, key, [&](const auto& field) { value_ = value_of(field); });
}

void PlanSetting::set_in(Plan& plan) const {
  with_field(plan, number_, [&](auto& field) {
    using Value = decltype(value_of(std::as_const(field)));
    assign(field, *std::any_cast<Value>(&value_));
  });
}

}  // namespace foreshard
