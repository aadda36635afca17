#include "models/lowering/operators/pytorch/eager_norm.hpp"

namespace foreshard::lowering {
namespace {

// Bytes of the tensors that single operators work on: of the stream's type, in fp32, a number a row.
struct Sizes {
  Sizes(const EagerWriter& w, const EagerNorm& n)
      : x(w.of_stream(n.rows * n.width)), wide(4 * n.rows * n.width), row(4 * n.rows) {}
  std::int64_t x, wide, row;
};

// Whether the norm works on a copy in fp32.
bool casts(const EagerWriter& w) {
  return item_size(w.stream_type) == 2;
}

bool trains(const EagerWriter& w, const EagerNorm& n) {
  return w.trains({n.module, 0});
}

// Single operators, which write the norm's own tensors where autograd records them.
struct Steps {
  Steps(EagerWriter& writer, Slot x) : w(writer), needs_dx(writer.requires_gradient(x)) {}

  Slot operator()(Slot own, std::string_view op, std::int64_t bytes, EagerWriter::Reads in) const {
    if (!w.records()) return w.make(op, bytes, in);
    w.write(own, op, in);
    return own;
  }

  EagerWriter& w;
  bool needs_dx;
};

// transformers: to fp32, pow, mean, add, rsqrt, mul, to the compute type, mul by the weight.
Slot transformers_forward(EagerWriter& w, const EagerNorm& n, Slot x) {
  const Sizes s(w, n);
  const bool cast = casts(w);
  const Steps at(w, x);
  const Slot wide = cast ? at(n.wide, "aten::_to_copy", s.wide, {x}) : kNone;
  const Slot input = cast ? wide : x;
  const Slot squares = w.make("aten::pow", s.wide, {input});
  const Slot mean = w.make("aten::mean", s.row, {squares});
  w.free({squares});
  const Slot sum = w.make("aten::add", s.row, {mean});
  const Slot rstd = at(n.rstd, "aten::rsqrt", s.row, {sum});
  w.free({sum});
  if (at.needs_dx) {
    w.save(input);
    w.save(rstd);
  }
  const Slot product = cast ? w.make("aten::mul", s.wide, {input, rstd})
                            : at(n.normalized, "aten::mul", s.wide, {input, rstd});
  w.drop({rstd, wide});
  const Slot normalized = cast ? at(n.normalized, "aten::_to_copy", s.x, {product}) : product;
  if (trains(w, n)) w.save(normalized);
  const Slot out = at(n.output, "aten::mul", s.x, {normalized});
  w.drop({normalized});
  w.free({cast ? product : kNone, mean});
  return out;
}

// torch.nn.RMSNorm up to 2.8, multiplied by the weight in fp32, up to 2.6 after the cast.
Slot torch_forward(EagerWriter& w, const EagerNorm& n, Slot x) {
  const Sizes s(w, n);
  const bool cast = casts(w);
  const Steps at(w, x);
  const Slot wide = cast ? at(n.wide, "aten::_to_copy", s.wide, {x}) : kNone;
  const Slot input = cast ? wide : x;
  const Slot squares = w.make("aten::pow", s.wide, {input});
  const Slot mean = w.make("aten::mean", s.row, {squares});
  const Slot rstd = at(n.rstd, "aten::rsqrt", s.row, {mean});
  w.free({mean, squares});
  if (at.needs_dx) {
    w.save(input);
    w.save(rstd);
  }
  if (cast && w.rules.norm_weight_after_cast) {
    const Slot product = w.make("aten::mul", s.wide, {input, rstd});
    const Slot narrow = at(n.normalized, "aten::_to_copy", s.x, {product});
    w.free({product});
    if (trains(w, n)) w.save(narrow);
    const Slot out = at(n.output, "aten::mul", s.x, {narrow});
    w.drop({narrow, rstd, wide});
    return out;
  }
  const Slot product = at(n.normalized, "aten::mul", s.wide, {input, rstd});
  if (trains(w, n)) w.save(product);
  if (!cast) {
    const Slot out = at(n.output, "aten::mul", s.wide, {product});
    w.drop({product, rstd});
    return out;
  }
  const Slot weighted = w.make("aten::mul", s.wide, {product});
  w.drop({product, rstd, wide});
  const Slot out = at(n.output, "aten::_to_copy", s.x, {weighted});
  w.free({weighted});
  return out;
}

Slot fused_forward(EagerWriter& w, const EagerNorm& n, Slot x) {
  const Steps at(w, x);
  const Slot out = at(n.output, "aten::_fused_rms_norm", w.bytes(n.output), {x});
  if (!w.records() || !(at.needs_dx || trains(w, n))) {
    w.free({w.scratch(w.bytes(n.rstd))});
    return out;
  }
  w.allocate(n.rstd);
  w.save(x);
  w.save(n.rstd);
  return out;
}

// The first term that comes for the residual stream.
void add_to_residual(EagerWriter& w, const NormBackward& at, Slot term) {
  if (at.held == kNone) {
    w.update(at.residual, "aten::add_", {term});
  } else {
    w.write(at.residual, "aten::add", {at.held, term});
  }
  w.free({term});
}

// From the gradient of the normalized tensor, in fp32, to that of the input: through mul, rsqrt, mean
// and pow. `dn` is freed.
Slot statistics_backward(EagerWriter& w, const EagerNorm& n, const NormBackward& at, Slot dn) {
  const Sizes s(w, n);
  const bool cast = casts(w);
  const Slot input = cast ? n.wide : at.x;
  const Slot product = w.make("aten::mul", s.wide, {dn, input});
  Slot dx = w.make("aten::mul", s.wide, {dn, n.rstd});
  const Slot d_rstd = w.make("aten::sum", s.row, {product});
  w.free({product, dn});
  const bool joins_residual = !cast && at.residual != kNone;
  if (joins_residual) {
    add_to_residual(w, at, dx);
    dx = kNone;
  }
  const Slot a = w.make("aten::mul", s.row, {d_rstd}), b = w.make("aten::pow", s.row, {n.rstd}),
             d_mean = w.make("aten::mul", s.row, {a, b});
  w.free({b, a});
  if (!at.recomputed) w.free({d_rstd});
  w.release({n.rstd});
  if (at.recomputed) w.free({d_rstd});
  const Slot spread = w.make("aten::div", s.wide, {d_mean});
  w.free({d_mean});
  const Slot power = w.make("aten::pow", s.wide, {input}),
             twice = w.make("aten::mul", s.wide, {power}),
             d_square = w.make("aten::mul", s.wide, {spread, twice});
  if (at.recomputed) {
    w.free({twice, power});
    w.release({cast ? n.wide : at.is_first_of_checkpoint ? kNone : at.x});
    w.free({spread});
    w.free_all(at.arguments);
  } else {
    w.free({twice, power, spread});
    w.release({cast ? n.wide : at.x});
  }
  w.update(joins_residual ? at.residual : dx, "aten::add_", {d_square});
  w.free({d_square});
  return dx;
}

// The rest of the way, from dx in fp32.
Slot to_stream_type(EagerWriter& w, const EagerNorm& n, const NormBackward& at, Slot dx) {
  if (dx == kNone) return kNone;
  if (casts(w)) {
    const Slot narrow = w.make("aten::_to_copy", w.of_stream(n.rows * n.width), {dx});
    w.free({dx});
    dx = narrow;
  }
  if (at.residual == kNone) return dx;
  add_to_residual(w, at, dx);
  return kNone;
}

Slot transformers_backward(EagerWriter& w, const EagerNorm& n, const NormBackward& at) {
  const Sizes s(w, n);
  const bool needs_dx = w.requires_gradient(at.x);
  Slot dn = needs_dx ? w.make("aten::mul", s.x, {at.dy}) : kNone;
  if (trains(w, n)) {
    const Slot product = w.make("aten::mul", s.x, {at.dy, n.normalized});
    if (at.recomputed) w.release({n.normalized});
    const Slot dw = w.gradient(n.module, n.width);
    w.sum_rows(dw, product, n.rows, n.width);
    w.free({product});
    w.ready(dw);
  }
  w.free({at.dy});
  w.release({n.normalized});
  w.accumulate();
  if (!needs_dx) {
    w.free_all(at.arguments);
    return kNone;
  }
  if (casts(w)) {
    const Slot wide = w.make("aten::_to_copy", s.wide, {dn});
    w.free({dn});
    dn = wide;
  }
  return to_stream_type(w, n, at, statistics_backward(w, n, at, dn));
}

Slot torch_backward(EagerWriter& w, const EagerNorm& n, const NormBackward& at) {
  const Sizes s(w, n);
  const bool cast = casts(w), early = cast && w.rules.norm_weight_after_cast,
             needs_dx = w.requires_gradient(at.x), trained = trains(w, n);
  Slot dy = at.dy;
  if (cast && !early) {
    dy = w.make("aten::_to_copy", s.wide, {at.dy});
    w.free({at.dy});
  }
  const std::int64_t bytes = early ? s.x : s.wide;
  const Slot product = trained ? w.make("aten::mul", bytes, {dy, n.normalized}) : kNone;
  Slot dn = needs_dx ? w.make("aten::mul", bytes, {dy}) : kNone;
  if (at.recomputed) w.release({n.normalized});
  const Slot dw = trained ? w.gradient(n.module, n.width) : kNone;
  if (trained && cast && !early) {
    const Slot wide = w.scratch_later(4 * n.width);
    w.sum_rows(wide, product, n.rows, n.width);
    w.free({product});
    w.write(dw, "aten::_to_copy", {wide});
    w.free({wide});
  } else if (trained) {
    w.sum_rows(dw, product, n.rows, n.width);
    w.free({product});
  }
  if (trained) w.ready(dw);
  w.free({dy});
  w.release({n.normalized});
  w.accumulate();
  if (!needs_dx) {
    w.free_all(at.arguments);
    return kNone;
  }
  if (early) {
    const Slot wide = w.make("aten::_to_copy", s.wide, {dn});
    w.free({dn});
    dn = wide;
  }
  return to_stream_type(w, n, at, statistics_backward(w, n, at, dn));
}

Slot fused_backward(EagerWriter& w, const EagerNorm& n, const NormBackward& at) {
  const bool needs_dx = w.requires_gradient(at.x);
  const Slot dx = needs_dx
                      ? w.make_like("aten::_fused_rms_norm_backward", at.dy, {at.dy, at.x, n.rstd})
                      : kNone;
  if (trains(w, n)) {
    const Slot dw = w.gradient(n.module, n.width);
    w.allocate(dw);
    w.ready(dw);
  }
  if (at.recomputed) w.release({n.rstd, at.is_first_of_checkpoint ? kNone : at.x});
  w.free({at.dy});
  if (at.recomputed) {
    w.free_all(at.arguments);
  } else {
    w.release({at.x, n.rstd});
  }
  if (at.residual == kNone || !needs_dx) {
    w.accumulate();
    return dx;
  }
  add_to_residual(w, at, dx);
  w.accumulate();
  return kNone;
}

}  // namespace

bool norm_is_composite(const EagerWriter& w) {
  return w.code.norm_is_own || !w.rules.norm_is_fused;
}

EagerNorm declare_norm(EagerWriter& w, std::string_view module, std::int64_t rows,
                       std::int64_t width) {
  EagerNorm n;
  n.module = w.module(module);
  n.rows = rows;
  n.width = width;
  const Sizes s(w, n);
  n.output = w.tensor(s.x);
  n.rstd = w.tensor(s.row);
  if (!norm_is_composite(w)) return n;
  if (casts(w)) n.wide = w.tensor(s.wide);
  const bool wide = !w.code.norm_is_own && !(casts(w) && w.rules.norm_weight_after_cast);
  n.normalized = w.tensor(wide ? s.wide : s.x);
  return n;
}

Slot norm_forward(EagerWriter& w, const EagerNorm& n, Slot x) {
  w.enter(n.module);
  const Slot out = w.code.norm_is_own     ? transformers_forward(w, n, x)
                   : norm_is_composite(w) ? torch_forward(w, n, x)
                                          : fused_forward(w, n, x);
  w.set_requires_gradient(out, w.requires_gradient(x) || trains(w, n));
  return out;
}

Slot norm_backward(EagerWriter& w, const EagerNorm& n, const NormBackward& at) {
  w.enter(n.module);
  if (w.code.norm_is_own) return transformers_backward(w, n, at);
  if (norm_is_composite(w)) return torch_backward(w, n, at);
  return fused_backward(w, n, at);
}

}  // namespace foreshard::lowering
