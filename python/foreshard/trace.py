"""Traces and recordings as tables."""

import builtins
import errno
import json
import os
import shutil
import sqlite3
import tempfile
import weakref

from .errors import Error, InputError
from .program import run_program

_MAGIC = b"SQLite format 3\0"
_OURS = 0x46536854  # PRAGMA application_id of a .fst file


def open(path):
    """A Trace: of a .fst file, a recording of torch.profiler (a file or a folder with one of each rank), an export of
    Nsight Systems or a CUDA memory snapshot."""
    return Trace(path)


class Table:
    """Rows of a trace. `arrow()`, `pandas()` and `polars()` are the table of that library, which has to be installed;
    any library that takes Arrow's C stream takes a Table as it is."""

    def __init__(self, columns, rows):
        self.columns, self.rows = list(columns), rows

    def __len__(self):
        return len(self.rows)

    def __iter__(self):
        return iter(self.rows)

    def __repr__(self):
        return f"<Table: {len(self)} rows of {', '.join(self.columns)}>"

    def _repr_html_(self):
        cells = [[str(value) for value in row] for row in self.rows[:20]]
        return _html_table(self.columns, cells, len(self) - len(cells))

    def column(self, name):
        """The values of one column, as a list."""
        place = self.columns.index(name)
        return [row[place] for row in self.rows]

    def _values(self):
        columns = zip(*self.rows) if self.rows else ([] for _ in self.columns)
        return {name: list(values) for name, values in zip(self.columns, columns)}

    def arrow(self):
        import pyarrow

        return pyarrow.table(self._values())

    def pandas(self):
        import pandas

        return pandas.DataFrame.from_records(self.rows, columns=self.columns)

    def polars(self):
        import polars

        return polars.DataFrame(self._values(), strict=False, infer_schema_length=None)

    def __arrow_c_stream__(self, requested_schema=None):
        return self.arrow().__arrow_c_stream__(requested_schema)


def _html_table(columns, rows, more):
    from html import escape

    def row(tag, values):
        return "<tr>" + "".join(f"<{tag}>{escape(value)}</{tag}>" for value in values) + "</tr>"

    body = "".join(row("td", values) for values in rows)
    rest = f"<p>and {more} rows more</p>" if more > 0 else ""
    return f"<table><thead>{row('th', columns)}</thead><tbody>{body}</tbody></table>{rest}"


class Trace:
    """A trace. Its tables are those that docs/file-format.md describes; `tables` has their names, `trace["STEPS"]`
    is one of them. Times are nanoseconds, sizes are bytes."""

    def __init__(self, path):
        self.path = os.fspath(path)
        if not os.path.exists(self.path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.path)
        self._database = None

    def __repr__(self):
        return f"<Trace: {self.path}>"

    @property
    def tables(self):
        names = self._read("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name").rows
        return [name for (name,) in names]

    def __getitem__(self, name):
        if name not in self.tables:
            raise KeyError(name)
        return self._read(f'SELECT * FROM "{name}"')

    @property
    def events(self):
        """What ran on hosts and devices, with its names."""
        return self["EVENTS"]

    @property
    def memory_events(self):
        """Allocations and frees in their order."""
        return self["MEMORY_EVENTS"]

    @property
    def steps(self):
        return self["STEPS"]

    @property
    def metadata(self):
        return dict(self["META_DATA_EXPORT"].rows)

    def query(self, sql):
        """The rows of a SELECT, or of a built-in query by its name (`foreshard query --list`)."""
        answer = json.loads(run_program(["query", self.path, sql, "--quiet", "--json", "-"]))
        return Table(answer["columns"], [tuple(row) for row in answer["rows"]])

    def inspect(self, **options):
        """Where time and memory went: an answers.Inspection. Options as `foreshard.inspect` takes them."""
        from .commands import inspect

        return inspect(self.path, **options)

    def whatif(self, **options):
        """How long it would have taken under other times: an answers.WhatIf. Options as `foreshard.whatif` takes them."""
        from .commands import whatif

        return whatif(self.path, **options)

    def picture(self, path=None, **options):
        """A foreshard.pictures.Picture. Options as `foreshard.pictures.draw` takes them."""
        from .pictures import draw

        return draw(self.path, path=path, **options)

    def _repr_mimebundle_(self, include=None, exclude=None):
        text = {"text/plain": repr(self)}
        try:
            return {**text, **self.picture()._repr_mimebundle_()}
        except Error:
            return text

    def _read(self, sql):
        if self._database is None:
            self._database = self._opened()
        try:
            cursor = self._database.execute(sql)
            return Table([column[0] for column in cursor.description], cursor.fetchall())
        except sqlite3.DatabaseError as why:
            raise InputError(f"{self.path}: {why}; expected an undamaged trace") from why

    def _opened(self):
        """The trace as a database: its own file where that is a whole trace, or else one that the program writes."""
        database = _whole_trace(self.path)
        if database is None:
            folder = tempfile.mkdtemp(prefix="foreshard-")
            self._remove = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            converted = os.path.join(folder, "trace.fst")
            run_program(["export", self.path, "--fst", converted, "--quiet"])
            database = _whole_trace(converted)
        return database


def _whole_trace(path):
    """A connection to a .fst file that was closed cleanly; None of anything else. Nothing is written to it, and its
    views call no functions that could do harm."""
    if os.path.isdir(path):
        return None
    with builtins.open(path, "rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            return None
    from urllib.parse import quote

    database = sqlite3.connect(f"file:{quote(os.path.abspath(path))}?mode=ro", uri=True)
    # Names in recordings need not be UTF-8; JSON answers repair them in the same way.
    database.text_factory = lambda text: str(text, "utf-8", "replace")
    try:
        database.execute("PRAGMA trusted_schema = OFF")
        (identity,) = database.execute("PRAGMA application_id").fetchone()
        if identity == _OURS:
            complete = database.execute("SELECT value FROM META_DATA_EXPORT WHERE name = 'complete'").fetchone()
            if complete is not None and str(complete[0]) == "1":
                return database
    except sqlite3.DatabaseError:
        pass
    database.close()
    return None
