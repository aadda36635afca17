"""What goes wrong. The text is the program's own: file, field, what is wrong and what is expected."""


class Error(Exception):
    """A command did not answer."""


class InputError(Error, ValueError):
    """An argument or a file is wrong (exit status 2)."""


class RunError(Error, RuntimeError):
    """The command failed (exit status 1), or a signal ended it."""
