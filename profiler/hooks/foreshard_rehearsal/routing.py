"""What --routing says of routers: which experts a token is given to. Scores are never computed, so the choice
(topk, argmax) is made here, and all that follows from it is known: counts, split sizes, groups of tokens."""

import sys

from foreshard_rehearsal import ledger, record, settings

_MOST_EXPERTS = 4096


def state(name, args, kwargs, result):
    """Makes the indices known that the operator chose from scores, where these can be a router's: of several
    tokens, along the last dimension, and of unknown values."""
    scores, indices = args[0], result if hasattr(result, "shape") else result[-1]
    if settings.ROUTING is None or not _is_router(name, args, kwargs, scores, indices):
        return
    if not ledger.is_small(indices):
        record.note(f"a router of {scores.shape[0]} tokens was too large for --routing")
        return
    chosen = choose(indices.numel() // _each(name, indices), _each(name, indices), scores.shape[-1])
    ledger.write(indices, chosen.view(indices.shape), False)
    record.note(f"routers (topk, argmax) chose experts as --routing {settings.ROUTING} says")


def _each(name, indices):
    """Experts that one token is given to."""
    return indices.shape[-1] if name == "topk" else 1


def _is_router(name, args, kwargs, scores, indices):
    place = 2 if name == "topk" else 1
    dimension = args[place] if len(args) > place else kwargs.get("dim", -1 if name == "topk" else None)
    return (
        scores.is_cuda
        and scores.dtype.is_floating_point
        and scores.dim() > 1
        and dimension in (-1, scores.dim() - 1)
        and 1 < scores.shape[-1] <= _MOST_EXPERTS
        and indices.numel() > 0
        and ledger.of(indices) is None
    )


def choose(tokens, each, experts):
    """[tokens, each] numbers of different experts, of which expert e is chosen as often as its weight says and
    at most once by a token."""
    counts = sys.modules["torch"].tensor(
        shares(tokens, each, experts, settings.ROUTING_EXPONENT), device="cpu"
    )
    numbers = ledger.make_on_host().arange(experts, device="cpu")
    # Laid end to end, the tokens of one expert are no more than there are, and so all different.
    return numbers.repeat_interleave(counts).view(each, tokens).t()


def shares(tokens, each, experts, exponent):
    """Tokens of each expert: in proportion to 1 / (e + 1) ** exponent, as far as there are tokens."""
    weights = [(expert + 1) ** -exponent for expert in range(experts)]
    left, weight = tokens * each, sum(weights)
    counts = []
    for of_this in weights:
        counts.append(min(tokens, left, round(left * of_this / weight)) if weight > 0 else 0)
        left -= counts[-1]
        weight -= of_this
    counts[-1] += left
    return counts
