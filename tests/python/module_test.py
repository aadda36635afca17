"""The Python module compared with the program that it runs, with SQLite and with the libraries of its tables."""
import contextlib
import gzip
import importlib.util
import io
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import foreshard

SOURCE = pathlib.Path(os.environ["FORESHARD_SOURCE"])
PROGRAM = os.environ["FORESHARD_PROGRAM"]
SAMPLES = SOURCE / "traces/samples"
PLAN = {"batch": {"micro_batch": 1, "sequence": 4096}, "checkpointing": {"mode": "full"}}
PLAN_TEXT = '[batch]\nmicro_batch = 1\nsequence = 4096\n[checkpointing]\nmode = "full"\n'
JOB = ["--model", "llama-3.1-8b", "--ranks", "8", "--machine", "h100-sxm"]


def has(module):
    return importlib.util.find_spec(module) is not None


def asked(*words):
    """What the program itself answers."""
    return json.loads(subprocess.run([PROGRAM, *words, "--json", "-"], check=True, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE).stdout)


def timeless(answer):
    """An answer without what a clock says of the prediction itself."""
    return {key: value for key, value in answer.items() if key not in ("prediction_ns", "seconds", "processor_seconds",
                                                                       "plans_per_s_per_core")}


def as_json(value):
    """A record as the JSON that it was made of."""
    if isinstance(value, list):
        return [as_json(one) for one in value]
    if hasattr(value, "__dataclass_fields__"):
        return {name: as_json(getattr(value, name)) for name in value.__dataclass_fields__}
    return value


def without_deprecated(answer, schema):
    """Of an object, and of those in it, what its schema does not call deprecated."""
    if isinstance(answer, list):
        return [without_deprecated(one, schema.get("items", {})) for one in answer]
    if not isinstance(answer, dict) or "properties" not in schema:
        return answer
    parts = schema["properties"]
    return {key: without_deprecated(value, parts[key]) for key, value in answer.items()
            if key != "schema_version" and not parts[key].get("deprecated")}


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enter(tempfile.TemporaryDirectory()))

    def enter(self, manager):
        value = manager.__enter__()
        self.addCleanup(manager.__exit__, None, None, None)
        return value

    def sample(self, name="run.fst"):
        path = self.folder / name
        path.write_bytes(gzip.decompress((SAMPLES / (name + ".gz")).read_bytes()))
        return path


class Import(unittest.TestCase):
    def test_loads_nothing_that_takes_time(self):
        loaded = subprocess.run([sys.executable, "-X", "importtime", "-c", "import foreshard"], check=True,
                                stderr=subprocess.PIPE, text=True).stderr
        names = {line.rsplit("|", 1)[-1].strip() for line in loaded.splitlines()}
        bare = subprocess.run([sys.executable, "-X", "importtime", "-c", "pass"], check=True, stderr=subprocess.PIPE,
                              text=True).stderr
        before = {line.rsplit("|", 1)[-1].strip() for line in bare.splitlines()}
        self.assertEqual(names - before, {"foreshard"})

    def test_names_what_it_has(self):
        for name in foreshard.__all__:
            self.assertTrue(callable(getattr(foreshard, name)), name)
        with self.assertRaises(AttributeError):
            foreshard.nothing


class Answers(Folder):
    def test_a_prediction_is_the_programs(self):
        plan = self.folder / "plan.toml"
        plan.write_text(PLAN_TEXT)
        expected = timeless(asked("predict", *JOB, "--plan", str(plan)))
        for given in (PLAN, PLAN_TEXT, plan, str(plan)):
            answer = foreshard.predict("llama-3.1-8b", plan=given, ranks=8, machine="h100-sxm")
            self.assertEqual(timeless(answer.json), expected)
        schema = json.loads((SOURCE / "docs/schema/predict.json").read_text())
        self.assertEqual(timeless(as_json(answer)), timeless(without_deprecated(answer.json, schema)))
        self.assertEqual(answer.peak.by_category_bytes, expected["peak"]["by_category_bytes"])
        self.assertEqual(answer.ranks_memory[7].rank, 7)
        self.assertIn("llama-3.1-8b on 8 ranks fits", str(answer))

    def test_what_does_not_fit_is_an_answer(self):
        answer = foreshard.predict("llama-3.1-8b", ranks=8, machine="h100-sxm", device_memory="20GiB")
        self.assertFalse(answer.fits)
        self.assertGreater(answer.oom.requested_bytes, 0)

    def test_options_are_the_commands(self):
        found = foreshard.search("llama-3.1-8b", machines="h100-sxm", gpus=[8, 16], space={"batch.micro_batch": [1, 2]},
                                 top=2)
        self.assertEqual(len(found.top), 2)
        self.assertEqual(found.plans_considered, 4)
        self.assertEqual(found.best.step_time_ns, found.top[0].step_time_ns)
        best = foreshard.predict("llama-3.1-8b", plan=found.best.plan, ranks=found.best.gpus, nodes=found.best.nodes,
                                 machine=found.best.machine)
        self.assertEqual(best.step_time_ns, found.best.step_time_ns)

    def test_a_recording_is_inspected_and_asked(self):
        run = self.sample()
        self.assertEqual(foreshard.inspect(run).json, asked("inspect", str(run)))
        asked_of = foreshard.whatif(run, scale={"matmul*": 0.5, "attention": 0.9}, set={"collectives": 0.5})
        self.assertEqual(asked_of.json, asked("whatif", str(run), "--scale", "matmul*=0.5", "--scale",
                                              "attention=0.9", "--set", "collectives=0.5"))
        self.assertEqual(foreshard.compare(run, run).step_time_error, 0)

    def test_catalogues(self):
        self.assertIn("h100-sxm", [machine.id for machine in foreshard.machines()])
        self.assertTrue(foreshard.models())
        self.assertGreater(foreshard.collective("all_gather", bytes="1GiB", ranks=8, machine="h100-sxm").time_ns, 0)

    def test_errors_say_what_the_program_says(self):
        with self.assertRaisesRegex(foreshard.InputError, "^nothing: .*expected"):
            foreshard.predict("nothing", ranks=2)
        with self.assertRaisesRegex(foreshard.InputError, "--colour"):
            foreshard.predict("llama-3.1-8b", ranks=2, colour="red")
        with self.assertRaises(FileNotFoundError):
            foreshard.open(self.folder / "missing.fst")

    def test_a_program_that_is_not_there(self):
        os.environ["FORESHARD_PROGRAM"] = str(self.folder / "missing")
        self.addCleanup(os.environ.__setitem__, "FORESHARD_PROGRAM", PROGRAM)
        with self.assertRaises(OSError):
            foreshard.version()


class Traces(Folder):
    def test_tables_are_those_of_the_file(self):
        run = self.sample()
        trace = foreshard.open(run)
        with contextlib.closing(sqlite3.connect(run)) as database:
            for name in trace.tables:
                rows = database.execute(f'SELECT * FROM "{name}"')
                self.assertEqual(trace[name].columns, [column[0] for column in rows.description])
                self.assertEqual(trace[name].rows, rows.fetchall())
        self.assertEqual(trace.metadata["complete"], "1")
        self.assertEqual(len(trace.events.column("start")), len(trace.events))
        with self.assertRaises(KeyError):
            trace["NOTHING"]

    def test_nothing_is_written_to_the_file(self):
        run = self.sample()
        before = run.read_bytes()
        foreshard.open(run).events
        self.assertEqual(run.read_bytes(), before)
        self.assertEqual(os.listdir(self.folder), [run.name])

    def test_names_that_are_not_utf_8_are_repaired(self):
        run = self.sample()
        with contextlib.closing(sqlite3.connect(run)) as database:
            database.execute("UPDATE StringIds SET value = CAST(x'6dff' AS TEXT) WHERE value = 'matmul'")
            database.commit()
        self.assertIn("m\ufffd", foreshard.open(run).events.column("name"))

    def test_a_damaged_trace_is_an_input_error(self):
        run = self.sample()
        whole = run.read_bytes()
        run.write_bytes(whole[: len(whole) // 2])
        with self.assertRaisesRegex(foreshard.InputError, "run.fst"):
            foreshard.open(run).events
            foreshard.open(run).memory_events

    def test_queries_are_the_programs(self):
        run = self.sample()
        for query in ("operators", "SELECT count(*) AS n, max(\"end\") FROM EVENTS"):
            expected = asked("query", str(run), query)
            table = foreshard.open(run).query(query)
            self.assertEqual(table.columns, expected["columns"])
            self.assertEqual([list(row) for row in table], expected["rows"])

    def test_recordings_of_others_have_the_same_tables(self):
        for name in ("pytorch_cpu", "drawn_gpu.sqlite", "snapshot.pickle"):
            trace = foreshard.open(SAMPLES / name)
            expected = asked("query", str(SAMPLES / name), "SELECT * FROM MEMORY_EVENTS")
            self.assertEqual(trace.memory_events.columns, expected["columns"], name)
            self.assertEqual([list(row) for row in trace.memory_events], expected["rows"], name)

    @unittest.skipUnless(has("pandas") and has("pyarrow"), "pandas or pyarrow is not installed")
    def test_pandas_and_arrow(self):
        events = foreshard.open(self.sample()).events
        self.assertEqual(events.arrow().column("start").to_pylist(), events.column("start"))
        self.assertEqual(events.pandas()["name"].tolist(), events.column("name"))
        import pyarrow

        self.assertEqual(pyarrow.table(events).num_rows, len(events))

    @unittest.skipUnless(has("polars"), "polars is not installed")
    def test_polars(self):
        events = foreshard.open(self.sample()).events
        self.assertEqual(events.polars()["name"].to_list(), events.column("name"))


class Page(Folder):
    def test_its_code_runs_as_it_stands(self):
        blocks = re.findall(r"^```python\n(.*?)^```", (SOURCE / "python/README.md").read_text(), re.M | re.S)
        self.assertGreaterEqual(len(blocks), 4)
        names = {}
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(SOURCE)
        for block in blocks:
            if "rehearse" in block or (".pandas()" in block and not has("pandas")):
                continue  # needs a PyTorch for CUDA, which scripts/try_wheels has; or pandas
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(block, "python/README.md", "exec"), names)
            self.assertNotEqual(printed.getvalue(), "")


@unittest.skipUnless(os.environ.get("FORESHARD_VIEWER"), "there is no viewer")
class Pictures(Folder):
    def test_are_drawn_by_the_viewer(self):
        run = self.sample()
        drawn = self.folder / "drawn.png"
        subprocess.run([os.environ["FORESHARD_VIEWER"], "--render", str(drawn), "--view", "memory", "--size", "900x500",
                        "--theme", "light", str(run)], check=True)
        saved = self.folder / "saved.png"
        picture = foreshard.open(run).picture(saved, view="memory", size="900x500")
        self.assertEqual(picture.data, drawn.read_bytes())
        self.assertEqual(saved.read_bytes(), picture.data)

    def test_notebooks_show_answers(self):
        answer = foreshard.predict("llama-3.1-8b", ranks=8, machine="h100-sxm")
        bundle = answer._repr_mimebundle_()
        self.assertTrue(bundle["image/png"].startswith(b"\x89PNG"))
        self.assertEqual(bundle["text/plain"], str(answer))
        self.assertTrue(answer.picture(format="svg").data.lstrip().startswith(b"<?xml"))

    def test_without_the_viewer_text_says_so(self):
        answer = foreshard.predict("llama-3.1-8b", ranks=8, machine="h100-sxm")
        from unittest import mock

        with mock.patch("foreshard.pictures.viewer_path", return_value=None):
            bundle = answer._repr_mimebundle_()
        self.assertNotIn("image/png", bundle)
        self.assertIn("foreshard[viewer]", bundle["text/plain"])


unittest.main()
