// Operators that work element by element, and the sum of squares.

template <class T>
void swiglu(const void* gate, const void* up, void* out, Index n) {
  const T* g = static_cast<const T*>(gate);
  const T* u = static_cast<const T*>(up);
  T* y = static_cast<T*>(out);
  sweep(n, [&](Index i, auto extent) {
    const Floats x = load(g + i, extent);
    store(y + i, x / (1.0F + exponential(-x)) * load(u + i, extent), extent);
  });
}

// With s = sigmoid(gate): d(gate) = dout * up * s * (1 + gate * (1 - s)), d(up) = dout * gate * s.
template <class T>
void swiglu_backward(const void* dout, void* gate, void* up, Index n) {
  const T* d = static_cast<const T*>(dout);
  T* g = static_cast<T*>(gate);
  T* u = static_cast<T*>(up);
  sweep(n, [&](Index i, auto extent) {
    const Floats x = load(g + i, extent), dy = load(d + i, extent);
    const Floats s = 1.0F / (1.0F + exponential(-x));
    store(g + i, dy * load(u + i, extent) * s * (1.0F + x * (1.0F - s)), extent);
    store(u + i, dy * x * s, extent);
  });
}

template <class From, class To>
void cast(const void* from, void* to, Index n) {
  const From* x = static_cast<const From*>(from);
  To* y = static_cast<To*>(to);
  sweep(n, [&](Index i, auto extent) { store(y + i, load(x + i, extent), extent); });
}

template <class From, class To>
void add(const void* from, void* to, Index n) {
  const From* x = static_cast<const From*>(from);
  To* y = static_cast<To*>(to);
  sweep(n, [&](Index i, auto extent) {
    store(y + i, load(y + i, extent) + load(x + i, extent), extent);
  });
}

template <class T>
void add_and_divide(const void* left, const void* right, void* out, Index n, float by) {
  const T* x = static_cast<const T*>(left);
  const T* y = static_cast<const T*>(right);
  T* z = static_cast<T*>(out);
  sweep(n, [&](Index i, auto extent) {
    store(z + i, load(x + i, extent) + load(y + i, extent), extent);
    if (by != 1) store(z + i, load(z + i, extent) / by, extent);
  });
}

template <class T>
double sum_of_squares(const void* elements, Index n) {
  const T* x = static_cast<const T*>(elements);
  Doubles even = {}, odd = {};
  Index i = 0;
  for (; i + 2 * kWidth <= n; i += 2 * kWidth) {
    const Doubles a = __builtin_convertvector(load(x + i), Doubles);
    const Doubles b = __builtin_convertvector(load(x + i + kWidth), Doubles);
    even += a * a;
    odd += b * b;
  }
  double rest = 0;
  for (; i < n; ++i)
    rest += static_cast<double>(to_float(x[i])) * static_cast<double>(to_float(x[i]));
  return sum(even + odd) + rest;
}

template <class Gradient, class Parameter, class State>
void adamw(const void* gradient, void* parameter, void* exp_avg, void* exp_avg_sq, Index n,
           const AdamwScalars& s) {
  const Gradient* g = static_cast<const Gradient*>(gradient);
  Parameter* p = static_cast<Parameter*>(parameter);
  State* m = static_cast<State*>(exp_avg);
  State* v = static_cast<State*>(exp_avg_sq);
  const AdamwScalars k = s;  // a copy, which stores through p, m and v cannot alias
  sweep(n, [&](Index i, auto extent) {
    const Floats d = load(g + i, extent) * k.clip;
    const Floats mean = load(m + i, extent) * k.beta1 + d * k.beta1_rest;
    const Floats square = load(v + i, extent) * k.beta2 + d * d * k.beta2_rest;
    const Floats denominator = square_root(square) / k.root + k.eps;
    store(m + i, mean, extent);
    store(v + i, square, extent);
    store(p + i, load(p + i, extent) * k.keep - k.step * (mean / denominator), extent);
  });
}

template <class Gradient, class Parameter>
void sgd(const void* gradient, void* parameter, Index n, const SgdScalars& s) {
  const Gradient* g = static_cast<const Gradient*>(gradient);
  Parameter* p = static_cast<Parameter*>(parameter);
  const SgdScalars k = s;
  sweep(n, [&](Index i, auto extent) {
    const Floats x = load(p + i, extent);
    store(p + i, x - k.lr * (load(g + i, extent) * k.clip + k.weight_decay * x), extent);
  });
}
