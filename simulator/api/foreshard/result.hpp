// A value, or the error that a user can cause: a file, key or setting that is wrong. Functions of this
// interface throw nothing but what the standard library throws when memory runs out.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace foreshard::api {

struct Error {
  std::string file;     // path or name of the input; empty: there is none
  std::string field;    // key or setting in it; empty: the whole input is wrong
  std::string message;  // "what is wrong; what is expected"

  // "FILE: FIELD: message", without what is empty.
  std::string text() const {
    return (file.empty() ? "" : file + ": ") + (field.empty() ? "" : field + ": ") + message;
  }
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : either_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : either_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return std::holds_alternative<T>(either_); }
  // std::bad_variant_access where there is the other.
  T& value() { return std::get<T>(either_); }
  const T& value() const { return std::get<T>(either_); }
  const Error& error() const { return std::get<Error>(either_); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Error> either_;
};

}  // namespace foreshard::api
