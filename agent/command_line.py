"""What the command lines share: one sentence for what went wrong, and a reader that goes away is no error."""

import contextlib
import errno
import io
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import click

from agent.terminal import visible


class Failure(click.ClickException):
    """What went wrong, in one sentence on stderr that says what to do."""

    def __init__(self, text: str, program: str, exit_code: int) -> None:
        super().__init__(visible(text))
        self.program = program
        self.exit_code = exit_code  # type: ignore[misc]  # click declares it for the class

    def show(self, file: Any = None) -> None:
        tell(f"{self.program}: {self.message}")


class ReaderGone(Exception):
    """Nobody reads stdout any more; `exit_code` is what the command would end with."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


def outcome(exit_code: int) -> None:
    """What the command that runs ends with. Said before it prints, a verdict stands also where nobody reads on."""
    click.get_current_context().meta[_OUTCOME] = exit_code


_OUTCOME = f"{__name__}.outcome"


class Commands(click.Group):
    """A group whose commands end in silence when their output is not read to its end (`| head -1`).

    click itself would exit with 1, and Python would complain when it flushes at exit. The exit code is the `outcome`.
    """

    def make_context(self, info_name: str | None, *args: Any, **more: Any) -> click.Context:
        with _writing(info_name, {}):  # --help and --version print while the options are read
            return super().make_context(info_name, *args, **more)

    def invoke(self, context: click.Context) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")  # what a terminal's encoding cannot hold is shown escaped
        try:
            with _writing(context.info_name, context.meta):
                result = super().invoke(context)
                sys.stdout.flush()
        except KeyboardInterrupt as error:  # before a run began; click would say "Aborted!" and exit with 1
            raise SystemExit(130) from error
        if code := context.meta.get(_OUTCOME, 0):
            raise SystemExit(code)
        return result


@contextlib.contextmanager
def _writing(program: str | None, meta: Mapping[str, Any]) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise ReaderGone(meta.get(_OUTCOME, 0)) from error
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise Failure(f"cannot write the output: {error.strerror}", program or "playhead", 1) from error


def tell(text: str) -> None:
    """Words to stderr; where they cannot be written they are dropped, because the answer on stdout is what counts."""
    with contextlib.suppress(OSError):
        click.echo(text, err=True)


def run(commands: click.Group, name: str) -> None:
    """Runs a command line."""

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        text = str(message)
        tell(visible(f"{name}: {text.removeprefix('playhead: ') if text.startswith('playhead: ') else text}"))

    warnings.showwarning = show
    for stream in ("stdout", "stderr"):
        if getattr(sys, stream) is None:  # closed by the caller (>&-)
            setattr(sys, stream, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    _keep_stdout()
    try:
        commands(prog_name=name)
    except ReaderGone as gone:
        _let_go()
        sys.exit(gone.exit_code)
    except SystemExit:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            raise
        _let_go()  # what could not be written once cannot be written at exit
        raise


def _keep_stdout() -> None:
    """Keeps stdout for what `sys.stdout` gets: what a tool's child processes and C libraries write to descriptor 1
    goes to stderr."""
    sys.stdout.flush()
    kept = os.dup(sys.stdout.fileno())
    if kept == 1:  # it was closed, and the lowest free number is taken
        kept = os.dup(kept)
    sys.stdout = open(kept, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors)  # noqa: SIM115
    os.dup2(sys.stderr.fileno(), 1)


def _let_go() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
