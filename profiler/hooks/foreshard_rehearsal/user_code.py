"""Which line of the user's own files is running."""

import os
import sys
import sysconfig
import threading

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # all hooks
_LIBRARY = tuple(
    {sysconfig.get_paths()[key] + os.sep for key in ("stdlib", "platstdlib")} | {_OURS + os.sep}
)
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


def _is_users(filename):
    return not (
        filename.startswith(("<", *_LIBRARY)) or any(part in filename for part in _INSTALLED)
    )


def frames():
    """The Python frames of this thread, innermost first; the main thread's where this one has none of
    the user's, as autograd's threads."""
    own = own_frames()
    if any(_is_users(frame.f_code.co_filename) for frame in own):
        return own
    return own + _walk(sys._current_frames().get(threading.main_thread().ident))


def own_frames():
    """Those of this thread alone."""
    return _walk(sys._getframe(1))


def _walk(frame):
    found = []
    while frame is not None:
        if not frame.f_code.co_filename.startswith(_OURS + os.sep):
            found.append(frame)
        frame = frame.f_back
    return found


def line():
    """"file:line" of the innermost frame in a file of the user's; "" where there is none."""
    for frame in frames():
        if _is_users(frame.f_code.co_filename):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
    return ""
