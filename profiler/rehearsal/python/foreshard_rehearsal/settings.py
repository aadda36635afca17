"""What the command asked for, as it stands in the environment. An integer is a number of bytes, a count
or a rank; the command has checked all of them."""

import os

RECORD = os.environ.get("FORESHARD_REHEARSAL_RECORD", "")  # the file that the command reads
CAPTURE = os.environ.get("FORESHARD_REHEARSAL_CAPTURE", "")  # folder for the last step; "": none
STEPS = int(os.environ.get("FORESHARD_REHEARSAL_STEPS", "3"))
RANKS = int(os.environ.get("FORESHARD_REHEARSAL_RANKS", "1"))
RANK = int(os.environ.get("FORESHARD_REHEARSAL_RANK", "0"))
LOSS = float(os.environ.get("FORESHARD_REHEARSAL_LOSS", "1.0"))  # what every unknown float is
