"""The referee of one replay: it holds what happens now against the record, step by step.

Two requests are equal if and only if their hashes are; only where these differ does it look into the messages, to name
what does. With patterns to ignore, messages are compared one by one without what the patterns match.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent.canonical import to_text
from agent.limits import Limits, Meter, as_plain
from agent.messages import Message, ToolCall
from agent.values import Observation, Request, Response, Result, ToolSchema, Totals, Usage
from tracing.chain import Chain
from tracing.cleaning import clean_json, cleaned
from tracing.recording import RecordedCall, RecordedStep, Recording
from tracing.redaction import Redaction
from tracing.replaying.differences import of_limits, of_messages, of_settings, of_tools
from tracing.replaying.ignoring import Ignore
from tracing.replaying.report import Diverged, Divergence, RecordEnds
from tracing.rows import readable

LIMITS = {
    "max_steps": "max_steps",
    "token_limit": "max_tokens",
    "cost_limit": "max_cost_usd",
    "time_limit": "max_seconds",
}
"""The limit behind each stop."""

_NUMBER = re.compile(r"(\[redacted:[a-z0-9_]+)#\d+\]")


class Referee:
    def __init__(
        self, recording: Recording, ignore: Ignore, limits: Limits | None, redact: Redaction | None = None
    ) -> None:
        """`limits` are those of the agent that runs, None where they come from the record; `redact` has own patterns of
        the recorded redaction. Raises ValueError where that cannot be done again."""
        self.recording = recording
        self.limits = limits
        self.found: list[Divergence] = []
        """What differed and did not end the replay."""
        self.steps = 0
        self.calls = 0
        self.is_cancelling = False
        """Whether the replay was cancelled because the recorded run was."""
        self.nearest: int | None = None
        policy = recording.attrs.get("redaction")
        # Without an agent every text is redacted already.
        needs = policy is not None and (limits is not None or redact is not None)
        plain = {key: value for key, value in (policy or {}).items() if needs or key != "kinds"}
        self.redactor = Redaction.from_plain(plain, redact).for_run() if policy is not None else None
        self.clean: Callable[[str], str] = str if self.redactor is None else self.redactor
        self._ignore = ignore
        self._chain = Chain(None if self.redactor is None else self.redactor)
        self._steps = {step.number: step for step in recording.steps}
        self._schemas: tuple[ToolSchema, ...] | None = None
        self._tools = "[]"
        self._same = 0
        """Messages that are known to be equal."""
        self._answered = Totals()
        self._settings_of: object = None
        self._settings = "{}"

    def opened(
        self, messages: tuple[Message, ...], settings: Mapping[str, Any], schemas: tuple[ToolSchema, ...]
    ) -> None:
        """The run begins. Secrets are numbered in the order in which they were recorded: settings, tools, messages."""
        self._settings_text(settings)
        self._tools_text(schemas)
        self._chain.extend(messages)

    @property
    def next_tools(self) -> str:
        """The recorded schemas of the step that is asked for next."""
        step = self._steps.get(self.steps + 1)
        return self.recording.tools if step is None else step.tools

    @property
    def is_own_stop(self) -> bool:
        """Whether the run stopped at a limit of steps or tokens that its agent had: a caller's own budget may say the
        same, and is an input."""
        recording = self.recording
        if recording.stop not in ("max_steps", "token_limit"):
            return False
        known = recording.attrs.get("limits")
        if known is None:
            return True
        limits = Limits(**{key: value for key, value in known.items() if key in ("max_steps", "max_tokens")})
        usage = sum((step.response.usage for step in recording.steps if step.response is not None), Usage())
        answered = sum(step.response is not None for step in recording.steps)
        return Meter(limits).stop(Totals(steps=answered, usage=usage)) == recording.stop

    # A model call

    def asked(self, request: Request) -> RecordedStep:
        """The recorded step that is asked for. Raises Diverged where it was another, RecordEnds where there is none."""
        settings = self._settings_text(request.settings)
        tools = self._tools_text(request.tools)
        self._chain.extend(request.messages)
        step = self._recorded(request.step)
        found: list[Divergence] = []
        if (one := self._of_history(request.messages, step)) is not None:
            found.append(one)
        ignore = self._ignore
        if tools != step.tools and (not ignore or ignore.text("tools", tools) != ignore.text("tools", step.tools)):
            found += of_tools(step.tools, tools, step.number)
        if settings != step.settings:
            found += of_settings(step.settings, settings, step.number)
        if found:
            raise Diverged(*found)
        if not step.ended:
            raise RecordEnds(f"the record ends at step {step.number}, while the model was asked")
        self.steps += 1
        return step

    def answered(self, request: Request, response: Response) -> None:
        self._chain.extend((*request.messages, response.message))
        so_far, usage = self._answered, response.usage
        self._answered = Totals(
            steps=so_far.steps + 1,
            usage=so_far.usage + usage,
            unreported=so_far.unreported + (usage.input is None or usage.output is None),
        )

    def charged(self, usage: Usage) -> None:
        """A model call failed and was charged all the same."""
        self._answered = replace(self._answered, usage=self._answered.usage + usage)

    def _settings_text(self, settings: Mapping[str, Any]) -> str:
        if settings is not self._settings_of:
            self._settings_of, self._settings = settings, clean_json(to_text(settings), self.clean)
        return self._settings

    def _tools_text(self, schemas: tuple[ToolSchema, ...]) -> str:
        if schemas is not self._schemas:
            self._schemas = schemas
            self._tools = clean_json(to_text([schema.to_dict() for schema in schemas]), self.clean)
        return self._tools

    def _recorded(self, number: int) -> RecordedStep:
        step = self._steps.get(number)
        if step is not None:
            return step
        recording = self.recording
        if recording.stop is None:
            raise RecordEnds(f"the record ends before step {number}")
        if recording.stop in LIMITS:
            now = {} if self.limits is None else as_plain(self.limits)
            raise Diverged(of_limits(recording.attrs.get("limits"), now, (LIMITS[recording.stop],), number))
        if number < len(recording.steps) or recording.totals.steps > len(self._steps):
            raise RecordEnds(f"the record has no step {number}: a part of it was lost")
        raise Diverged(Divergence(code="not_recorded", step=number, actual=f"the model is asked for step {number}"))

    def _of_history(self, messages: tuple[Message, ...], step: RecordedStep) -> Divergence | None:
        recording, tip = self.recording, self._chain.tip
        if tip is not None and tip.hash == step.tip:
            self._same = len(messages)
            return None
        recorded, now = recording.messages[: step.length], tuple(self._comparable(messages))
        if self._ignore:
            recorded = tuple(self._comparable(recorded))
        one = of_messages(recorded, now, self._same, recording.opening, step.number)
        if one is None and self._ignore:
            self._same = len(messages)
            return None
        if one is None:
            return Divergence(code="record", step=step.number, where="the history is not what was hashed")
        return self._placed(one, messages)

    def _placed(self, one: Divergence, messages: Sequence[Message]) -> Divergence:
        """A result that differs is told with its tool call."""
        position = int(one.where.split()[1].rstrip(","))
        known = position - 1
        self.nearest = max((step.number for step in self.recording.steps if step.length <= known), default=None)
        if one.code != "observation":
            return one
        at = position - 1
        while at > 0 and self._role(at, messages) == "tool":
            at -= 1
        step = next((s for s in self.recording.steps if s.length == at), None)
        if step is None:
            return one
        return replace(one, where=f"the result of {step.number}.{position - 1 - at}")

    def _role(self, position: int, messages: Sequence[Message]) -> str:
        return messages[position].role if position < len(messages) else "tool"

    def _comparable(self, messages: Sequence[Message]) -> Sequence[Message]:
        if self.redactor is not None:
            messages = [cleaned(message, self.redactor) for message in messages]
        if not self._ignore:
            return messages
        tools = {call.id: call.name for message in messages for call in message.tool_calls}
        return [self._ignore.message(message, tools) for message in messages]

    # A tool call

    def called(self, call: ToolCall) -> RecordedCall:
        """The recorded call at this place. Raises Diverged where it was another, RecordEnds where it was lost."""
        number = call.index + 1
        step = self._steps.get(call.step)
        found = next((one for one in step.calls if one.index == call.index), None) if step is not None else None
        if found is None:
            if self.recording.stop is None:
                raise RecordEnds(f"the record ends at step {call.step}, before call {call.step}.{number}")
            if self.recording.stop == "cancelled":
                return RecordedCall(
                    index=call.index, id=call.id, name=call.name, arguments=call.arguments, observation=None,
                    error="cancelled", ended=True,
                )  # fmt: skip
            actual = f"{call.name}({call.arguments})"
            raise Diverged(Divergence(code="not_recorded", step=call.step, call=number, actual=actual))
        if found.name != readable(call.name)[0]:
            raise Diverged(Divergence(code="tool", step=call.step, call=number, expected=found.name, actual=call.name))
        if found.arguments != (now := readable(clean_json(call.arguments, self.clean))[0]):
            ignore = self._ignore.text
            if ignore("arguments", found.arguments, call.name) != ignore("arguments", now, call.name):
                raise Diverged(
                    Divergence(
                        code="arguments",
                        step=call.step,
                        call=number,
                        where=call.name,
                        expected=found.arguments,
                        actual=now,
                    )
                )
        if found.observation is not None and found.observation.error == "not_run":
            raise Diverged(self._of_run_instead(call, found))
        if not found.ended:
            name = f"{call.step}.{number} {found.name}({found.arguments})"
            raise RecordEnds(f"the record ends in the call {name}, which never returned")
        self.calls += 1
        return found

    def _of_run_instead(self, call: ToolCall, recorded: RecordedCall) -> Divergence:
        """A call is run that was only declined, because of a limit that stopped the run."""
        recording = self.recording
        if recording.stop in LIMITS and self.limits is not None:
            names = (LIMITS[recording.stop],)
            return of_limits(recording.attrs.get("limits"), as_plain(self.limits), names, call.step)
        expected = None if recorded.observation is None else recorded.observation.shown
        return Divergence(code="observation", step=call.step, call=call.index + 1, where=call.name, expected=expected)

    def is_beside_the_end(self, call: ToolCall, recorded: RecordedCall) -> bool:
        """Whether the call failed only because another one of its step ended the run."""
        end = self.recording.error
        if recorded.observation is not None or recorded.error in (end, "cancelled") or end is None:
            return False
        step = self._steps[call.step]
        return any(one.error == end for one in step.calls if one.index != call.index)

    def drift(self, call: ToolCall, recorded: Observation, now: Observation) -> Divergence | None:
        """What a tool of now gives that is not what is recorded."""
        expected, actual = (self.stable(call, one) for one in (recorded, now))
        if expected == actual:
            return None
        return Divergence(
            code="observation",
            step=call.step,
            call=call.index + 1,
            where=f"{call.name}({self.clean(call.arguments)})",
            expected=expected,
            actual=actual,
        )

    def stable(self, call: ToolCall, observation: Observation) -> str:
        """What of an observation is compared with another run of the tool: secrets count by their kind alone."""
        shown = observation.shown
        if self.redactor is not None:
            shown = unnumbered(self.redactor.cut(shown, observation.whole)[0])
        error = f"[{observation.error}] " if observation.error is not None else ""
        return self._ignore.text("result", error + shown, call.name)

    # The end

    def ended(self, stop: str, error: str | None, result: Result | None) -> list[Divergence]:
        """What differs at the end; `result` is None for a run that was cancelled, or that a tool ended."""
        recording = self.recording
        error = error and readable(self.clean(error))[0]
        last = self.steps or None
        if result is not None:
            self._chain.extend(result.messages)
        is_earlier = stop in LIMITS and self.limits is not None and self.unused()[0] > 0
        if stop != recording.stop or is_earlier:
            return [self._of_stop(stop, error)]
        found = []
        if error != recording.error:
            found.append(Divergence(code="error", step=last, expected=recording.error, actual=error))
        answer = None if result is None or result.answer is None else self.clean(result.answer)
        if answer != recording.answer and (
            not self._ignore
            or self._ignore.text("answer", answer or "") != self._ignore.text("answer", recording.answer or "")
        ):
            found.append(Divergence(code="answer", step=last, expected=recording.answer, actual=answer))
        if not found and not self._ignore and self._tip() != recording.tip:
            found.append(self._of_end(() if result is None else result.messages, last))
        unused_steps, unused_calls = self.unused()
        if unused_steps or unused_calls:
            found.append(
                Divergence(
                    code="unused",
                    step=last,
                    expected=f"{unused_steps} further steps and {unused_calls} further calls are recorded",
                )
            )
        return found or self._of_totals(result, last)

    def _of_end(self, messages: tuple[Message, ...], last: int | None) -> Divergence:
        now = tuple(self._comparable(messages))
        one = of_messages(self.recording.messages, now, self._same, self.recording.opening, last or 0)
        return one or Divergence(code="record", step=last, where="the history at the end is not what was hashed")

    def _of_stop(self, stop: str, error: str | None) -> Divergence:
        recording = self.recording
        at = self.steps + 1 if self.unused()[0] else self.steps or None
        if stop in LIMITS and self.limits is not None:
            names = (LIMITS[stop], *([LIMITS[recording.stop]] if recording.stop in LIMITS else []))
            return of_limits(recording.attrs.get("limits"), as_plain(self.limits), names, at or 1)
        expected = recording.stop if recording.error is None else f"{recording.stop}: {recording.error}"
        return Divergence(code="stop", step=at, expected=expected, actual=stop if error is None else f"{stop}: {error}")

    def _of_totals(self, result: Result | None, last: int | None) -> list[Divergence]:
        is_whole = result is not None and result.stop != "failed"
        now = result.stats if result is not None and is_whole else self._answered
        recorded = self.recording.totals
        # Of a run that broke off, the recorder counts the calls that returned; these were compared one by one.
        names = ("steps", "unreported", *(("tool_calls",) if is_whole else ()))
        pairs = [(name, getattr(recorded, name), getattr(now, name)) for name in names]
        pairs += [
            (f"usage.{name}", getattr(recorded.usage, name), getattr(now.usage, name))
            for name in ("input", "output", "cached", "reasoning")
        ]
        return [
            Divergence(code="totals", step=last, where=name, expected=_said(before), actual=_said(after))
            for name, before, after in pairs
            if before != after
        ]

    def unused(self) -> tuple[int, int]:
        """Recorded steps that nobody asked for, and calls of the others."""
        steps = len(self.recording.steps) - self.steps
        reached = [step for step in self.recording.steps if step.number <= self.steps]
        calls = sum(
            call.observation is not None and call.observation.error != "not_run"
            for step in reached
            for call in step.calls
        )
        return max(steps, 0), max(calls - self.calls, 0)

    def _tip(self) -> bytes | None:
        return self._chain.tip and self._chain.tip.hash


def unnumbered(text: str) -> str:
    """`text` with each secret's marker without its number."""
    return _NUMBER.sub(r"\1]", text)


def _said(value: int | None) -> str:
    return "unknown" if value is None else str(value)
