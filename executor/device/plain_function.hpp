// A callable stored in place: what is handed to other threads without allocating. It is copied byte
// by byte, so it can only capture plain values and pointers.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <new>
#include <type_traits>

namespace foreshard::executor {

template <typename Signature, std::size_t kCapacity>
class PlainFunction;

template <typename... Arguments, std::size_t kCapacity>
class PlainFunction<void(Arguments...), kCapacity> {
 public:
  PlainFunction() = default;  // which is nothing to call

  template <typename Callable>
  requires(!std::same_as<Callable, PlainFunction> && std::invocable<Callable&, Arguments...>)
      PlainFunction(Callable callable)
      : invoke_([](std::byte* payload, Arguments... arguments) {
          (*std::launder(reinterpret_cast<Callable*>(payload)))(arguments...);
        }) {
    static_assert(sizeof(Callable) <= kCapacity && alignof(Callable) <= alignof(void*),
                  "the captures must fit");
    static_assert(
        std::is_trivially_copyable_v<Callable> && std::is_trivially_destructible_v<Callable>,
        "capture plain values and pointers only");
    new (payload_.data()) Callable(callable);
  }

  explicit operator bool() const { return invoke_ != nullptr; }
  void operator()(Arguments... arguments) { invoke_(payload_.data(), arguments...); }

 private:
  void (*invoke_)(std::byte* payload, Arguments... arguments) = nullptr;
  alignas(void*) std::array<std::byte, kCapacity> payload_;  // as much of it as the callable takes
};

}  // namespace foreshard::executor
