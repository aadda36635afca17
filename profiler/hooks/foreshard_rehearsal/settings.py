"""What the command asked for, as it stands in the environment. An integer is a number of bytes, a count
or a rank; the command has checked all of them."""

import os

RECORD = os.environ.get("FORESHARD_REHEARSAL_RECORD", "")  # the file that the command reads
CAPTURE = os.environ.get("FORESHARD_REHEARSAL_CAPTURE", "")  # folder for the last step; "": none
STEPS = int(os.environ.get("FORESHARD_REHEARSAL_STEPS", "3"))
_ranks = os.environ.get("FORESHARD_REHEARSAL_RANKS")
ASKED_RANKS = int(_ranks) if _ranks else None  # None: the launcher's, or 1
RANKS = ASKED_RANKS or 1
RANK = int(os.environ.get("FORESHARD_REHEARSAL_RANK", "0"))


def _numbers(name):
    return frozenset(map(int, filter(None, os.environ.get(name, "").split(","))))


# Ranks that run at the same time, this one among them, or that ran before, and the folder through which they tell
# each other what only they know; "": nobody else runs.
REAL_RANKS = _numbers("FORESHARD_REHEARSAL_REAL_RANKS")
EARLIER_RANKS = _numbers("FORESHARD_REHEARSAL_EARLIER_RANKS")
MEETING = os.environ.get("FORESHARD_REHEARSAL_MEETING", "")
LOSS = float(os.environ.get("FORESHARD_REHEARSAL_LOSS", "1.0"))  # what every unknown float is
# What routers choose, "balanced" or "zipf:A"; None: as nobody knows. Balanced is Zipf's law with exponent 0.
ROUTING = os.environ.get("FORESHARD_REHEARSAL_ROUTING") or None
ROUTING_EXPONENT = float(ROUTING.partition(":")[2] or 0) if ROUTING else 0.0
# Datasets that nobody has, "synthetic" or "synthetic:COLUMN,...".
_data, _, _columns = os.environ.get("FORESHARD_REHEARSAL_DATA", "").partition(":")
DATA_IS_SYNTHETIC = _data == "synthetic"
COLUMNS = _columns.split(",") if _columns else ["text"]
WEIGHTS_ARE_ABSENT = os.environ.get("FORESHARD_REHEARSAL_WEIGHTS") == "absent"
