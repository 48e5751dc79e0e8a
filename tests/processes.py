"""Programs that tests run as real processes: an agent whose tools wait, die or are interrupted."""

import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PRELUDE = """
import asyncio, os, signal, sys, threading, time
from agent import Agent, ScriptedModel, Toolbox, tool
from tracing import Recorder

@tool
def quick(text: str) -> str:
    return text * 3

@tool
def hang(text: str) -> str:
    threading.Event().wait(60)
    return "never"

@tool
async def hang_async(text: str) -> str:
    await asyncio.sleep(60)
    return "never"

@tool
def die(text: str) -> str:
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"

@tool
def leave(text: str) -> str:
    os._exit(7)

class Hanging:
    info = ScriptedModel([]).info
    async def respond(self, request, tell):
        await asyncio.sleep(60)

class Dying(Hanging):
    async def respond(self, request, tell):
        os.kill(os.getpid(), signal.SIGKILL)

def calling(*names):
    calls = [{"name": name, "arguments": {"text": "ab"}} for name in names]
    return [{"tool_calls": [call]} for call in calls]

TOOLS = Toolbox([quick, hang, hang_async, die, leave])

def agent(*names, then=()):
    return Agent(name="a", model=ScriptedModel([*calling(*names), *then]), tools=TOOLS)
"""


def start(folder: Path, body: str) -> "subprocess.Popen[str]":
    """Runs PRELUDE and `body` as a program in `folder`, with the repository importable."""
    program = folder / f"prog{len(list(folder.glob('prog*.py')))}.py"  # another process may still be reading the last
    program.write_text(PRELUDE + body)
    return spawn([sys.executable, program.name], folder)


def spawn(command: list[str], folder: Path, **env: str) -> "subprocess.Popen[str]":
    here = str(Path(__file__).parent.parent)
    return subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": here, **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def finish(process: "subprocess.Popen[str]", seconds: float = 30) -> tuple[int, str, str]:
    """Exit code, stdout, stderr. Kills the process when it takes longer."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return process.returncode, out, err


def wait_for_row(path: Path, query: str, seconds: float = 30) -> None:
    """Waits until `query` finds a row in the store."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if path.exists() and rows(path, query):
            return
        time.sleep(0.01)
    raise TimeoutError(f"nothing was found by {query}")


def rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()
    except sqlite3.OperationalError:
        return []
