"""What is stored of what one run says: each text once, by its hash, and without its secrets."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from agent.canonical import column_text, to_json, to_text
from agent.messages import Message, ToolCall
from agent.values import Observation, Response, ToolSchema
from tracing.chain import Body, Chain, Link, body_of
from tracing.cleaning import clean_json, clean_plain, clean_raw
from tracing.redaction import Redaction


class Texts:
    def __init__(self, redaction: Redaction | None) -> None:
        self._redactor = None if redaction is None else redaction.for_run()
        self._chain = Chain(self._redactor)
        self._schemas: tuple[ToolSchema, ...] | None = None
        self._tools: Body | None = None
        self.clean: Callable[[str], str] = _as_it_is if self._redactor is None else self._redactor
        """A text without its secrets."""

    @property
    def redacted(self) -> int:
        """Distinct secrets that were taken out so far."""
        return 0 if self._redactor is None else self._redactor.count

    # The history

    @property
    def tip(self) -> bytes | None:
        """The hash of the last message."""
        return self._chain.tip and self._chain.tip.hash

    def extend(self, messages: tuple[Message, ...]) -> list[Link]:
        """Makes `messages` the history, and returns what is new."""
        return self._chain.extend(messages)

    def goes_on(self, messages: tuple[Message, ...]) -> bool:
        """Whether these are the messages of the history, perhaps with more."""
        return self._chain.goes_on(messages)

    # Texts beside it

    def body(self, text: str) -> Body:
        return body_of(self.clean(text))

    def settings(self, settings: Mapping[str, Any]) -> Body:
        return body_of(clean_json(to_text(settings), self.clean))

    def tools(self, schemas: tuple[ToolSchema, ...]) -> Body:
        if self._tools is None or schemas is not self._schemas:
            text = to_text([schema.to_dict() for schema in schemas])
            self._schemas, self._tools = schemas, body_of(clean_json(text, self.clean))
        return self._tools

    def raw(self, response: Response) -> Body | None:
        """The provider's message where it differs from what goes into the history, also from a model that did not keep it:
        without it nobody could tell later which arguments were really asked for."""
        message, text = response.message, response.raw
        if text is None and response.calls != message.tool_calls:
            text = to_json(replace(message, tool_calls=response.calls).to_dict())
        return None if text is None else body_of(clean_raw(text, self.clean))

    def call(self, call: ToolCall) -> ToolCall:
        arguments = clean_json(call.arguments, self.clean)
        return call if arguments is call.arguments else replace(call, arguments=arguments)

    def result(self, call: ToolCall, observation: Observation) -> tuple[Body, Body | None]:
        """What the model saw, and the whole where that is not a part of it."""
        shown, whole = observation.shown, observation.whole
        if self._redactor is not None:
            shown, whole = self._redactor.cut(shown, whole)
        seen = body_of(shown)
        self._chain.expect(call.id, observation.shown, seen)
        # Most results are shown whole, perhaps with a word of ours behind; then there is no second text to keep.
        return seen, None if shown.startswith(whole) else body_of(whole)

    def plain(self, value: Any) -> Any:
        """A value as plain data."""
        return clean_plain(value, self.clean)

    def column(self, value: Any) -> str:
        """A value as the JSON text of a column."""
        return clean_json(column_text(value), self.clean)


def _as_it_is(text: str) -> str:
    return text
