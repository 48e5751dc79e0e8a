"""Helpers for the tests of replays, forks and scripts: runs recorded for real, and copies of a store that are changed."""

import asyncio
import contextlib
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from agent import Agent, Message, ModelError
from agent.sync import complete
from tracing import Divergence, Recorder, Recording, Report, Store, replay


class Broken(BaseException):
    """What a caller's own code raises, and no handler of ours may catch."""


def record(db: Path, agent: Agent, question: str = "q", *, redact: bool = True, **options: Any) -> str:
    """The id of the recorded run, however it ended."""
    with Recorder(db, strict=True, redact=redact) as recorder:
        return recorded(recorder, agent, question, **options)


def recorded(recorder: Recorder, agent: Agent, question: str = "q", **options: Any) -> str:
    with contextlib.suppress(ModelError, asyncio.CancelledError, KeyboardInterrupt, ArithmeticError, Broken):
        recorder.run_sync(agent, question, **options)
    assert recorder.last is not None
    return recorder.last.run_id


def read(db: Path, run: str = "last") -> Recording:
    with Store(db) as store:
        return store.recording(run)


def replayed(db: Path, agent: Agent | None = None, run: str = "last", **options: Any) -> Report:
    return replay(read(db, run), agent, **options)


def said(report: Report) -> Any:
    """What a replay came to, in a form that a failed assertion shows whole: "exact", or why not."""
    return report.outcome if report.outcome == "exact" else (report.outcome, report.reason, report.divergences)


def only(report: Report) -> Divergence:
    """The one thing that differs."""
    assert report.outcome == "diverged", report
    (divergence,) = report.divergences
    return divergence


def named(report: Report) -> tuple[Any, ...]:
    """The first difference: its code, step, call and place."""
    assert report.outcome == "diverged", report
    assert report.first is not None
    return (report.first.code, report.first.step, report.first.call, report.first.where)


def history_of(db: Path, run: str) -> list[dict[str, Any]]:
    with Store(db) as store:
        return store.history(run)


def as_dicts(messages: Sequence[Message]) -> list[dict[str, Any]]:
    return [message.to_dict() for message in messages]


@contextlib.contextmanager
def connected(db: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(db)
    try:
        yield connection
        connection.commit()
    finally:
        connection.close()


def rows(db: Path, query: str, *values: Any) -> list[Any]:
    with connected(db) as connection:
        return connection.execute(query, values).fetchall()


def changed(db: Path, statement: str, *, into: Path) -> Path:
    """A copy of the store, in this folder, in which a statement changed exactly one row."""
    copy = into / "changed.db"
    shutil.copy(db, copy)
    with connected(copy) as connection:
        assert connection.execute(statement).rowcount == 1, statement
    return copy


def together(*work: Callable[[], Any]) -> list[Any]:
    """Awaits what they make, all in one event loop."""

    async def all_of() -> list[Any]:
        return list(await asyncio.gather(*(one() for one in work)))

    return complete(all_of())
