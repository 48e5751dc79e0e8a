"""Runs one document in a process of its own, so that what an example changes ends with it.

Called as `python -m ...run_document FILE`; prints a report as JSON.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tempfile
import traceback
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FunctionType, TracebackType
from typing import Any

from .documents import Block, blocks_in
from .facts import Ledger
from .servers import Service

_SHELL_GIVES = "# => "


@dataclass
class Report:
    """What came of running a document."""

    blocks: int = 0
    not_run: int = 0
    facts: int = 0
    failures: list[str] = field(default_factory=list)


def report_on(document: Path) -> Report:
    """Run a document in a new process, and say what came of it."""
    assert __package__
    root = Path(__file__).resolve().parents[__package__.count(".") + 1]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # the next process then starts much sooner
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", f"{__package__}.run_document", str(document)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode:
        return Report(failures=[f"the process ended with {done.returncode}: {done.stderr}"])
    return Report(**json.loads(done.stdout.splitlines()[-1]))


def _real(source: str, service: Service) -> str:
    for written, real in service.addresses.items():
        source = source.replace(written, real)
    return source


def _run_shell(block: Block, source: str, ledger: Ledger) -> None:
    lines = source.splitlines()
    expected = [line.removeprefix(_SHELL_GIVES) for line in lines if line.startswith(_SHELL_GIVES)]
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", source],
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    if done.returncode or done.stdout.splitlines() != expected:
        ledger.fail(block.line, f"expected {expected}, but got {done.stdout}{done.stderr}")


def _run_python(block: Block, source: str, ledger: Ledger, namespace: dict[str, Any]) -> None:
    code = compile(ledger.rewritten(source, block.line), "<document>", "exec")
    FunctionType(code, namespace)()


@dataclass
class _Trial:
    """Runs one block: its errors go into the ledger, its environment variables go away."""

    block: Block
    ledger: Ledger

    def __enter__(self) -> None:
        self.environment = dict(os.environ)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        os.environ.clear()
        os.environ.update(self.environment)
        if error is None:
            return False
        frames = traceback.extract_tb(trace)
        lines = [f.lineno for f in frames if f.filename == "<document>" and f.lineno]
        line = lines[0] if lines else self.block.line
        self.ledger.fail(line, f"{type(error).__name__}: {error}")
        return isinstance(error, Exception)


def run(text: str, service: Service) -> Report:
    """Run all the blocks of a document, in order and in one namespace."""
    ledger = Ledger()
    namespace: dict[str, Any] = {
        "__name__": "document",
        "_check_": ledger.check,
        "_raises_": ledger.raises,
    }
    sys.unraisablehook = lambda problem: ledger.fail(0, f"left open: {problem.exc_value!r}")
    blocks = blocks_in(text)
    report = Report(blocks=len(blocks))
    for block in blocks:
        if block.not_run_because:
            report.not_run += 1
            continue
        source = _real(block.source, service)
        with _Trial(block, ledger):
            if block.language == "shell":
                _run_shell(block, source, ledger)
            else:
                _run_python(block, source, ledger, namespace)
    ledger.unchecked()
    namespace.clear()
    gc.collect()
    report.facts = len(ledger.facts)
    report.failures = ledger.failures
    return report


def main() -> None:
    document = Path(sys.argv[1]).resolve()
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name.startswith("SSL"):
            del os.environ[name]
    with tempfile.TemporaryDirectory() as folder, Service() as service:
        os.chdir(folder)
        for file in (service.ca_file, service.client_file):
            Path(file.name).write_bytes(file.read_bytes())
        os.environ.update(service.environment)
        try:
            report = run(document.read_text(encoding="utf-8"), service)
        finally:
            os.chdir("/")
    print(json.dumps(asdict(report)))


if __name__ == "__main__":
    main()
