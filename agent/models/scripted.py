"""A model that says what it was told to say: for tests, demos, and runs that were recorded."""

import json
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from agent.errors import ScriptError, ScriptExhausted, replayed_error
from agent.messages import Message
from agent.models.wire import calls_of, first_choice, message_and_usage, to_response, told_apart
from agent.ports import ModelInfo, Tell
from agent.values import Request, Response, Result


class ScriptedModel:
    """Answers each request with the next response of a list, whatever was asked.

    A response is a string (an answer), a chat-completions message (dict or `Message`) that may also hold `usage`,
    `finish_reason` and `model`, a `(message, usage)` pair, a `Response`, or an exception, which is raised; so is
    `{"error": "TypeOfError: words"}`. In a dict, a tool call may be short: `{"name": "add", "arguments": {"a": 3}}`; its
    id is made up.

    A script is for a run from its beginning: one that is asked for step N first, as by a fork, starts at response N.
    """

    def __init__(self, responses: Iterable[Any], *, name: str = "scripted") -> None:
        if isinstance(responses, str | bytes | Mapping | Message):
            raise TypeError(
                f"a script is a list of responses, not a {type(responses).__name__}: write ScriptedModel([...])"
            )
        self.info = ModelInfo(name=name, provider="playhead")
        self._responses = list(responses)
        self._next = 0
        self._lock = threading.Lock()  # one script may be shared by runs in several threads

    @classmethod
    def load(cls, path: str | Path) -> "ScriptedModel":
        """Reads JSON Lines, one response per line; blank lines and lines that start with `//` are passed over.

        Raises ScriptError, with the line, for a file that cannot be read or is no such script.
        """
        responses: list[Any] = []
        try:
            lines = Path(path).read_text(encoding="utf-8-sig").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise ScriptError(f"cannot read the script {path}: {reason}") from error
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.lstrip().startswith("//"):
                continue
            try:
                response = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise ScriptError(f"{path}, line {number}: not JSON: {error}") from error
            if not isinstance(response, str | dict):
                raise ScriptError(
                    f"{path}, line {number}: a response is a string or an object with content or tool_calls"
                )
            if isinstance(response, dict):
                try:
                    _short_calls(response, step=0)
                except ValueError as error:
                    raise ScriptError(f"{path}, line {number}: {error}") from error
            responses.append(response)
        return cls(responses, name=f"script:{Path(path).name}")

    @classmethod
    def from_run(cls, run: Any) -> "ScriptedModel":
        """The model of a run: of a recorded one (`open_store(path).recording("last")`), or of a `Result`, whose
        messages after the last question it gives. Raises TypeError for anything else."""
        if isinstance(run, Result):
            asked = max((at for at, message in enumerate(run.messages) if message.role == "user"), default=-1)
            return cls([message for message in run.messages[asked + 1 :] if message.role == "assistant"])
        responses = getattr(run, "responses", None)
        if responses is None:
            raise TypeError(f"a script is made of a recorded run or a Result, not of {type(run).__name__}")
        return cls(responses, name=str(run.model))

    async def respond(self, request: Request, tell: Tell) -> Response:
        with self._lock:
            position = max(self._next, request.step - 1)
            self._next = position + 1
        if position >= len(self._responses):
            count = len(self._responses)
            raise ScriptExhausted(
                f"the script has {count} response{'s' if count != 1 else ''}, and step {request.step} asked for one more",
                request.step,
            )
        response = self._responses[position]
        if isinstance(response, BaseException):
            raise response
        if isinstance(response, Response):
            return response
        message, usage = message_and_usage(response)
        finish = model = tier = None
        if isinstance(message, Mapping) and "choices" in message:  # a whole completion, as a server sent it
            usage, model, tier = message.get("usage"), message.get("model"), message.get("service_tier")
            message, finish = first_choice(message)
        elif isinstance(message, Mapping):
            message = dict(message)
            if isinstance(message.get("error"), str) and not message.keys() & {"content", "tool_calls"}:
                raise replayed_error(message["error"])
            message, usage, finish, model, tier = told_apart(message, usage)
            if calls := _short_calls(message, request.step):
                message["tool_calls"] = calls
        elif not isinstance(message, str | Message):
            raise ScriptError(f"response {position + 1} of the script is a {type(message).__name__}, not a message")
        return to_response(message, step=request.step, usage=usage, finish=finish, model=model, tier=tier)

    def assert_complete(self) -> None:
        """Raises ScriptError when responses are left that nobody asked for."""
        left = len(self._responses) - self._next
        if left > 0:
            raise ScriptError(f"{left} of the script's {len(self._responses)} responses were never asked for")


def _short_calls(message: Mapping[str, Any], step: int) -> list[Any]:
    """The calls of a message, the short ones in full. Raises ValueError."""
    return [_full(call, f"call_{step}_{index}") for index, call in enumerate(calls_of(message))]


def _full(call: Any, made_up_id: str) -> Any:
    if isinstance(call, Mapping) and "function" not in call and "name" in call:
        if unknown := call.keys() - {"id", "type", "index", "name", "arguments"}:
            raise ValueError(f"a short tool call has a name and arguments, not {sorted(unknown)[0]!r}")
        function = {"name": call["name"], "arguments": call.get("arguments", "{}")}
        return {"id": call.get("id", made_up_id), "function": function}
    return call
