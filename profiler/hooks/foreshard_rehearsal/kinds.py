"""Which ranks differ from this one: those that hold shards of other shapes, of which one of each kind is recorded,
and other stages of a pipeline.

FSDP2 and tensor parallelism cut a dimension into pieces of one size and give what is left to the last ranks that
get any; FSDP1 pads, so that all shards of a flat parameter are alike."""

from foreshard_hooks import imports
from foreshard_rehearsal import record, settings

_meshes = {}  # (shape, ranks): {(dimension of the mesh, elements that it cuts)}
_seen = set()  # identities of optimizers


def install():
    imports.after(
        "torch.optim.optimizer",
        lambda module: module.register_optimizer_step_post_hook(_stepped),
    )
    imports.after("torch.distributed.pipelining.stage", _watch_stages)


def _stepped(optimizer, _arguments, _named):
    if id(optimizer) in _seen:
        return
    _seen.add(id(optimizer))
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            _add(parameter)
    record.facts()["representatives"] = representatives()


def _add(parameter):
    mesh = getattr(parameter, "device_mesh", None)
    if mesh is None:
        return
    key = tuple(mesh.mesh.shape), tuple(mesh.mesh.flatten().tolist())
    cuts = _meshes.setdefault(key, set())
    for dimension, placement in enumerate(parameter.placements):
        if placement.is_shard():
            cuts.add((dimension, parameter.shape[placement.dim]))


def _watch_stages(module):
    def begin(original):
        def __init__(self, *arguments, **named):
            original(self, *arguments, **named)
            ranks = module.dist.get_process_group_ranks(self.group or module.dist.group.WORLD)
            record.facts()["pipeline"] = sorted({*record.facts()["pipeline"], *ranks})

        return __init__

    imports.replace(module._PipelineStageBase, "__init__", begin)


def representatives():
    """Of each kind the highest rank, but this one of its own."""
    found = set()
    for (shape, ranks), cuts in _meshes.items():
        kinds = {_kind(place, shape, cuts): rank for place, rank in enumerate(ranks)}
        if settings.RANK in ranks:
            kinds[_kind(ranks.index(settings.RANK), shape, cuts)] = settings.RANK
        found.update(kinds.values())
    return sorted(found)


def _kind(place, shape, cuts):
    """The sizes of the pieces that the rank at this place of the mesh has."""
    coordinates = []
    for size in reversed(shape):
        place, coordinate = divmod(place, size)
        coordinates.insert(0, coordinate)
    return tuple(
        piece(elements, shape[dimension], coordinates[dimension])
        for dimension, elements in sorted(cuts)
    )


def piece(elements, pieces, number):
    """Elements of one piece of a dimension that is cut into so many."""
    size = -(-elements // pieces)
    return max(0, min(size, elements - size * number))
