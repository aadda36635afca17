"""What each operator makes of known values, and what is read where nobody knows: an unknown float is the number
of --loss, an unknown integer 0, and a selection by an unknown mask takes everything. What follows from
comparing unknown floats is computed under that policy, so that guards against NaN see finite numbers."""

import sys

from foreshard_rehearsal import backward_counts, device, ledger, mirror, reads, routing, settings, untouched

# Of these a uniform result follows from uniform arguments.
_UNIFORM = {
    "isnan", "isinf", "isfinite", "isposinf", "isneginf", "eq", "ne", "lt", "le", "gt", "ge",
    "logical_and", "logical_or", "logical_xor", "logical_not", "bitwise_and", "bitwise_or",
    "bitwise_xor", "bitwise_not", "any", "all",
}  # fmt: skip
_FILLING = {"zeros": 0, "ones": 1, "zeros_like": 0, "ones_like": 1, "new_zeros": 0, "new_ones": 1}
_FILLING_WITH = {"full": 1, "full_like": 1, "new_full": 2, "scalar_tensor": 0}  # place of the value
_COUNTING = {
    "index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index", "_unsafe_index_put",
    "masked_select", "nonzero", "_unique2", "unique_dim", "unique_consecutive", "repeat_interleave",
    "bincount", "equal", "masked_scatter", "masked_scatter_",
}  # fmt: skip
_CHOOSING = {"topk", "argmax", "max"}
_UNWRITTEN = ("empty", "new_empty", "resize", "set_", "_local_scalar_dense")
_NAMED_ONLY = ("arange", "tril_indices", "triu_indices")


def _tensors(values):
    """The tensors among arguments or results, in lists too."""
    tensor_class = sys.modules["torch"].Tensor
    for value in values:
        if isinstance(value, tensor_class):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _mapped(value, change):
    if isinstance(value, sys.modules["torch"].Tensor):
        return change(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_mapped(entry, change) for entry in value)
    return value


def _on_host(kwargs, change):
    torch = sys.modules["torch"]
    host = {name: _mapped(value, change) for name, value in kwargs.items()}
    if host.get("device") is not None:
        host["device"] = torch.device("cpu")
    return host


def run(func, args, kwargs):
    namespace, name = func._schema.name.split("::", 1)
    inputs = list(_tensors(args)) + list(_tensors(kwargs.values()))
    on_device = [tensor for tensor in inputs if tensor.is_cuda]
    if not all(map(ledger.has_storage, inputs)):
        return _sparse(func, name, args, kwargs)
    if namespace != "aten":
        return _foreign(func, args, kwargs, on_device)
    if name == "lift_fresh" and on_device:  # how torch.tensor ends
        ledger.copied(args[0])
        return func(*args, **kwargs)
    if name == "_local_scalar_dense" and on_device:
        return _read(func, args)
    if name in ("copy_", "_to_copy") and (on_device or _is_on_device(kwargs.get("device"))):
        return _copy(func, name, args, kwargs)
    if name in _FILLING or name in _FILLING_WITH:
        return _filled(func, name, args, kwargs)
    if name in ("fill_", "zero_") and on_device:
        return _overwritten(func, name, args, kwargs)
    if not on_device:
        return _on_the_host(func, name, args, kwargs, inputs)
    if name in _COUNTING:
        return _counted(func, name, args, kwargs)
    if name == "_linalg_check_errors":
        with device.answering([0], flag=False):  # no factorization has failed
            return func(*args, **kwargs)
    if name == "_amp_foreach_non_finite_check_and_unscale_":
        func(*args, **kwargs)
        return ledger.state(args[1], ledger.Fact(True, 0.0))
    if name == "_amp_update_scale_":
        return func(*args, **kwargs)  # finite gradients leave the scale as it is
    result = _computed(func, name, args, kwargs, on_device)
    if name in _CHOOSING:
        routing.state(name, args, kwargs, result)
    return result


def _is_on_device(device):
    return device is not None and sys.modules["torch"].device(device).type == "cuda"


def _on_the_host(func, name, args, kwargs, inputs):
    """Operators whose arguments are the host's; the result may be the device's."""
    if name == "copy_" and untouched.copied(*inputs):
        return args[0]
    if inputs and (moved := untouched.moved(func, name, args, kwargs, inputs)) is not None:
        return moved
    if func._schema.is_mutable:
        for tensor in _written(func, args, kwargs):
            untouched.written(tensor)
    result = func(*args, **kwargs)
    if name.startswith(_NAMED_ONLY) and result.is_cuda and ledger.is_exact(result):
        ledger.write(result, func(*args, **_on_host(kwargs, lambda tensor: tensor)), False)
    return result


def _policy(tensor):
    """The fact of an unknown tensor under the policy."""
    torch = sys.modules["torch"]
    if tensor.dtype == torch.bool:
        return ledger.Fact(True, False)
    return ledger.Fact(True, settings.LOSS if tensor.dtype.is_floating_point else 0)


def _computed(func, name, args, kwargs, on_device):
    if func.is_view or name.startswith(_UNWRITTEN):
        return func(*args, **kwargs)
    facts = [ledger.of(tensor) for tensor in on_device]
    want, assumed = None, any(fact is None or fact.assumed for fact in facts)
    uniform = name in _UNIFORM or name == "mul" and all(map(_is_boolean, on_device))
    if None not in facts or uniform:
        want = _host_result(func, args, kwargs, on_device, uniform and _all_uniform(facts))
    result = func(*args, **kwargs)
    _state_results(func, args, kwargs, result, want, assumed)
    return result


def _histogram(values, *arguments, **named):
    """histc of integers, which exists on devices only."""
    torch = sys.modules["torch"]
    return torch.histc(values.double(), *arguments, **named).to(values.dtype)


_ON_HOST = {"aten::histc": _histogram}  # what the host computes in another way


def _is_boolean(tensor):
    return tensor.dtype == sys.modules["torch"].bool


def _all_uniform(facts):
    return all(fact is None or fact.value is not None for fact in facts)


def _host_result(func, args, kwargs, on_device, of_one_element):
    """What the operator gives on the host, or None. `of_one_element`: a number, from tensors of one
    element in place of those whose elements are all equal."""
    torch = sys.modules["torch"]

    def value(tensor):
        if not tensor.is_cuda:
            return tensor
        fact = ledger.of(tensor) or _policy(tensor)
        if of_one_element:
            one = (1,) * tensor.dim()
            return ledger.make_on_host().full(one, fact.value, dtype=tensor.dtype, device="cpu")
        host = ledger.values(tensor, fact)
        return host.clone() if func._schema.is_mutable else host

    if not of_one_element and any(tensor.numel() > ledger.MOST for tensor in on_device):
        return None
    try:
        result = _ON_HOST.get(func._schema.name, func)(*_mapped(args, value), **_on_host(kwargs, value))
    except (RuntimeError, NotImplementedError, IndexError, ValueError, TypeError):
        return None  # what the host does not compute stays unknown
    if of_one_element and isinstance(result, torch.Tensor):
        return result.item() if result.numel() == 1 else None
    return result


def _state_results(func, args, kwargs, result, want, assumed):
    outputs = list(_tensors([result]))
    if func._schema.is_mutable:
        outputs += _written(func, args, kwargs)
    wanted = list(_tensors([want])) if not isinstance(want, (bool, int, float)) else []
    for place, output in enumerate(outputs):
        if not output.is_cuda or not ledger.has_storage(output):
            continue
        if not ledger.is_exact(output) or want is None:
            ledger.forget(output)
        elif isinstance(want, (bool, int, float)):
            ledger.write(output, want, assumed)
        elif place < len(wanted) and wanted[place].shape == output.shape:
            ledger.write(output, wanted[place], assumed)
        elif not any(output is earlier for earlier in outputs[:place]):
            ledger.forget(output)


def _written(func, args, kwargs):
    schema = func._schema.arguments
    return [
        tensor
        for place, argument in enumerate(schema)
        if argument.alias_info is not None and argument.alias_info.is_write
        for tensor in _tensors(
            [args[place] if place < len(args) else kwargs.get(argument.name)]
        )
    ]


def _foreign(func, args, kwargs, on_device):
    """Operators of other libraries: what they write is unknown, except what collectives mirror."""
    known = any(ledger.of(tensor) is not None for tensor in on_device)
    others = settings.MEETING and on_device  # may know what this rank does not
    mirrored = mirror.results(func, args) if mirror.follows(func) and (known or others) else []
    result = func(*args, **kwargs)
    if known and func._schema.is_mutable:
        for tensor in _written(func, args, kwargs):
            if tensor.is_cuda:
                ledger.forget(tensor)
    for tensor, values, assumed in mirrored:
        ledger.write(result if tensor is None else tensor, values, assumed)
    return result


def _sparse(func, name, args, kwargs):
    """Operators of sparse tensors are not followed; putting equal indices together takes them to differ."""
    counts = [args[0]._nnz()] if name == "_coalesce" and args[0].is_cuda else []
    if counts:
        reads.invented("count", counts[0])
    with device.answering(counts):
        result = func(*args, **kwargs)
    for tensor in [*_tensors([result]), *_written(func, args, kwargs)]:
        if tensor.is_cuda and ledger.has_storage(tensor):
            ledger.forget(tensor)
    return result


def _read(func, args):
    tensor = args[0]
    read = func(tensor)
    fact = ledger.of(tensor)
    answered = fact or _policy(tensor)
    answer = ledger.alias(tensor).item() if answered.value is None else type(read)(answered.value)
    if answered.assumed:
        reads.invented("bool" if _is_boolean(tensor) else "item", answer)
    return answer


def _copy(func, name, args, kwargs):
    source = args[1] if name == "copy_" else args[0]
    fact = ledger.of(source) if source.is_cuda else ledger.Fact(False)
    result = func(*args, **kwargs)
    target = args[0] if name == "copy_" else result
    if target.is_cuda:
        _copied_to_device(source, target, fact)
    elif source.is_cuda and target.device.type == "cpu":
        _copied_to_host(source, target, fact or _policy(source))
    return result


def _copied_to_device(source, target, fact):
    if source.device.type == "meta" or fact is None or not ledger.is_small(target):
        return ledger.forget(target)
    if source.is_cuda and not (ledger.is_exact(target) or source.dtype == target.dtype):
        return ledger.forget(target)
    if fact.value is not None and target.shape == source.shape:
        return ledger.write(target, fact.value, fact.assumed)
    host = ledger.values(source, fact) if source.is_cuda else source
    ledger.write(target, host.to(target.dtype).expand(target.shape), fact.assumed)


def _copied_to_host(source, target, fact):
    if source.numel() <= ledger.MOST:
        target.copy_(ledger.values(source, fact))
    else:
        untouched.mark(target)
    if fact.assumed:
        reads.invented("copy", fact.value)


def _filled(func, name, args, kwargs):
    result = func(*args, **kwargs)
    if result.is_cuda:
        value = _FILLING[name] if name in _FILLING else args[_FILLING_WITH[name]]
        ledger.write(result, value, False)
    return result


def _overwritten(func, name, args, kwargs):
    target = args[0]
    value = 0 if name == "zero_" else args[1]
    fact = ledger.Fact(False)
    if isinstance(value, sys.modules["torch"].Tensor):
        fact = (ledger.of(value) if value.is_cuda else fact) or _policy(value)
        value = ledger.values(value, fact).item()
    result = func(*args, **kwargs)
    ledger.write(target, value, fact.assumed)
    return result


def _counted(func, name, args, kwargs):
    """Operators whose result is as long as values say: the device is told the count before it is read."""
    deciding = _deciding(name, args)
    unknown = [tensor for tensor in deciding if ledger.of(tensor) is None]
    for tensor in unknown:
        if ledger.is_exact(tensor) or name == "nonzero":
            ledger.state(tensor, ledger.Fact(True, True if _is_boolean(tensor) else 1))
    numbers = [number for tensor in deciding for number in _numbers(name, args, kwargs, tensor, func)]
    if any(ledger.of(tensor) is None or ledger.of(tensor).assumed for tensor in deciding):
        reads.invented("count", numbers[0]) if numbers else reads.invented("bool", True)
    backward_counts.remember(numbers)
    on_device = [tensor for tensor in _tensors(args) if tensor.is_cuda]
    with device.answering(numbers):
        result = _computed(func, name, args, kwargs, on_device)
    if name == "equal" and None not in map(ledger.of, on_device):
        return _host_result(func, args, kwargs, on_device, False)
    return result


def _deciding(name, args):
    torch = sys.modules["torch"]
    if name.startswith("masked"):
        return [args[1]]
    if name == "equal":
        return [tensor for tensor in args if tensor.is_cuda]
    if "index" in name:
        return [
            tensor
            for tensor in _tensors(args[1])
            if tensor.is_cuda and tensor.dtype in (torch.bool, torch.uint8)
        ]
    return [args[0]]


def _numbers(name, args, kwargs, tensor, func):
    """What the operator reads back while it runs, in order."""
    torch = sys.modules["torch"]
    fact = ledger.of(tensor)
    if name == "equal":
        return []
    if fact is None or tensor.numel() > ledger.MOST:
        return [tensor.numel()]
    host = ledger.values(tensor, fact)
    if name.startswith("masked"):
        host = host.expand(torch.broadcast_shapes(args[0].shape, host.shape))
    if name == "repeat_interleave":
        return [int(host.sum())]
    if name == "bincount":
        return [int(host.min()), int(host.max())]
    if "unique" in name:
        return [func(host, *args[1:], **kwargs)[0].shape[0]]
    return [int(torch.count_nonzero(host))]
