#!/usr/bin/env python3
"""Writes the module `foreshard.answers`: a dataclass for each JSON answer that docs/schema describes.

    make_answers.py SCHEMAS OUTPUT
"""
import json
import pathlib
import sys
import textwrap

ANSWERS = {
    "predict": ("Prediction", "What `foreshard predict` answers."),
    "search": ("SearchResult", "What `foreshard search` answers."),
    "whatif": ("WhatIf", "What `foreshard whatif` answers."),
    "rehearse": ("Rehearsal", "What `foreshard rehearse` answers; with `vary` it has `variants` and `best` alone."),
    "inspect": ("Inspection", "What `foreshard inspect` answers of one recording."),
    "compare": ("Comparison", "What `foreshard compare` answers of two traces."),
    "collective": ("Collective", "What `foreshard collective` answers."),
    "list": ("Listing", "What `foreshard list` answers."),
}
WORDS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
WIDTH = 118
HEAD = '''"""The answers of the program as dataclasses, generated from docs/schema.

Sizes are bytes, times are nanoseconds and shares are fractions, as the names say; what is not known is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .answer import Answer, Record
'''


def class_name(key):
    return key.title().replace("_", "")


class AnswerWriter:
    """The classes of one schema. An object that is described in place is a class within that of its owner; one that
    several places refer to is a class of the module, of which each place has an alias."""

    def __init__(self, schema, name):
        self.schema, self.name = schema, name
        self.lines = []
        self.shared = {}  # classes of the module, by reference

    def write(self, purpose):
        lines = self.class_lines(self.name, self.schema, "Answer", purpose)
        self.lines += ["", "", *lines]
        return self.lines

    def target(self, reference):
        part = self.schema
        for key in reference.split("/")[1:]:
            part = part[key]
        return part

    def type_of(self, part, key):
        """The annotation of a value, and what its class is: None, an object's schema, or a shared class's name."""
        if "$ref" in part and "properties" in self.target(part["$ref"]):
            return self.shared_class(part["$ref"])
        if "$ref" in part:
            part = {**self.target(part["$ref"]), **part}
        if "anyOf" in part:
            options = [self.type_of(option, key) for option in part["anyOf"]]
            options.sort(key=lambda option: option[0] == "None")
            return " | ".join(option[0] for option in options), next((c for _, c in options if c), None)
        kinds = part.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else list(kinds)
        if "enum" in part:
            kinds = ["string"] + ["null"] * (None in part["enum"])
        types, classes = [], []
        for kind in kinds:
            if kind == "object" and part.get("properties"):
                types.append(class_name(key))
                classes.append(part)
            elif kind == "object":
                values = part.get("additionalProperties")
                types.append(f"dict[str, {self.type_of(values, key)[0] if isinstance(values, dict) else 'Any'}]")
            elif kind == "array":
                element, element_class = self.type_of(part.get("items", {}), key)
                types.append(f"list[{element}]")
                classes.append(element_class)
            else:
                types.append(WORDS[kind])
        types.sort(key=lambda name: name == "None")
        return " | ".join(types) or "Any", next((c for c in classes if c), None)

    def shared_class(self, reference):
        if reference not in self.shared:
            part = self.target(reference)
            name = self.shared[reference] = self.name + class_name(reference.rsplit("/", 1)[1])
            self.lines += ["", "", *self.class_lines(name, part, "Record", "")]
        name = self.shared[reference]
        kinds = self.target(reference).get("type")
        return name + (" | None" if "null" in kinds else ""), name

    def class_lines(self, name, part, base, purpose):
        decorator = "@dataclass(frozen=True, repr=False)" if base == "Answer" else "@dataclass(frozen=True)"
        within, fields = [], []
        for key, value in part["properties"].items():
            if key == "schema_version" or value.get("deprecated"):
                continue
            annotation, its_class = self.type_of(value, key)
            if isinstance(its_class, str):
                within += [f"{class_name(key)} = {its_class}", ""]
            elif its_class:
                within += [*self.class_lines(class_name(key), its_class, "Record", ""), ""]
            fields += textwrap.wrap(value.get("description", ""), WIDTH - 8, initial_indent="# ", subsequent_indent="# ")
            fields.append(f"{key}: {annotation}")
        head = [f'"""{purpose}"""', ""] if purpose else []
        return [decorator, f"class {name}({base}):", *("    " + line if line else "" for line in head + within + fields)]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    schemas, output = map(pathlib.Path, sys.argv[1:])
    lines = []
    for command, (name, purpose) in ANSWERS.items():
        lines += AnswerWriter(json.loads((schemas / f"{command}.json").read_text()), name).write(purpose)
    output.write_text(HEAD + "\n".join(lines) + "\n")


main()
