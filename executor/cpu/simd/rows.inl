// Operators that work row by row: RMSNorm, rotary embedding, cross entropy, sums over rows.

template <class T>
FORESHARD_INLINE Floats rounded(Floats x) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return x;
  } else {
    return widen(narrow(x));
  }
}

template <class T>
void rms_norm(const void* x_rows, const void* weight, void* y_rows, float* rstd, Index rows,
              Index width, float eps) {
  const T* w = static_cast<const T*>(weight);
  for (Index r = 0; r < rows; ++r) {
    const T* x = static_cast<const T*>(x_rows) + r * width;
    T* y = static_cast<T*>(y_rows) + r * width;
    Floats squares = {};
    sweep(width, [&](Index i, auto extent) {
      const Floats v = load(x + i, extent);
      squares += v * v;
    });
    const float factor = 1.0F / __builtin_sqrtf(sum(squares) / static_cast<float>(width) + eps);
    rstd[r] = factor;
    sweep(width, [&](Index i, auto extent) {
      store(y + i, rounded<T>(load(x + i, extent) * factor) * load(w + i, extent), extent);
    });
  }
}

// With h = x * rstd and g = dy * w: dx = rstd * (g - h * mean(g * h)), dw = sum over rows of dy * h,
// where h is rounded as the forward rounded it.
template <class T>
void rms_norm_backward(const void* dy_rows, const void* x_rows, const void* weight,
                       const float* rstd, void* dx_rows, float* dw_sum, Index rows, Index width,
                       bool accumulate) {
  const T* w = static_cast<const T*>(weight);
  __builtin_memset(dw_sum, 0, static_cast<std::size_t>(width) * sizeof(float));
  for (Index r = 0; r < rows; ++r) {
    const T* dy = static_cast<const T*>(dy_rows) + r * width;
    const T* x = static_cast<const T*>(x_rows) + r * width;
    T* dx = static_cast<T*>(dx_rows) + r * width;
    const float factor = rstd[r];
    Floats products = {};
    sweep(width, [&](Index i, auto extent) {
      const Floats g = load(dy + i, extent), h = load(x + i, extent) * factor;
      products += g * load(w + i, extent) * h;
      store(dw_sum + i, load(dw_sum + i, extent) + g * rounded<T>(h), extent);
    });
    const float mean = sum(products) / static_cast<float>(width);
    sweep(width, [&](Index i, auto extent) {
      const Floats g = load(dy + i, extent) * load(w + i, extent);
      const Floats h = load(x + i, extent) * factor;
      Floats result = (g - h * mean) * factor;
      if (accumulate) result += load(dx + i, extent);
      store(dx + i, result, extent);
    });
  }
}

// The half rotation of Hugging Face: element i of a head pairs with element i + head_dim / 2. Table,
// products and sum round to T, as PyTorch computes them.
template <class T>
void rope(void* rows, const float* table, Index begin, Index end, Index sequence, Index heads,
          Index head_dim, float sign) {
  const Index half = head_dim / 2;
  for (Index r = begin; r < end; ++r) {
    const float* cosines = table + r % sequence * half;
    const float* sines = cosines + sequence * half;
    for (Index h = 0; h < heads; ++h) {
      T* x = static_cast<T*>(rows) + (r * heads + h) * head_dim;
      sweep(half, [&](Index i, auto extent) {
        const Floats c = rounded<T>(load(cosines + i, extent));
        const Floats s = rounded<T>(load(sines + i, extent)) * sign;
        const Floats a = load(x + i, extent), b = load(x + half + i, extent);
        store(x + i, rounded<T>(a * c) - rounded<T>(b * s), extent);
        store(x + half + i, rounded<T>(b * c) + rounded<T>(a * s), extent);
      });
    }
  }
}

// lse = largest + log(sum of exp(x - largest)); sums of kRun elements are fp32, their sum is double.
template <class T>
void cross_entropy(const void* logits, float* lse, Index rows, Index width) {
  constexpr Index kRun = 1024;
  for (Index r = 0; r < rows; ++r) {
    const T* x = static_cast<const T*>(logits) + r * width;
    // A NaN need not be the largest: it makes the sum of exponentials NaN.
    Floats peaks = broadcast(to_float(x[0]));
    Index whole = width / kWidth * kWidth;
    for (Index i = 0; i < whole; i += kWidth) peaks = larger_or_second(load(x + i), peaks);
    float peak = largest(peaks);
    for (Index i = whole; i < width; ++i) peak = larger(peak, to_float(x[i]));
    double total = 0;
    for (Index run = 0; run < width; run += kRun) {
      const Index length = width - run < kRun ? width - run : kRun;
      Floats sums = {};
      whole = length / kWidth * kWidth;
      for (Index i = 0; i < whole; i += kWidth) sums += exponential(load(x + run + i) - peak);
      if (whole < length) {
        const Floats last = exponential(load(x + run + whole, length - whole) - peak);
        for (Index i = 0; i < length - whole; ++i) sums[i] += last[i];
      }
      total += static_cast<double>(sum(sums));
    }
    lse[r] = static_cast<float>(static_cast<double>(peak) + __builtin_log(total));
  }
}

template <class T>
void cross_entropy_backward(void* logits, const std::int32_t* targets, const float* lse, Index rows,
                            Index width, float scale) {
  for (Index r = 0; r < rows; ++r) {
    T* x = static_cast<T*>(logits) + r * width;
    T* const target = x + targets[r];
    const Floats at_target = exponential(broadcast(to_float(*target)) - lse[r]);
    sweep(width, [&](Index i, auto extent) {
      store(x + i, exponential(load(x + i, extent) - lse[r]) * scale, extent);
    });
    store(target, (at_target - 1.0F) * scale, 1);
  }
}

template <class T>
void sum_rows(const void* x, Index rows, Index stride, Index columns, void* out) {
  constexpr Index kRun = 64;  // rows summed before they join the total: keeps rounding small
  sweep(columns, [&](Index i, auto extent) {
    Floats total = {};
    for (Index run = 0; run < rows; run += kRun) {
      Floats partial = {};
      for (Index r = run; r < rows && r < run + kRun; ++r) {
        partial += load(static_cast<const T*>(x) + r * stride + i, extent);
      }
      total += partial;
    }
    store(static_cast<T*>(out) + i, total, extent);
  });
}
