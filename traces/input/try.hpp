// Assigns the value of a Result, or returns its error from the function at hand.
#pragma once

#include <utility>

#include "models/base/error.hpp"

#define FORESHARD_TRY(target, expression)     \
  if (auto result_ = (expression); result_) { \
    (target) = std::move(*result_);           \
  } else {                                    \
    return tl::unexpected(result_.error());   \
  }
