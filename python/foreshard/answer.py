"""What the answers in `foreshard.answers` have in common."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any


def _class_name(key):
    """The nested class of a key: scripts/make_python_types names it so."""
    return key.title().replace("_", "")


class Record:
    """A part of an answer."""

    @classmethod
    def from_json(cls, value):
        """A record, a list of records, or a plain value where there is no class for it. Keys of newer programs
        are left out, and those of older ones are None."""
        if isinstance(value, list):
            return [cls.from_json(one) for one in value]
        if not isinstance(value, dict):
            return value
        return cls(**{name: cls._value(name, value.get(name)) for name in cls._names()})

    @classmethod
    @functools.lru_cache(maxsize=None)
    def _names(cls):
        return [field.name for field in dataclasses.fields(cls) if field.init]

    @classmethod
    def _value(cls, name, value):
        nested = getattr(cls, _class_name(name), None)
        return nested.from_json(value) if isinstance(nested, type) else value


class Answer(Record):
    """A whole answer. `str()` is the program's report, `json` the answer as it came; in a notebook it is a picture.
    Its attributes are those that its class lists."""

    json: dict[str, Any]
    text: str

    @classmethod
    def of(cls, json, text="", trace=None, keeper=None):
        """The answer of a JSON object. `trace`: what it is of, or what the program wrote; `keeper` owns that file."""
        answer = cls.from_json(json)
        for name, value in dict(json=json, text=text, _trace=trace, _keeper=keeper).items():
            object.__setattr__(answer, name, value)
        return answer

    def __str__(self):
        return self.text

    def __repr__(self):
        lines = self.text.splitlines()
        return f"<{type(self).__name__}: {lines[0] if lines else 'no report'}>"

    def picture(self, path=None, **options):
        """The picture that the viewer draws of it, as `foreshard.pictures.Picture`, written to `path` too if there is one.
        Options are those of `foreshard.pictures.draw`. Needs the viewer: pip install 'foreshard[viewer]'."""
        from . import pictures

        return pictures.of_answer(self, path, **options)

    def _repr_mimebundle_(self, include=None, exclude=None):
        from . import pictures

        return pictures.bundle_of(self)
