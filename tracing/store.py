"""The read side: what the viewer, and a program, ask of a store. It never writes and never creates a file."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracing.errors import NoSuchRun
from tracing.filters import LARGEST, SORTS, Filter, where
from tracing.process import is_alive
from tracing.reader import Reader, Row

if TYPE_CHECKING:
    from tracing.recording import Recording

_DIGITS = 18  # of a number that SQLite's integers hold

SHORT = 8
"""Digits of a run id that are shown, where they name one run only."""


@dataclass(frozen=True, slots=True)
class Request:
    """Exactly what a model read before a step."""

    messages: tuple[Row, ...]
    """Chat-completions messages, each with its `hash` beside it in `hashes`."""
    hashes: tuple[str, ...]
    tools: list[Any]
    settings: Mapping[str, Any]


class Store(Reader):
    """A trace store, opened for reading."""

    # Which run

    def find(self, reference: str) -> str:
        """The run id of `last`, `last~2`, `last-error`, a run id or a unique prefix of one. Raises NoSuchRun."""
        if reference == "last-error":
            return self._last_error()
        if reference == "last" or reference.startswith("last~"):
            back = reference.removeprefix("last").removeprefix("~") or "0"
            if not back.isascii() or not back.isdecimal():
                raise NoSuchRun(f"{reference!r} names no run: write last, last~1, last~2 and so on")
            query = "select run_id from runs order by started_at desc limit 1 offset ?"
            newest = self.rows(query, (int(back),)) if len(back) < _DIGITS else []
            if not newest:
                count = self.value("select count(*) from run")
                raise NoSuchRun(f"there is no run {reference}: the store holds {_runs(count)}")
            return str(newest[0]["run_id"])
        digits = reference.lower()
        if not digits or set(digits) - set("0123456789abcdef"):
            raise NoSuchRun(
                f"{reference!r} names no run: give a run id, the beginning of one, or last (see: viewer list)"
            )
        found = self.rows(
            "select run_id from run where run_id >= ? and run_id < ? order by run_id limit 9", (digits, digits + "g")
        )
        if not found:
            raise NoSuchRun(f"there is no run {reference} (see: viewer list)")
        if len(found) > 1:
            some = ", ".join(self.short(row["run_id"]) for row in found[:8])
            raise NoSuchRun(
                f"{reference} is the beginning of {len(found) if len(found) < 9 else 'many'} runs: give more digits ({some})"
            )
        return str(found[0]["run_id"])

    def short(self, run_id: str) -> str:
        """The shortest beginning of a run id, of 8 digits or more, that names it alone."""
        for size in range(SHORT, len(run_id)):
            prefix = run_id[:size]
            query = "select count(*) from run where run_id >= ? and run_id < ?"
            if self.value(query, (prefix, prefix + "g")) <= 1:
                return prefix
        return run_id

    def _last_error(self) -> str:
        query = "select run_id, status, stop from runs where coalesce(stop,'') <> 'answered' order by started_at desc"
        for row in self.rows(query):
            if row["stop"] is not None or self._alive(row["run_id"]) is False:
                return str(row["run_id"])
        raise NoSuchRun("every run in the store answered: there is no last-error")

    # Runs

    def runs(self, wanted: Filter = Filter(), *, sort: str = "time", limit: int | None = None) -> tuple[list[Row], int]:
        """The runs, newest or largest first, and how many there are in all. A row has the columns of the `runs`
        view and `alive`; a running run whose process is gone has the status "interrupted". Question, answer and version
        are exactly as they were."""
        clause, values = where(wanted)
        limit = None if limit is None else min(limit, LARGEST)
        open_only = {"running", "interrupted"} & set(wanted.status)
        query = f"select * from runs {clause} order by {SORTS[sort]}"  # noqa: S608
        if open_only:  # whether an open run still runs is known here, not in SQL
            rows = [row for row in map(self._judged, self.rows(query, values)) if row["status"] in wanted.status]
            return self._exactly(rows[:limit]), len(rows)
        total = self.value(f"select count(*) from runs {clause}", values)  # noqa: S608
        if limit is not None:
            query += f" limit {limit}"
        return self._exactly([self._judged(row) for row in self.rows(query, values)]), total

    def count(self) -> int:
        """How many runs the store holds."""
        return int(self.value("select count(*) from run"))

    def run(self, run_id: str) -> Row:
        """One run, as `runs` gives it. Raises NoSuchRun."""
        rows = self.rows("select * from runs where run_id=?", (run_id,))
        if not rows:
            raise NoSuchRun(f"there is no run {run_id} (see: viewer list)")
        return self._exactly([self._judged(rows[0])])[0]

    def _exactly(self, rows: list[Row]) -> list[Row]:
        """The runs with the texts that the view cannot hold: it has no lone surrogate, and cuts a version at its NUL."""
        query = (
            "select r.run_id, q.raw question, a.raw answer, case when json_valid(r.attrs) then r.attrs end attrs "
            "from run r join body q on q.id=r.question left join body a on a.id=r.answer "
            "where r.run_id in (select value from json_each(?)) "
            "and (q.raw is not null or a.raw is not null or instr(r.attrs,'\\u0000'))"
        )
        odd = {row["run_id"]: row for row in self.rows(query, (json.dumps([row["run_id"] for row in rows]),))}
        for row in rows:
            if exact := odd.get(row["run_id"]):
                row.update({key: _exact(row[key], exact[key]) for key in ("question", "answer")})
                row["version"] = json.loads(exact["attrs"] or "{}").get("version")
        return rows

    def _judged(self, row: Row) -> Row:
        alive = self._alive(row["run_id"]) if row["status"] == "running" else False
        status = "interrupted" if row["status"] == "running" and alive is False else row["status"]
        return {**row, "status": status, "alive": alive}

    def _alive(self, run_id: str) -> bool | None:
        query = "select host, pid, born, p.ended_ns from run r join process p on p.id=r.process where r.run_id=?"
        process = self.rows(query, (run_id,))[0]
        if process["ended_ns"] is not None:
            return False
        return is_alive(process["host"], process["pid"], process["born"])

    # What happened in a run

    def model_calls(self, run_id: str) -> list[Row]:
        return self.rows("select * from model_calls where run_id=? order by step, started_at", (run_id,))

    def tool_calls(self, run_id: str) -> list[Row]:
        """As the `tool_calls` view, with `whole`: what the tool returned, uncut, where the model saw less."""
        rows = self.rows("select * from tool_calls where run_id=? order by step, call", (run_id,))
        # By span, in a query of its own: as a join on the view's text it took seconds for a run of 2,000 steps.
        query = (
            "select lower(hex(s.span_id)) span_id, b.raw, w.text whole, w.raw whole_raw "
            "from run r join span s on s.run=r.id left join body b on b.id=s.result left join body w on w.id=s.whole "
            "where r.run_id=? and s.kind=2 and (s.whole is not null or b.raw is not null)"
        )
        more = {row["span_id"]: row for row in self.rows(query, (run_id,))}
        for row in rows:
            exact = more.get(row["span_id"])
            row["whole"] = None if exact is None else _exact(exact["whole"], exact["whole_raw"])
            row["result"] = row["result"] if exact is None else _exact(row["result"], exact["raw"])
        return rows

    def spans(self, run_id: str) -> list[Row]:
        return self.rows("select * from spans where run_id=? order by started_at, rowid", (run_id,))

    def events(self, run_id: str) -> list[Row]:
        return self.rows("select * from log_events where run_id=?", (run_id,))

    def answers(self, run_id: str) -> dict[int, Row]:
        """The model's answer at each step, as a chat-completions message."""
        query = (
            "select s.step, m.role, b.text, b.raw, m.envelope, m.hash from span s join run r on r.id=s.run "
            "join message m on m.id=s.response left join body b on b.id=m.body where r.run_id=? and s.kind=1"
        )
        return {row["step"]: _message(row) for row in self.rows(query, (run_id,))}

    def conversation(self, run_id: str) -> list[Row]:
        return self.rows("select * from conversation where run_id=? order by position", (run_id,))

    def history(self, run_id: str) -> list[Row]:
        """All that was said in a run, as chat-completions messages: the history of the next turn."""
        tip = self.value(
            "select coalesce(r.tip, (select coalesce(s.response, s.request_tip) from span s where s.run=r.id and s.kind=1 "
            "order by s.n desc limit 1), r.start_tip) from run r where r.run_id=?",
            (run_id,),
        )
        return [_message(row) for row in self._chain(tip)]

    def _chain(self, tip: int | None) -> list[Row]:
        return self.rows(
            "with recursive h(id) as (select ? union all select m.parent from h join message m on m.id=h.id "
            "where m.parent is not null) select m.depth, m.role, b.text, b.raw, m.envelope, m.hash from h "
            "join message m on m.id=h.id left join body b on b.id=m.body order by m.depth",
            (tip,),
        )

    def children(self, run_id: str) -> list[Row]:
        """The runs that tools of this run started, each with the `span_id` of the tool call."""
        query = (
            "select c.run_id, coalesce(json_extract(c.attrs,'$.under'), lower(hex(c.parent_span))) span_id "
            "from run c where c.parent_run=? and c.kind='live' "
            "order by c.start_ns, c.id"
        )
        return [{**self.run(row["run_id"]), "span_id": row["span_id"]} for row in self.rows(query, (run_id,))]

    def request(self, run_id: str, step: int) -> Request:
        """What the model read before a step. Raises NoSuchRun where the run has no such step."""
        found = step <= LARGEST and self.rows(
            "select s.request_tip, t.text tools, e.text settings from span s join run r on r.id=s.run "
            "left join body t on t.id=s.tools left join body e on e.id=s.settings "
            "where r.run_id=? and s.kind=1 and s.step=? order by s.n desc limit 1",
            (run_id, step),
        )
        if not found:
            last = self.value(
                "select max(s.step) from span s join run r on r.id=s.run where r.run_id=? and s.kind=1", (run_id,)
            )
            has = "has no steps" if last is None else f"has the steps 1 to {last}" if last > 1 else "has one step"
            raise NoSuchRun(f"run {self.short(run_id)} has no step {step}: it {has}")
        rows = self._chain(found[0]["request_tip"])
        return Request(
            tuple(_message(row) for row in rows),
            tuple("s256:" + row["hash"].hex() for row in rows),
            json.loads(found[0]["tools"] or "[]"),
            json.loads(found[0]["settings"] or "{}"),
        )

    def recording(self, reference: str = "last") -> "Recording":
        """A run as one value, to be replayed, forked or made a script. Raises NoSuchRun."""
        from tracing.record_reader import read_recording

        run_id = self.find(reference)
        with self.tuples() as connection:
            return read_recording(connection, run_id)


def open_store(path: str | Path = "traces.db") -> Store:
    """Opens a store for reading. Raises StoreError for a file that is no trace store."""
    return Store(path)


def _message(row: Row) -> Row:
    """A chat-completions message from its body and envelope; text that SQLite could not hold comes from `raw`."""
    message = {"role": row["role"], "content": _exact(row["text"], row["raw"])}
    if row["envelope"]:
        message.update(json.loads(row["envelope"]))
    return message


def _exact(text: str | None, raw: bytes | None) -> str | None:
    return text if raw is None or text is None else raw.decode("utf-8", "surrogatepass")


def _runs(count: int) -> str:
    return f"{count} run{'s' if count != 1 else ''}"
