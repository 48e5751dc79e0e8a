"""The session that the README shows: run anew, and made comparable.

uv run python -m tests.readme_session --write
"""

import contextlib
import fcntl
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

COLUMNS = 110
README = Path(__file__).parent.parent / "README.md"
COMMANDS = (
    "agent demo",
    "viewer show",
    "viewer list",
    'viewer sql "select tool, result_chars, truncated, error from tool_calls"',
)
_BLOCK = re.compile(r"(?<=<!-- session -->\n).*?(?=<!-- /session -->)", re.DOTALL)


def run_session() -> str:
    """The commands and what they print, as a Markdown block."""
    parts = []
    with tempfile.TemporaryDirectory() as folder:
        for command in COMMANDS:
            name, *arguments = shlex.split(command)
            printed = on_terminal([sys.executable, "-m", name, *arguments], Path(folder))
            parts.append(f"$ {command}\n{printed}")
    return "```console\n" + "\n".join(_narrow(part) for part in parts) + "```\n"


def on_terminal(command: list[str], folder: Path, columns: int = COLUMNS) -> str:
    """What a command prints on a terminal of that width, without colour."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    here = str(Path(__file__).parent.parent)
    env = {**os.environ, "NO_COLOR": "1", "TERM": "xterm", "PYTHONPATH": here}
    with subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=theirs) as process:
        os.close(theirs)
        printed = b""
        with contextlib.suppress(OSError):  # the terminal's other end is closed
            while data := os.read(ours, 65536):
                printed += data
    os.close(ours)
    assert process.returncode == 0
    return printed.decode().replace("\r\n", "\n")


def shown_session() -> str:
    match = _BLOCK.search(README.read_text(encoding="utf-8"))
    assert match is not None
    return match.group()


def comparable(session: str) -> str:
    """Without what differs from run to run: ids, times, durations and the bars that draw them."""
    for pattern, same in (
        (r"\b[0-9a-f]{32}\b", "RUNID"),
        (r"\b[0-9a-f]{8}\b", "RUN"),
        (r"(\d{4}-)?\d{2}-\d{2} \d{2}:\d{2}(:\d{2})?", "TIME"),
        (r" *[█▌▐·▶]{12,}", " BAR"),
        (r" +\d[\d.]* (ms|s)\b", " TOOK"),
    ):
        session = re.sub(pattern, same, session)
    return session


def _narrow(text: str) -> str:
    """A terminal wraps a long line; the page cuts it."""
    lines = (line if len(line) <= COLUMNS else line[: COLUMNS - 1].rstrip() + "…" for line in text.splitlines())
    return "\n".join(lines) + "\n"


def main() -> None:
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    text = README.read_text(encoding="utf-8")
    README.write_text(_BLOCK.sub(lambda _: run_session(), text), encoding="utf-8")


if __name__ == "__main__":
    main()
