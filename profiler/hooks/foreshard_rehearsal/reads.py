"""Values that the script read from the device though nobody has them: each line of the script that did,
how often, and what it was given."""

from foreshard_rehearsal import record, user_code

_ENDLESS = 1000  # reads of one value by one line within one step
_rows = {}
_since_step = {}  # row: (steps completed, reads since)


def invented(what, answer):
    """Lists one read. A loop that only the answer could end is ended here."""
    where = user_code.line()
    row = _rows.get((what, where))
    if row is None:
        row = _rows[what, where] = {"what": what, "where": where, "count": 0, "answer": answer}
        record.facts()["invented"].append(row)
    row["count"] += 1
    row["answer"] = answer
    steps = len(record.facts()["steps"])
    last = _since_step.get((what, where), (steps, 0))
    reads = last[1] + 1 if last[0] == steps else 1
    _since_step[what, where] = (steps, reads)
    if reads >= _ENDLESS:
        record.give_up(
            f"{where}: read the invented value {answer!r} {reads} times within one step, as a loop does "
            "that waits for another one; expected a loop that ends without it, or another --loss"
        )
