"""Figures against their goals, and the page that shows them."""
import dataclasses
import json

REACHED, MISSED, MISSING, NOTED = "reached", "MISSED", "MISSING", ""


@dataclasses.dataclass(frozen=True)
class Figure:
    name: str
    value: str
    goal: str = ""
    verdict: str = NOTED

    @property
    def is_good(self):
        return self.verdict in (REACHED, NOTED)


def noted(name, value):
    """A figure without a goal; left out where it is not known."""
    return [] if value is None else [Figure(name, value)]


def is_so(name, answer, goal, detail=""):
    """`answer`: True, False or None for not known."""
    verdict = MISSING if answer is None else REACHED if answer else MISSED
    return [Figure(name, detail or {True: "yes", False: "no", None: "-"}[answer], goal, verdict)]


def at_most(name, value, limit, form="{:.2f}"):
    if value is None:
        return [Figure(name, "-", "<= " + form.format(limit), MISSING)]
    return [Figure(name, form.format(value), "<= " + form.format(limit), REACHED if value <= limit else MISSED)]


def at_least(name, value, limit, form="{:.2f}"):
    if value is None:
        return [Figure(name, "-", ">= " + form.format(limit), MISSING)]
    return [Figure(name, form.format(value), ">= " + form.format(limit), REACHED if value >= limit else MISSED)]


def page(title, figures, notes):
    """`figures`: by stage. Fits a terminal of 120 columns."""
    lines = [title, ""]
    for stage, rows in figures.items():
        for row in rows:
            lines.append(f"{stage:<11} {row.name:<44} {row.value:<26} {row.goal:<14} {row.verdict}".rstrip())
    every = [row for rows in figures.values() for row in rows]
    count = {verdict: sum(row.verdict == verdict for row in every) for verdict in (REACHED, MISSED, MISSING)}
    lines += ["", *notes]
    lines.append(f"{count[REACHED]} goals reached, {count[MISSED]} missed, {count[MISSING]} missing")
    return "\n".join(lines) + "\n"


def as_json(figures, notes):
    return json.dumps({"figures": {stage: [dataclasses.asdict(row) for row in rows] for stage, rows in figures.items()},
                       "notes": notes}, indent=1) + "\n"
