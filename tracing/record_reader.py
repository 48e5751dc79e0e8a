"""Reading a recorded run from a store.

Every hash is recomputed, and the run's seal; what is not as it was written is a fault with its place, and never served
as if nothing were wrong.
"""

import hashlib
import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from agent.canonical import to_text
from agent.messages import Message
from agent.models.wire import raw_calls
from agent.values import Observation, Response, Totals, Usage
from tracing.chain import hash_of, message_of
from tracing.recording import Fault, RecordedCall, RecordedStep, Recording
from tracing.rows import readable
from tracing.seal import broken

Row = dict[str, Any]


def read_recording(connection: sqlite3.Connection, run_id: str) -> Recording:
    """The recorded run with this id, which must exist. The connection gives rows as tuples."""
    return _Reader(connection, run_id).recording()


_RUN = (
    "select r.id, r.run_id, r.agent, r.model, r.session, r.question, r.start_tip, r.tip, r.settings, r.tools, r.answer, "
    "r.stop, r.error, r.steps, r.tool_calls, r.inp, r.out, r.cached, r.reasoning, r.unreported, r.attrs, r.seal, "
    "r.end_ns, r.redacted, r.start_ns, r.imported_ns from run r where r.run_id=?"
)
_SPANS = (
    "select kind, step, idx, end_ns, name, error, model, response_model, finish, inp, out, cached, cache_write, "
    "reasoning, request_tip, response, settings, tools, raw, call_id, arguments, result, whole, chars, truncated, tier "
    "from span where run=? and kind<3 order by n"
)
_MESSAGES = (
    "with recursive h(id) as (select value from json_each(?) union select m.parent from h join message m on m.id=h.id "
    "where m.parent is not null) select m.id, m.hash, m.parent, m.depth, m.role, m.body, m.envelope from h "
    "join message m on m.id=h.id"
)
_BODIES = "select id, hash, text, raw, gone from body where id in (select value from json_each(?))"


class _Reader:
    def __init__(self, connection: sqlite3.Connection, run_id: str) -> None:
        self._connection = connection
        (self._run,) = self._rows(_RUN, run_id)
        self._spans = self._rows(_SPANS, self._run["id"])
        tips = {self._run["start_tip"], self._run["tip"]}
        tips |= {span[key] for span in self._spans for key in ("request_tip", "response")}
        self._messages = {row["id"]: row for row in self._rows(_MESSAGES, _ids(tips))}
        bodies = {self._run[key] for key in ("question", "settings", "tools", "answer")}
        bodies |= {span[key] for span in self._spans for key in ("settings", "tools", "raw", "result", "whole")}
        bodies |= {row["body"] for row in self._messages.values()}
        self._bodies = {row["id"]: row for row in self._rows(_BODIES, _ids(bodies))}
        self._gone = any(row["gone"] is not None for row in self._bodies.values())
        self._changed = {key for key, row in self._bodies.items() if row["gone"] is None and not _is_whole(row)}
        self._faults: list[Fault] = []
        self._seen: set[tuple[str, int]] = set()
        self._is_broken = False
        """Whether the history has lost a message."""
        self._checked = 0
        """Messages that were looked at."""

    def recording(self) -> Recording:
        run = self._run
        spans = len(self._spans)
        self._spans = [span for span in self._spans if isinstance(span["step"], int) and _is_placed(span)]
        if len(self._spans) < spans:
            self._faults.append(Fault(None, None, "a call has no place"))
        self._seal()
        question = self._text(run["question"], 1, None, "the question")
        tools = self._text(run["tools"], 1, None, "the tools")
        settings = self._text(run["settings"], 1, None, "the settings")
        chain = self._history()
        opening = self._messages[run["start_tip"]]["depth"] + 1 if run["start_tip"] in self._messages else 0
        self._check_messages(chain[:opening], 1)
        steps = self._steps(chain)
        last = steps[-1].number if steps else 1
        self._check_messages(chain, last)
        self._check_places(steps)
        answer = None if run["answer"] is None else self._text(run["answer"], last, None, "the answer")
        usage = Usage(input=run["inp"], output=run["out"], cached=run["cached"], reasoning=run["reasoning"])
        totals = Totals(
            steps=run["steps"] or 0,
            tool_calls=run["tool_calls"] or 0,
            usage=usage,
            unreported=run["unreported"] or 0,
        )
        return Recording(
            run_id=run["run_id"],
            agent=run["agent"],
            model=run["model"],
            session=run["session"],
            started_at=datetime.fromtimestamp(run["start_ns"] / 1e9, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            question=question or "",
            messages=tuple(self._message(row) for row in chain),
            opening=opening,
            tools=tools or "[]",
            settings=settings or "{}",
            steps=steps,
            stop=run["stop"],
            error=run["error"],
            answer=answer,
            totals=totals,
            tip=self._messages[run["tip"]]["hash"] if run["tip"] in self._messages else None,
            attrs=_object(run["attrs"]),
            redacted=run["redacted"],
            faults=tuple(sorted(self._faults, key=lambda fault: (fault.step is None, fault.step or 0))),
            is_imported=run["imported_ns"] is not None,
            pruned="texts of it were taken by a prune" if self._gone else None,
        )

    def _seal(self) -> None:
        if self._run["seal"] is None:
            if self._run["redacted"] is not None and self._run["end_ns"] is not None:  # as old as seals are
                self._faults.append(Fault(None, None, "it has lost its seal"))
            return
        for step, call in broken(self._run["seal"], self._connection, self._run["id"]):
            self._faults.append(Fault(step, call, "its row is not what was sealed at the end of the run"))

    def _check_places(self, steps: Sequence[RecordedStep]) -> None:
        """Notes model calls and tool calls that are missing, or too many."""
        stop = self._run["stop"]
        for number, step in enumerate(steps, 1):
            if step.number != number:
                self._faults.append(
                    Fault(min(number, step.number), None, "its model call is missing, or is there twice")
                )
                return
            asked = 0 if step.response is None else len(step.response.message.tool_calls)
            is_cut_off = number == len(steps) and stop in (None, "cancelled", "failed")
            found = [call.index for call in step.calls]
            expected = [index for index in range(asked) if not is_cut_off or index in found]
            if found != expected:
                wrong = next((i for i in range(max(asked, *found, 0) + 2) if found.count(i) != expected.count(i)), 0)
                self._faults.append(Fault(number, wrong + 1, "the call is missing, or nobody asked for it"))

    def _steps(self, chain: Sequence[Row]) -> tuple[RecordedStep, ...]:
        steps: list[RecordedStep] = []
        calls_of: dict[int, list[Row]] = {}
        for span in self._spans:
            if span["kind"] == 2:
                calls_of.setdefault(span["step"], []).append(span)
        for span in self._spans:
            if span["kind"] != 1:
                continue
            number = span["step"]
            tip = self._messages.get(span["request_tip"])
            length = 0 if tip is None else tip["depth"] + 1
            is_part = tip is not None and length <= len(chain) and chain[length - 1]["id"] == tip["id"]
            if not is_part and not self._is_broken:
                self._faults.append(Fault(number, None, "the history that was sent is not part of the run's"))
            self._check_messages(chain[:length], number)
            response = self._response(span)
            if response is not None:
                self._check_messages(chain[: length + 1], number)
            calls = sorted(calls_of.get(number, ()), key=lambda one: one["idx"])
            steps.append(
                RecordedStep(
                    number=number,
                    tip=b"" if tip is None else tip["hash"],
                    length=length,
                    tools=self._text(span["tools"], number, None, "the tools") or "[]",
                    settings=self._text(span["settings"], number, None, "the settings") or "{}",
                    model=span["model"],
                    response=response,
                    usage=_usage(span),
                    error=span["error"],
                    ended=span["end_ns"] is not None,
                    calls=tuple(self._call(one) for one in calls),
                )
            )
        return tuple(steps)

    def _response(self, span: Row) -> Response | None:
        if span["response"] is None:
            return None
        row = self._messages.get(span["response"])
        number = span["step"]
        if row is None:
            self._faults.append(Fault(number, None, "the answer is missing"))
            return None
        message = self._message(row)
        raw = None if span["raw"] is None else self._text(span["raw"], number, None, "the provider's message")
        try:
            calls = message.tool_calls if raw is None else raw_calls(raw, number)
        except (ValueError, TypeError, KeyError):
            calls = message.tool_calls
        if len(calls) != len(message.tool_calls):
            calls = message.tool_calls
        return Response(
            message=message,
            calls=tuple(replace(call, step=number) for call in calls),
            usage=_usage(span),
            finish=span["finish"],
            model=span["response_model"],
            tier=span["tier"],
            raw=raw,
            replayed=True,
        )

    def _call(self, span: Row) -> RecordedCall:
        place = (span["step"], span["idx"] + 1)
        observation = None
        if span["result"] is not None:
            shown = self._text(span["result"], *place, "the result") or ""
            chars = span["chars"] or 0
            whole = self._text(span["whole"], *place, "the whole result") if span["whole"] is not None else None
            observation = Observation(
                shown=shown,
                whole=whole if whole is not None else shown[:chars] if chars < len(shown) else shown,
                truncated=bool(span["truncated"]),
                error=span["error"],
            )
        return RecordedCall(
            index=span["idx"],
            id=span["call_id"] or "",
            name=span["name"],
            arguments=span["arguments"] or "",
            observation=observation,
            error=span["error"] if observation is None else None,
            ended=span["end_ns"] is not None,
        )

    def _history(self) -> list[Row]:
        """The messages of the run, the first one first."""
        tips = [self._run["tip"], *(span[key] for span in reversed(self._spans) for key in ("response", "request_tip"))]
        tip = next((tip for tip in (*tips, self._run["start_tip"]) if tip is not None), None)
        chain: list[Row] = []
        while tip is not None and tip in self._messages and len(chain) <= len(self._messages):
            chain.append(self._messages[tip])
            tip = self._messages[tip]["parent"]
        if chain and (missing := chain[-1]["depth"]) > 0:
            # Whoever came first to read it is the first to miss it.
            tips = [(span["step"], self._messages.get(span["request_tip"])) for span in self._spans]
            steps = [step for step, one in tips if one is not None and one["depth"] >= missing]
            self._faults.append(Fault(min(steps, default=None), None, f"message {missing} is missing"))
            self._is_broken = True
        return chain[::-1]

    def _check_messages(self, rows: Sequence[Row], step: int) -> None:
        """Notes those that are not what was hashed, each at the first step that has it."""
        if self._is_broken:
            return
        for row in rows[self._checked :]:
            self._checked += 1
            position = self._checked
            parent = self._messages.get(row["parent"])
            body = self._bodies.get(row["body"])
            digest = hash_of(
                None if parent is None else parent["hash"],
                row["role"],
                None if body is None else body["hash"],
                row["envelope"],
            )
            if digest != row["hash"] or row["depth"] != position - 1:
                self._faults.append(Fault(step, None, f"message {position} is not what was hashed"))
            elif row["body"] in self._changed:
                self._faults.append(Fault(step, None, f"the text of message {position} is not what was hashed"))

    def _message(self, row: Row) -> Message:
        body = self._bodies.get(row["body"])
        content = None if body is None else _exact(body)
        try:
            return message_of(row["role"], content, row["envelope"])
        except (ValueError, KeyError, TypeError, AttributeError):  # a fault already
            return Message(role=row["role"], content=content)

    def _text(self, body: int | None, step: int, call: int | None, what: str) -> str | None:
        row = self._bodies.get(body) if body is not None else None
        if row is None:
            self._faults.append(Fault(step, call, f"{what} is missing"))
            return None
        if body in self._changed and (what, row["id"]) not in self._seen:
            self._seen.add((what, row["id"]))
            self._faults.append(Fault(step, call, f"{what} is not what was hashed"))
        return _exact(row)

    def _rows(self, query: str, *values: Any) -> list[Row]:
        cursor = self._connection.execute(query, values)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, tuple(row), strict=True)) for row in cursor.fetchall()]


def _is_placed(span: Row) -> bool:
    return span["kind"] == 1 or isinstance(span["idx"], int)


def _usage(span: Row) -> Usage:
    return Usage(
        input=span["inp"],
        output=span["out"],
        cached=span["cached"],
        reasoning=span["reasoning"],
        cache_write=span["cache_write"],
    )


def _is_whole(body: Row) -> bool:
    """Whether a text is what was hashed, and what is shown of it belongs to it."""
    whole = _bytes(body)
    if hashlib.sha256(whole).digest() != body["hash"]:
        return False
    return body["raw"] is None or readable(whole.decode("utf-8", "surrogatepass"))[0] == body["text"]


def _bytes(body: Row) -> bytes:
    raw = body["raw"]
    return bytes(raw) if raw is not None else str(body["text"]).encode("utf-8", "surrogatepass")


def _exact(body: Row) -> str:
    try:
        return _bytes(body).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:  # a fault already
        return str(body["text"])


def _ids(values: set[int | None]) -> str:
    return to_text(sorted(value for value in values if value is not None))


def _object(text: str | None) -> Mapping[str, Any]:
    try:
        value = json.loads(text) if text else {}
    except ValueError:  # a fault already: it was sealed
        value = {}
    if not isinstance(value, dict):
        return {}
    # A bundle may hold anything: what is not of its kind is taken for not said.
    odd = {name for name in ("limits", "redaction") if not isinstance(value.get(name, {}), dict)}
    return {name: one for name, one in value.items() if name not in odd}
