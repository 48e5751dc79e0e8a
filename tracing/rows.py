"""From facts to rows: the fixed statements of the hot path, on the raw connection.

Row ids are looked up once and remembered; what was remembered inside a transaction that failed is forgotten with it.
"""

import os
import re
import sqlite3
from collections.abc import Callable
from typing import Any

from tracing import facts
from tracing.chain import Body, Link
from tracing.process import born, host
from tracing.seal import digest, seal_of, span_digest

_REMEMBERED = 4096
_SURROGATE = re.compile("[\ud800-\udfff]")

_BODY = "insert into body(hash,text,raw) values(?,?,?) on conflict(hash) do nothing"
_MESSAGE = "insert into message(hash,parent,depth,role,body,envelope) values(?,?,?,?,?,?) on conflict(hash) do nothing"
_RUN = (
    "insert into run(run_id,trace_id,span_id,parent_span,parent_run,fork_step,kind,session,agent,model,process,start_ns,"
    "question,start_tip,settings,tools,attrs) values(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
)
_RUN_END = (
    "update run set end_ns=?,duration_ns=?,stop=?,error=?,answer=?,tip=?,steps=?,tool_calls=?,inp=?,out=?,cached=?,"
    "reasoning=?,unreported=?,redacted=? where id=?"
)
_SEAL = "update run set seal=? where id=?"
_CHAT = (
    "insert into span(run,n,span_id,parent_id,kind,step,start_ns,name,model,provider,request_tip,settings,tools) "
    "values(?,?,?,?,1,?,?,'chat',?,?,?,?,?)"
)
_CHAT_END = (
    "update span set end_ns=?,duration_ns=?,error=?,response_model=?,finish=?,inp=?,out=?,cached=?,cache_write=?,"
    "reasoning=?,response=?,raw=?,attempts=?,first_token_ns=?,tier=?,attrs=?,cost=?,price=? where run=? and n=?"
)
_PRICE = "update span set cost=?,price=? where run=? and n=? and price is null"
_TOOL = "insert into span(run,n,span_id,parent_id,kind,step,idx,start_ns,name,call_id,arguments) values(?,?,?,?,2,?,?,?,?,?,?)"
_TOOL_END = "update span set end_ns=?,duration_ns=?,error=?,result=?,whole=?,chars=?,truncated=? where run=? and n=?"
_SPAN = "insert into span(run,n,span_id,parent_id,kind,step,start_ns,name) values(?,?,?,?,3,?,?,?)"
_SPAN_END = "update span set end_ns=?,duration_ns=?,error=?,attrs=? where run=? and n=?"
_SPAN_SEAL = "update span set seal=? where run=? and n=?"
_EVENT = "insert into event(run,span_id,step,time_ns,level,name,fields,seal) values(?,?,?,?,?,?,?,?)"
_TAG = "insert into annotation(id,run_id,time_ns,kind,value,seal) values(?,?,?,'tag',?,?)"


class Rows:
    """Writes facts through one connection, inside transactions that its owner opens."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._bodies: dict[bytes, int] = {}
        self._messages: dict[bytes, int] = {}
        self._runs: dict[str, int] = {}
        self._process: int | None = None
        self._new: list[tuple[dict[Any, int], Any]] = []
        self.write: dict[type, Callable[[Any], None]] = {
            facts.RunStarted: self._run_started,
            facts.RunEnded: self._run_ended,
            Link: self._said,
            facts.Asked: self._asked,
            facts.Answered: self._answered,
            facts.Priced: self._priced,
            facts.Called: self._called,
            facts.Returned: self._returned,
            facts.SpanStarted: self._span_started,
            facts.SpanEnded: self._span_ended,
            facts.Logged: self._logged,
        }

    def committed(self) -> None:
        self._new.clear()
        for known in (self._bodies, self._messages):
            if len(known) > _REMEMBERED:
                known.clear()

    def rolled_back(self) -> None:
        for known, key in self._new:
            known.pop(key, None)
        self._new.clear()

    def process_started(self, time_ns: int) -> None:
        pid = os.getpid()
        cursor = self.connection.execute(
            "insert into process(host,pid,born,started_ns) values(?,?,?,?)", (host(), pid, born(pid), time_ns)
        )
        self._process = cursor.lastrowid

    def process_ended(self, time_ns: int) -> None:
        self.connection.execute("update process set ended_ns=? where id=?", (time_ns, self._process))

    def _run_started(self, fact: facts.RunStarted) -> None:
        if self._process is None:
            raise RuntimeError("a run needs its process")
        tip = None if fact.tip is None else self._message(fact.tip)
        row = self.connection.execute(
            _RUN,
            (
                fact.run_id, fact.trace_id, fact.span_id, fact.parent_span, fact.parent_run, fact.fork_step, fact.kind,
                _clean(fact.session), _clean(fact.agent), _clean(fact.model), self._process, fact.start_ns,
                self._body(fact.question), tip, self._body(fact.settings), self._body(fact.tools), fact.attrs,
            ),
        ).lastrowid  # fmt: skip
        self._remember(self._runs, fact.run_id, row)
        for number, tag in enumerate(fact.tags):
            name, value = f"{fact.run_id}-{number}", _clean(tag)
            sealed = digest((name, fact.run_id, None, None, fact.start_ns, "tag", None, value))
            self.connection.execute(_TAG, (name, fact.run_id, fact.start_ns, value, sealed))

    def _run_ended(self, fact: facts.RunEnded) -> None:
        answer = None if fact.answer is None else self._body(fact.answer)
        tip = None if fact.tip is None else self._message(fact.tip)
        run = self._run(fact.run_id)
        self.connection.execute(
            _RUN_END,
            (
                fact.end_ns, fact.duration_ns, fact.stop, _clean(fact.error), answer, tip, fact.steps, fact.tool_calls,
                _int(fact.input), _int(fact.output), _int(fact.cached), _int(fact.reasoning), fact.unreported,
                fact.redacted, run,
            ),
        )  # fmt: skip
        self.connection.execute(_SEAL, (seal_of(self.connection, run), run))

    def _said(self, link: Link) -> None:
        if link.hash not in self._messages:
            self._insert_message(link)

    def _asked(self, fact: facts.Asked) -> None:
        self.connection.execute(
            _CHAT,
            (
                self._run(fact.run_id), fact.number, fact.span_id, fact.parent_id, fact.step, fact.start_ns,
                _clean(fact.model), _clean(fact.provider), self._message(fact.tip), self._body(fact.settings),
                self._body(fact.tools),
            ),
        )  # fmt: skip

    def _answered(self, fact: facts.Answered) -> None:
        response = None if fact.response is None else self._message(fact.response)
        raw = None if fact.raw is None else self._body(fact.raw)
        self.connection.execute(
            _CHAT_END,
            (
                fact.end_ns, fact.duration_ns, _clean(fact.error), _clean(fact.response_model), _clean(fact.finish),
                _int(fact.input), _int(fact.output), _int(fact.cached), _int(fact.cache_write), _int(fact.reasoning),
                response, raw, fact.attempts, fact.first_token_ns, _clean(fact.tier), fact.attrs, _int(fact.cost), _clean(fact.price), self._run(fact.run_id),
                fact.number,
            ),
        )  # fmt: skip

    def _priced(self, fact: facts.Priced) -> None:
        self.connection.execute(_PRICE, (_int(fact.cost), _clean(fact.price), self._run(fact.run_id), fact.number))

    def _called(self, fact: facts.Called) -> None:
        self.connection.execute(
            _TOOL,
            (
                self._run(fact.run_id), fact.number, fact.span_id, fact.parent_id, fact.step, fact.idx,
                fact.start_ns, _clean(fact.tool), _clean(fact.call_id), _clean(fact.arguments),
            ),
        )  # fmt: skip

    def _returned(self, fact: facts.Returned) -> None:
        shown = None if fact.shown is None else self._body(fact.shown)
        whole = None if fact.whole is None else self._body(fact.whole)
        self.connection.execute(
            _TOOL_END,
            (
                fact.end_ns, fact.duration_ns, _clean(fact.error), shown, whole, fact.chars, fact.truncated,
                self._run(fact.run_id), fact.number,
            ),
        )  # fmt: skip

    def _span_started(self, fact: facts.SpanStarted) -> None:
        run = self._run(fact.run_id)
        self.connection.execute(
            _SPAN, (run, fact.number, fact.span_id, fact.parent_id, fact.step, fact.start_ns, _clean(fact.name))
        )

    def _span_ended(self, fact: facts.SpanEnded) -> None:
        run = self._run(fact.run_id)
        self.connection.execute(
            _SPAN_END, (fact.end_ns, fact.duration_ns, _clean(fact.error), fact.attrs, run, fact.number)
        )
        self.connection.execute(_SPAN_SEAL, (span_digest(self.connection, run, fact.number), run, fact.number))

    def _logged(self, fact: facts.Logged) -> None:
        run = None if fact.run_id is None else self._run(fact.run_id)
        span = None if fact.span_id is None else fact.span_id.hex()
        line = (fact.step, fact.time_ns, fact.level, _clean(fact.name), fact.fields)
        self.connection.execute(_EVENT, (run, fact.span_id, *line, digest((fact.run_id, span, *line))))

    def _body(self, body: Body) -> int:
        row = self._bodies.get(body.hash)
        if row is None:
            text, raw = readable(body.text)
            row = self._insert("body", _BODY, (body.hash, text, raw))
            self._remember(self._bodies, body.hash, row)
        return row

    def _insert_message(self, link: Link) -> None:
        parent = None if link.parent is None else self._message(link.parent)
        body = None if link.body is None else self._body(link.body)
        row = self._insert("message", _MESSAGE, (link.hash, parent, link.depth, link.role, body, link.envelope))
        self._remember(self._messages, link.hash, row)

    def _insert(self, table: str, statement: str, values: tuple[Any, ...]) -> int:
        cursor = self.connection.execute(statement, values)
        if cursor.rowcount == 1 and cursor.lastrowid is not None:
            return cursor.lastrowid
        return self._find(table, "hash", values[0])

    def _message(self, digest: bytes) -> int:
        row = self._messages.get(digest)
        if row is None:
            row = self._find("message", "hash", digest)
            self._remember(self._messages, digest, row)
        return row

    def _run(self, run_id: str) -> int:
        row = self._runs.get(run_id)
        if row is None:
            row = self._find("run", "run_id", run_id)
            self._remember(self._runs, run_id, row)
        return row

    def _find(self, table: str, column: str, value: Any) -> int:
        found = self.connection.execute(f"select id from {table} where {column}=?", (value,)).fetchone()  # noqa: S608
        if found is None:
            raise LookupError(f"the {table} that this belongs to was not written")
        return int(found[0])

    def _remember(self, known: dict[Any, int], key: Any, row: int | None) -> None:
        assert row is not None
        known[key] = row
        self._new.append((known, key))


def readable(text: str) -> tuple[str, bytes | None]:
    """The text as SQLite can hold and show it, and the exact bytes where that is not the same."""
    if "\0" not in text:
        if text.isascii():
            return text, None
        try:
            text.encode()
            return text, None
        except UnicodeEncodeError:
            pass
    shown = _SURROGATE.sub("\ufffd", text).replace("\0", "\N{SYMBOL FOR NULL}")
    return shown, text.encode("utf-8", "surrogatepass")


def _clean(text: str | None) -> str | None:
    if text is None or (text.isascii() and "\0" not in text):
        return text
    return readable(text)[0]


def _int(value: int | None) -> int | None:
    """What SQLite can hold; a count that no model can have used is unknown."""
    return value if value is not None and -(2**63) <= value < 2**63 else None
