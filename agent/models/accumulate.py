"""A streamed answer, put together from its pieces.

The rule for a piece without a usable index, or with one that jumps: an id or a name that is not yet known begins a new
call, anything else goes on with the last one. Names and ids that are repeated in each piece are taken once; arguments
may come before the name; of a call's further fields, and of the usage, counts what was said last. So any way of cutting
an answer into pieces gives the same message.
"""

from collections.abc import Mapping
from typing import Any

from agent.canonical import to_json
from agent.messages import further_fields
from agent.models.wire import calls_of, error_in


class Accumulator:
    """Takes chat-completions chunks as plain dicts."""

    def __init__(self) -> None:
        self.usage: Any = None
        self.model: str | None = None
        self.tier: Any = None
        self.finish: str | None = None
        self.error: Any = None
        self._texts: dict[str, list[str]] = {}
        self._other: dict[str, Any] = {}
        self._calls: list[dict[str, Any]] = []
        self._by_index: dict[Any, dict[str, Any]] = {}

    def add(self, chunk: Any) -> str:
        """Takes one chunk, and returns the answer's text that came with it."""
        if not isinstance(chunk, Mapping):
            return ""
        self.usage = chunk.get("usage") or self.usage
        self.model = chunk.get("model") or self.model
        self.tier = chunk.get("service_tier") or self.tier
        self.error = error_in(chunk) or self.error
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, Mapping):
            return ""
        self.finish = choice.get("finish_reason") or self.finish
        delta = choice.get("delta")
        if not isinstance(delta, Mapping):
            return ""
        for key, value in delta.items():
            if key == "tool_calls":
                came: list[dict[str, Any]] = []
                for piece in calls_of(delta):
                    if isinstance(piece, Mapping):
                        came.append(self._add_call(piece, came))
            elif key != "role" and isinstance(value, str):
                self._texts.setdefault(key, []).append(value)
            elif key != "role" and value is not None:
                before = self._other.get(key)
                is_list = isinstance(before, list) and isinstance(value, list)
                self._other[key] = before + value if is_list else value
        text = delta.get("content")
        return text if isinstance(text, str) else ""

    def message(self) -> dict[str, Any]:
        """The answer so far, as an unstreamed message would be."""
        message: dict[str, Any] = {"content": None, **self._other}
        message.update({key: "".join(pieces) for key, pieces in self._texts.items()})
        if self._calls:
            message["tool_calls"] = [
                {
                    "id": call["id"],
                    "type": "function",
                    "function": {"name": call["name"], "arguments": "".join(call["arguments"]), **call["inner"]},
                    **call["extra"],
                }
                for call in self._calls
            ]
        return message

    def told(self) -> dict[str, Any]:
        """What was said beside the answer."""
        return {"usage": self.usage, "model": self.model, "service_tier": self.tier}

    @property
    def is_empty(self) -> bool:
        """Whether no piece of an answer has come."""
        return not (self._texts or self._other or self._calls or self.finish)

    def _add_call(self, piece: Mapping[str, Any], came: list[dict[str, Any]]) -> dict[str, Any]:
        function = piece.get("function")
        function = function if isinstance(function, Mapping) else {}
        call_id, name = piece.get("id") or None, function.get("name") or None
        call = self._which(piece.get("index"), call_id, name)
        if name and not call_id and any(call is one for one in came):
            call = self._begun(piece.get("index"))  # two pieces with a name in one delta are two calls
        if call_id:
            call["id"] = call["id"] or call_id
        if name:
            # A name repeated in each delta is one name; a name in pieces is put together.
            call["name"] = call["name"] if call["name"] == name else call["name"] + name
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            call["arguments"].append(arguments)
        elif arguments is not None:
            call["arguments"] = [to_json(arguments)]
        extra = further_fields(piece)
        call["inner"].update(extra.pop("function", {}))
        call["extra"].update(extra)
        return call

    def _which(self, index: Any, call_id: str | None, name: str | None) -> dict[str, Any]:
        known = self._by_index.get(index) if index is not None else None
        if known is not None and not (call_id and known["id"] and known["id"] != call_id):
            return known
        same: dict[str, Any] | None = next(
            (call for call in reversed(self._calls) if call_id and call["id"] == call_id), None
        )
        if same is not None and (index is None or not name):
            if index is not None:
                self._by_index[index] = same
            return same
        if index is None and self._calls:
            last = self._calls[-1]
            is_new = (call_id and last["id"] and call_id != last["id"]) or (
                name and last["name"] and name != last["name"] and not call_id and last["arguments"]
            )
            if not is_new:
                return last
        return self._begun(index)

    def _begun(self, index: Any) -> dict[str, Any]:
        call: dict[str, Any] = {"id": None, "name": "", "arguments": [], "inner": {}, "extra": {}}
        self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        return call
