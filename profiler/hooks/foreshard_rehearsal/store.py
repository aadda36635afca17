"""The store of a job whose other ranks are imaginary: they have always said already what this rank says.

A key of another rank holds what this rank wrote under the same prefix; counters have been counted up by
all. `check` knows only what was written, as NCCL's watchdog looks there for other ranks' errors."""

from foreshard_rehearsal import settings

_NOBODY_WROTE = bytes(128)  # long enough for an NCCL identifier


def make(module):
    """A store for torch.distributed; `module` is torch.distributed.distributed_c10d. Whoever asked for it
    keeps it, as the process groups hold its C++ side alone."""

    class AnsweredStore(module.Store):
        def __init__(self):
            super().__init__()
            self._values = {}
            self._timeout = module.default_pg_timeout

        @property
        def timeout(self):
            return self._timeout

        def set_timeout(self, timeout):
            self._timeout = timeout

        def set(self, key, value):
            self._values[key] = value.encode() if isinstance(value, str) else bytes(value)

        def get(self, key):
            if key in self._values:
                return self._values[key]
            prefix = key.rpartition("/")[0]
            return next(
                (self._values[own] for own in reversed(self._values) if own.rpartition("/")[0] == prefix),
                _NOBODY_WROTE,
            )

        def add(self, key, amount):
            total = int(self._values.get(key, b"0")) + amount
            self._values[key] = str(total).encode()
            return max(total, settings.RANKS) if amount > 0 else total

        def append(self, key, value):
            self._values[key] = self._values.get(key, b"") + (
                value.encode() if isinstance(value, str) else bytes(value)
            )

        def compare_set(self, key, _expected, desired):
            if key not in self._values:
                self.set(key, desired)
            return self._values[key]

        def clone(self):
            return self

        def wait(self, keys, timeout=None):
            pass

        def check(self, keys):
            return all(key in self._values for key in keys)

        def delete_key(self, key):
            return self._values.pop(key, None) is not None

        def num_keys(self):
            return len(self._values)

        def multi_get(self, keys):
            return [self.get(key) for key in keys]

        def multi_set(self, keys, values):
            for key, value in zip(keys, values):
                self.set(key, value)

        def has_extended_api(self):
            return True

    return AnsweredStore()
