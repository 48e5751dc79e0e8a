"""The demo: a scripted model that gets five things wrong, so that one sees what the loop and the tools make of it."""

from typing import Any

from agent.models.scripted import ScriptedModel

QUESTION = "Does httpx support webhooks, and how many kinds of timeout does it have?"

ABSENT_WORD = "webhook"
"""Stands nowhere in the embedded documents; a test holds that."""

SITUATIONS = (
    "a search without hits",
    "a read of 200 lines, cut to 80",
    "a file that does not exist",
    "a tool that does not exist",
    "an argument of the wrong type",
)

ANSWER = (
    "httpx has four kinds of timeout: connect, read, write and pool (advanced/timeouts.md). "
    f"The documents say nothing about {ABSENT_WORD}s: I searched for the word and found no hits."
)


def demo_model() -> ScriptedModel:
    path = "advanced/timeouts.md"
    calls: list[tuple[str, dict[str, Any]]] = [
        ("grep_docs", {"keyword": ABSENT_WORD}),
        ("read_doc", {"path": path, "start": 1, "end": 200}),
        ("read_doc", {"path": "advanced/timeout.md"}),
        ("search_web", {"query": "httpx timeouts"}),
        ("read_doc", {"path": path, "start": "abc"}),
    ]
    script = [
        {
            "tool_calls": [{"name": name, "arguments": arguments}],
            "finish_reason": "tool_calls",
            "usage": {"input": 400 + 250 * number, "output": 20},
        }
        for number, (name, arguments) in enumerate(calls)
    ]
    last = {"content": ANSWER, "finish_reason": "stop", "usage": {"input": 1650, "output": 48}}
    return ScriptedModel([*script, last], name="demo script")
