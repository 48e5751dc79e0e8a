"""Where in which run something is: looked up only for what is not as it should be, because texts and messages are
shared, and do not know who has them."""

import sqlite3
from typing import Any, NamedTuple

from tracing.store import SHORT


class _Use(NamedTuple):
    table: str
    row: int
    number: int
    named: str


_SPANS = {"result": "the result", "whole": "the whole result", "raw": "the provider's message"}
_RUNS = ("question", "settings", "tools", "answer")
_SPAN_USES = (
    "select result, whole, raw, run, n from span where coalesce(result, whole, raw) is not null order by run, n"
)
_MESSAGE_USES = "select body, id from message where body is not null order by id"
_RUN_USES = "select question, settings, tools, answer, id from run order by start_ns, id"
_TIPS = (
    "select id, start_tip, start_ns from run union all select id, tip, start_ns from run "
    "union all select run, request_tip, start_ns from span union all select run, response, start_ns from span "
    "order by 3, 1"
)


class Places:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._run_of: dict[int, int] | None = None
        self._uses: dict[int, _Use] | None = None

    def of(self, table: str, row: int, number: int = 0) -> str:
        """The place of a row; `number` is that of a span in its run."""
        match table:
            case "run":
                run_id = self._one("select run_id from run where id=?", row)
                return f"run {row} (a row)" if run_id is None else f"run {run_id[:SHORT]}"
            case "span":
                query = "select step, idx, kind from span where run=? and n=?"
                step, idx, kind = self._connection.execute(query, (row, number)).fetchone()
                place = at(self.of("run", row), step, None if idx is None else idx + 1)
                return place if kind < 3 else f"{place} span {number}"
            case "message":
                run = self._runs_of_messages().get(row)
                if run is not None:
                    position = self._one("select depth from message where id=?", row) + 1
                    return f"{self.of('run', run)} message {position}"
                digest = self._one("select hash from message where id=?", row)
                return f"message {digest.hex()[:12]}"
            case _:
                return f"log line {row}"

    def of_body(self, row: int) -> tuple[str, str]:
        """The first place that uses a text, and what it is there."""
        use = self._users().get(row)
        if use is None:
            digest = self._one("select hash from body where id=?", row)
            return f"text {digest.hex()[:12]}", "it"
        return self.of(use.table, use.row, use.number), use.named

    def _one(self, query: str, row: int) -> Any:
        found = self._connection.execute(query, (row,)).fetchone()
        return None if found is None else found[0]

    def _runs_of_messages(self) -> dict[int, int]:
        """The first run that has a message, by row ids."""
        if self._run_of is None:
            self._run_of = {}
            parents = dict(self._connection.execute("select id, parent from message").fetchall())
            for run, tip, _ in self._connection.execute(_TIPS).fetchall():
                while tip is not None and tip in parents and tip not in self._run_of:
                    self._run_of[tip] = run
                    tip = parents[tip]
        return self._run_of

    def _users(self) -> dict[int, _Use]:
        if self._uses is None:
            self._uses = {}
            for *bodies, run, number in self._connection.execute(_SPAN_USES).fetchall():
                for body, named in zip(bodies, _SPANS.values(), strict=True):
                    self._uses.setdefault(body, _Use("span", run, number, named))
            for body, message in self._connection.execute(_MESSAGE_USES).fetchall():
                self._uses.setdefault(body, _Use("message", message, 0, "its text"))
            for *bodies, run in self._connection.execute(_RUN_USES).fetchall():
                for body, named in zip(bodies, _RUNS, strict=True):
                    self._uses.setdefault(body, _Use("run", run, 0, f"the text of its {named}"))
        return self._uses


def at(run: str, step: int | None, call: int | None = None) -> str:
    """A step or a call of a run, as it is written on the command line."""
    return run if step is None else f"{run}:{step}" if call is None else f"{run}:{step}.{call}"
