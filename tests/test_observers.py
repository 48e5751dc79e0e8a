"""OpenTelemetry and logs: what listeners hear, what is stored of others, and that neither can change the answer."""

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest
import structlog
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agent import Agent, ModelError, ScriptedModel, Toolbox, tool
from tests.processes import finish, rows, start
from tracing import Recorder, RecorderWarning
from tracing.foreign import ForeignSpans
from tracing.redaction import Redaction


@tool("Add two numbers.")
def add(a: int, b: int) -> int:
    return a + b


ASKED: dict[str, Any] = {
    "tool_calls": [{"id": "x", "name": "add", "arguments": {"a": 3, "b": 4}}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 2}},
    "finish_reason": "tool_calls",
    "model": "m-2026",
}


def script(*responses: Any, tools: Toolbox | None = None) -> Agent:
    return Agent(name="sums", model=ScriptedModel(responses), tools=tools or Toolbox([add]))


def test_listeners_get_spans_with_the_conventions_attributes(tmp_path: Path) -> None:
    exporter = InMemorySpanExporter()
    with Recorder(tmp_path / "t.db", span_processors=[SimpleSpanProcessor(exporter)]) as recorder:
        result = recorder.run_sync(script(ASKED, "7"), "q", session="s1")
    found = {span.name: span for span in exporter.get_finished_spans()}
    run, tool_span = found["invoke_agent sums"], found["execute_tool add"]
    first = next(span for span in exporter.get_finished_spans() if span.name == "chat scripted")
    assert dict(run.attributes or {}) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "sums",
        "gen_ai.request.model": "scripted",
        "gen_ai.conversation.id": "s1",
        "playhead.run.id": result.run_id,
        "playhead.stop": "answered",
    }
    assert dict(first.attributes or {}) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "playhead",
        "gen_ai.request.model": "scripted",
        "gen_ai.response.model": "m-2026",
        "gen_ai.response.finish_reasons": ("tool_calls",),
        "gen_ai.usage.input_tokens": 9,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.cache_read.input_tokens": 2,
    }
    assert (tool_span.attributes or {})["gen_ai.tool.call.id"] == "x"
    assert run.parent is None
    for span in (first, tool_span):
        assert span.parent is not None
        assert span.parent.span_id == run.context.span_id
    stored = rows(tmp_path / "t.db", "select name, span_id, parent_id from spans order by started_at")
    assert sorted(stored) == sorted(
        (span.name, f"{span.context.span_id:016x}", None if span.parent is None else f"{span.parent.span_id:016x}")
        for span in exporter.get_finished_spans()
    )


def test_the_record_does_not_depend_on_the_sdks_switches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    listener = SimpleSpanProcessor(InMemorySpanExporter())
    with Recorder(tmp_path / "t.db", span_processors=[listener]) as recorder:
        recorder.run_sync(script(ASKED, "7"), "q")
    (ids,) = rows(tmp_path / "t.db", "select count(distinct span_id) from spans where span_id != '0000000000000000'")[0]
    assert ids == 4


def test_a_run_hangs_under_the_span_in_which_the_program_is(tmp_path: Path) -> None:
    tracer = TracerProvider().get_tracer("web")
    with Recorder(tmp_path / "t.db") as recorder, tracer.start_as_current_span("GET /ask") as request:
        recorder.run_sync(script("7"), "q")
    context = request.get_span_context()
    found = rows(tmp_path / "t.db", "select parent_id, trace_id from spans where name='invoke_agent sums'")
    assert found == [(f"{context.span_id:016x}", f"{context.trace_id:032x}")]


def test_spans_of_a_tools_libraries_are_stored_under_its_call_also_from_threads(tmp_path: Path) -> None:
    provider = TracerProvider()
    provider.add_span_processor(ForeignSpans())  # type: ignore[arg-type]
    tracer = provider.get_tracer("db")
    together = threading.Barrier(4, timeout=10)

    @tool
    def query(text: str) -> str:
        together.wait()
        for number in range(20):
            with tracer.start_as_current_span(f"{text} {number}", attributes={"of": text}):
                pass
        return text

    asked = {"tool_calls": [{"name": "query", "arguments": {"text": name}} for name in "abcd"]}
    with Recorder(tmp_path / "t.db") as recorder:
        recorder.run_sync(script(asked, "done", tools=Toolbox([query])), "q")
    found = rows(
        tmp_path / "t.db",
        "select s.name, s.status, s.attributes, t.result from spans s join tool_calls t on t.span_id=s.parent_id",
    )
    assert len(found) == 80
    assert all(
        (name[0], status, attributes) == (of, "ok", f'{{"of":"{of}"}}') for name, status, attributes, of in found
    )


def test_a_program_with_a_tracer_provider_of_its_own_needs_no_set_up(tmp_path: Path) -> None:
    body = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
trace.set_tracer_provider(TracerProvider())

@tool
def fetch(text: str) -> str:
    with trace.get_tracer("http").start_as_current_span("GET /page") as span:
        span.set_status(trace.Status(trace.StatusCode.ERROR, "404"))
    return text

with Recorder("t.db") as recorder:
    calls = [{"tool_calls": [{"name": "fetch", "arguments": {"text": "x"}}]}, "done"]
    recorder.run_sync(Agent(model=ScriptedModel(calls), tools=Toolbox([fetch])), "q")
"""
    assert finish(start(tmp_path, body)) == (0, "", "")
    found = rows(
        tmp_path / "t.db",
        "select s.name, s.status, t.tool, s.step from spans s join tool_calls t on t.span_id=s.parent_id",
    )
    assert found == [("GET /page", "error", "fetch", 1)]


class Raising(SpanProcessor):
    def __init__(self, where: str) -> None:
        self._where = where

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        if self._where == "start":
            raise RuntimeError("start")

    def on_end(self, span: Any) -> None:
        if self._where == "end":
            raise RuntimeError("end")

    def shutdown(self) -> None:
        if self._where == "shutdown":
            raise RuntimeError("shutdown")


@pytest.mark.parametrize("where", ["start", "end", "shutdown"])
def test_a_listener_that_raises_is_one_warning_and_the_record_is_whole(tmp_path: Path, where: str) -> None:
    with pytest.warns(RecorderWarning, match=f"a span processor failed.*{where}") as caught:
        with Recorder(tmp_path / "t.db", span_processors=[Raising(where)]) as recorder:
            assert recorder.run_sync(script(ASKED, "7"), "q").answer == "7"
    assert len(caught) == 1
    assert rows(tmp_path / "t.db", "select status, steps from runs") == [("answered", 2)]
    assert rows(tmp_path / "t.db", "select count(*) from spans where status='open'") == [(0,)]


def test_a_log_that_raises_is_one_warning_and_the_run_goes_on(tmp_path: Path) -> None:
    def log(*event: Any) -> None:
        raise BrokenPipeError("gone")

    with pytest.warns(RecorderWarning, match="no longer told: BrokenPipeError") as caught:
        with Recorder(tmp_path / "t.db", log=log) as recorder:
            assert recorder.run_sync(script(ASKED, "7"), "q").answer == "7"
    assert len(caught) == 1
    assert rows(tmp_path / "t.db", "select status from runs") == [("answered",)]


def test_lines_are_recorded_also_when_logging_is_set_up_after_the_recorder(tmp_path: Path) -> None:
    @tool
    def look(text: str) -> str:
        structlog.get_logger().info("looking", at=text)
        return text

    before = structlog.get_config()
    try:
        with Recorder(tmp_path / "t.db") as recorder:
            structlog.configure(processors=[structlog.processors.JSONRenderer()])
            asked = {"tool_calls": [{"name": "look", "arguments": {"text": "a"}}]}
            recorder.run_sync(script(asked, "done", tools=Toolbox([look])), "q")
    finally:
        structlog.configure(**before)
    assert rows(tmp_path / "t.db", "select fields from log_events where event='looking'") == [('{"at":"a"}',)]


class Unspeakable:
    def __str__(self) -> str:
        raise ValueError("no text")

    def __repr__(self) -> str:
        return "Unspeakable()"


RENDER = structlog.processors.JSONRenderer(default=repr)


@pytest.mark.parametrize(
    ("chain", "line", "event", "fields"),
    [
        pytest.param([RENDER], "looking", "looking", {"at": "a"}, id="a-list"),
        pytest.param((RENDER,), "looking", "looking", {"at": "a"}, id="a-tuple"),
        pytest.param([structlog.processors.EventRenamer("msg"), RENDER], "looking", "looking", {"at": "a", "msg": "looking"}, id="renamed"),
        pytest.param([RENDER, lambda _, __, text: text.upper()], "looking", '{"at": "a", "event": "looking"}', {}, id="rendered-before"),
        pytest.param([RENDER], Unspeakable(), "<Unspeakable that cannot be shown: ValueError>", {"at": "a"}, id="no-text"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("when", ["before", "within"])
def test_whatever_a_programs_chain_is_its_lines_are_recorded_and_its_tools_answer(
    tmp_path: Path, chain: Any, line: Any, event: str, fields: dict[str, Any], when: str
) -> None:
    @tool
    def set_up() -> str:
        if when == "within":
            structlog.configure(processors=chain, logger_factory=structlog.ReturnLoggerFactory())
        return "ready"

    @tool
    def look(text: str) -> str:
        structlog.get_logger().info(line, at=text)
        return text

    asked = [{"name": "set_up", "arguments": {}}], [{"name": "look", "arguments": {"text": "a"}}]
    before = structlog.get_config()
    try:
        if when == "before":
            structlog.configure(processors=chain, logger_factory=structlog.ReturnLoggerFactory())
        with Recorder(tmp_path / "t.db") as recorder:
            answers = [*({"tool_calls": calls} for calls in asked), "done"]
            result = recorder.run_sync(script(*answers, tools=Toolbox([set_up, look])), "q")
    finally:
        structlog.configure(**before)
    assert result.messages[-2].content == "a"
    query = "select e.event, e.fields, t.tool from log_events e join tool_calls t using(span_id) where e.event not like 'tool.%'"
    assert [(name, json.loads(told), tool) for name, told, tool in rows(tmp_path / "t.db", query)] == [
        (event, fields, "look")
    ]


def test_what_happened_in_a_librarys_span_is_stored_with_it(tmp_path: Path) -> None:
    provider = TracerProvider()
    provider.add_span_processor(ForeignSpans())  # type: ignore[arg-type]

    @tool
    def fetch(text: str) -> str:
        with provider.get_tracer("http").start_as_current_span("GET", attributes={"a": 1}) as span:
            span.add_event("cache.miss", {"key": text}, timestamp=5)
        return text

    asked = {"tool_calls": [{"name": "fetch", "arguments": {"text": "k"}}]}
    with Recorder(tmp_path / "t.db", redact=Redaction({"digit": "[0-9]"})) as recorder:
        recorder.run_sync(script(asked, "done", tools=Toolbox([fetch])), "q")
    ((attributes,),) = rows(tmp_path / "t.db", "select attributes from spans where name='GET'")
    events = [{"name": "cache.miss", "time_ns": 5, "attributes": {"key": "k"}}]
    assert json.loads(attributes) == {"a": "[redacted:digit#1]", "events": events}


def test_a_failing_call_is_an_error_of_its_span(tmp_path: Path) -> None:
    exporter = InMemorySpanExporter()
    with Recorder(tmp_path / "t.db", span_processors=[SimpleSpanProcessor(exporter)]) as recorder:
        with pytest.raises(ModelError):
            asyncio.run(recorder.run(script(ConnectionError("no route")), "q"))
    chat, run = exporter.get_finished_spans()
    for span in (chat, run):
        assert span.status.status_code is trace.StatusCode.ERROR
        assert (span.attributes or {})["error.type"] == "ConnectionError"
