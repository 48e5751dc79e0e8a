"""A file that is there whole or not at all: nobody finds half of it, and what it replaces is lost only for the new one."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from tracing.errors import StoreError


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Callable[[bytes], object]]:
    """Writes a file beside the one that is wanted, and puts it there at the end. What is no file (a pipe, a terminal)
    is written as it is. Raises StoreError."""
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as pipe:
                yield pipe.write
            return
        target = path.resolve()  # of a link, what it leads to
        beside = target.with_name(f".{target.name[:100]}.{os.urandom(4).hex()}")
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666
        descriptor = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file.write
                file.flush()
                os.fsync(descriptor)
            os.replace(beside, target)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except (OSError, ValueError) as error:
        if isinstance(error, BrokenPipeError | UnicodeError):
            raise
        raise StoreError(f"cannot write {path} ({reason(error)}): give another file") from error


def reason(error: OSError | ValueError) -> str:
    return (error.strerror or "it failed") if isinstance(error, OSError) else "the system does not take such a path"
