"""The sessions that the README shows: run anew, and made comparable.

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
SESSIONS = {
    "session": (
        "agent demo",
        "viewer show",
        "viewer list",
        'viewer sql "select tool, result_chars, truncated, error from tool_calls"',
    ),
    "story": (
        'agent ask --quiet --agent refunds:desk "How long can I return shoes?"',
        "viewer show",
        "viewer replay --agent refunds:desk",
        'viewer fork --at 2 --set-result "1.1=90. Shoes: 30 days." --quiet',
        r"""sed -i 's/Toolbox(\[read_terms\])/&.with_options("read_terms", max_chars=9000)/' refunds.py""",
        'agent ask --quiet --agent refunds:desk "How long can I return shoes?"',
        "viewer test last -o tests",
        "pytest -q tests",
    ),
    "cost": (
        'agent ask --quiet --agent refunds:desk --prices prices.toml "How long can I return shoes?"',
        'agent ask --quiet --agent refunds:desk --prices prices.toml --tag shoes "And boots?"',
        "viewer cost --by day,model --tz UTC",
        "viewer cost --by run --chart --tz UTC",
    ),
}
"""The commands of each, in a folder that holds the files that the README shows before them."""
PROGRAMS = ("agent", "viewer", "pytest")


def run_session(name: str) -> str:
    """The commands and what they print, as a Markdown block."""
    parts = []
    with tempfile.TemporaryDirectory() as folder:
        for file, text in shown_files():
            Path(folder, file).write_text(text, encoding="utf-8")
        for command in SESSIONS[name]:
            program, *arguments = shlex.split(command)
            ours = [sys.executable, "-m", program] if program in PROGRAMS else [program]
            parts.append(f"$ {command}\n{on_terminal([*ours, *arguments], Path(folder))}")
    return "```console\n" + "\n".join(_narrow(part) for part in parts) + "```\n"


def shown_files() -> list[tuple[str, str]]:
    """The files that the README shows: blocks whose first line is a comment with their name."""
    blocks = re.findall(r"```\w+\n# (\w+\.\w+)\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    return [(name, text) for name, text in blocks]


def on_terminal(command: list[str], folder: Path, columns: int = COLUMNS) -> str:
    """What a command prints on a terminal of that width, without colour."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    here = str(Path(__file__).parent.parent)
    env = {
        **os.environ,
        "NO_COLOR": "1",
        "TERM": "xterm",
        "PYTHONPATH": here,
        "PYTEST_ADDOPTS": "-p no:cacheprovider -p no:terminalprogress",
    }
    quiet = {"stdin": subprocess.DEVNULL, "stdout": theirs, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=folder, env=env, **quiet) as process:  # type: ignore[call-overload]
        os.close(theirs)
        printed = b""
        with contextlib.suppress(OSError):  # the terminal's other end is closed
            while data := os.read(ours, 65536):
                printed += data
    os.close(ours)
    assert process.returncode == 0
    return printed.decode().replace("\r\n", "\n")


def shown_session(name: str) -> str:
    match = _block(name).search(README.read_text(encoding="utf-8"))
    assert match is not None
    return match.group()


def _block(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<=<!-- {name} -->\n).*?(?=<!-- /{name} -->)", re.DOTALL)


def comparable(session: str) -> str:
    """Without what differs from run to run: ids, times, durations and the bars that draw them."""
    for pattern, same in (
        (r"\b[0-9a-f]{32}\b", "RUNID"),
        (r"\b[0-9a-f]{8}\b", "RUN"),
        (r"(\d{4}-)?\d{2}-\d{2} \d{2}:\d{2}(:\d{2})?", "TIME"),
        (r" *[█▌▐·▶]{12,}", " BAR"),
        (r" +\d[\d.]* (ms|s)\b", " TOOK"),
        (r"\b\d{4}-\d{2}-\d{2}\b", "DAY"),
        (r"in \d+\.\d+s", "in TIME"),
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
    for name in SESSIONS:
        text = _block(name).sub(lambda _, name=name: run_session(name), text)  # type: ignore[misc]
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
