"""What a call costs with its failed attempts: each is priced by itself, and an unknown one makes the whole unknown."""

import asyncio
import contextlib
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agent import Agent, Limits, ModelError, OpenAIModel, Retries, Toolbox, pricing, tool
from agent.models.wire import to_usage
from agent.pricing import PriceBook
from agent.values import Usage
from tests.model_server import Reply, completion, delta, model_server
from tests.runs import invoke
from tracing import Recorder, Store

QUICK = Retries(attempts=3, first_wait=0.001, longest_wait=0.002)
PRICES = """
[[price]]
model = "m-2026"
input = 2.00
cached = 0.50
output = 8.00

[[price]]
model = "m-2026"
above = 1000
input = 4.00
output = 8.00
"""
LARGE = {"prompt_tokens": 800, "completion_tokens": 0}
CHARGED = Reply({"choices": [], "model": "m-2026", "usage": LARGE})
"""An answer without one: 800 tokens at 2 $ per million, 1,600,000 nano-dollars."""
ANSWER = completion()
"""36 fresh, 64 cached and 40 output tokens: 36*2000 + 64*500 + 40*8000 = 424,000 nano-dollars."""


def asked(folder: Path, *replies: Any, stream: bool = False, **limits: Any) -> dict[str, Any]:
    """The row of the one model call, asked of a server that gives these replies."""
    (folder / "prices.toml").write_text(PRICES)
    with model_server(replies) as server:
        model = OpenAIModel("m", base_url=server.url, api_key="none", retries=QUICK, stream=stream)
        prices = PriceBook.configured(str(folder / "prices.toml"))
        with Recorder(folder / "t.db", prices=prices, strict=True) as recorder:
            with contextlib.suppress(ModelError):
                recorder.run_sync(Agent(model=model, limits=Limits(**limits)), "q")
    with Store(folder / "t.db") as store:
        (row,) = store.model_calls(store.find("last"))
    return row


def figures(row: dict[str, Any]) -> tuple[Any, ...]:
    cost = row["cost_usd"]
    return row["input_tokens"], row["output_tokens"], None if cost is None else round(cost * 1e9), row["price"]


def test_an_answer_alone_is_priced_by_its_own_buckets(tmp_path: Path) -> None:
    assert figures(asked(tmp_path, ANSWER))[:3] == (100, 40, 424_000)


def test_a_failed_attempt_that_was_charged_is_priced_by_itself(tmp_path: Path) -> None:
    """900 input tokens in all would be priced as 2 * 800 if they were one call above the 1,000 of the second tier."""
    row = asked(tmp_path, CHARGED, CHARGED, ANSWER)
    assert figures(row)[:3] == (1_700, 40, 2 * 1_600_000 + 424_000)
    assert row["price"].endswith(", 2 failed attempts too")


def test_a_call_that_failed_for_good_costs_what_its_attempts_did(tmp_path: Path) -> None:
    assert figures(asked(tmp_path, CHARGED))[:3] == (2_400, 0, 3 * 1_600_000)


@pytest.mark.parametrize("reply", [Reply({"error": {"message": "no"}}, status=400), Reply("nothing", status=503)])
def test_a_refused_request_costs_nothing(tmp_path: Path, reply: Reply) -> None:
    assert figures(asked(tmp_path, reply)) == (None, None, 0, "not charged")


def test_an_attempt_that_nobody_knows_the_price_of_makes_the_cost_unknown(tmp_path: Path) -> None:
    broken = Reply(events=[delta(content="It")], done=False)
    last = {"choices": [], "model": "m-2026", "usage": {"prompt_tokens": 100, "completion_tokens": 40}}
    whole = Reply(events=[delta(content="It is."), delta("stop"), last])
    row = asked(tmp_path, broken, whole, stream=True)
    assert figures(row) == (100, 40, None, "none:failed-attempt")
    result = invoke("cost", db=tmp_path / "t.db")
    assert result.exit_code == 0
    assert "without a price: 1 of 1 call" in result.stdout


def test_a_stream_that_broke_off_after_its_usage_came_is_charged_for_it(tmp_path: Path) -> None:
    usage = {"choices": [], "model": "m-2026", "usage": LARGE}
    broken = Reply(events=[delta(content="It"), usage], done=False, cut=True)
    last = {"choices": [], "model": "m-2026", "usage": {"prompt_tokens": 100, "completion_tokens": 40}}
    whole = Reply(events=[delta(content="It is."), delta("stop"), last])
    assert figures(asked(tmp_path, broken, whole, stream=True))[:3] == (900, 40, 1_600_000 + 520_000)


def test_prices_apply_later_gives_the_same_amount(tmp_path: Path) -> None:
    asked(tmp_path, CHARGED, CHARGED, ANSWER)
    with Store(tmp_path / "t.db") as store:
        (before,) = store.model_calls(store.find("last"))
    import sqlite3

    connection = sqlite3.connect(tmp_path / "t.db")
    connection.execute("update span set cost=null, price=null")
    connection.commit()
    connection.close()
    result = invoke("prices", "apply", "--prices", str(tmp_path / "prices.toml"), db=tmp_path / "t.db")
    assert result.exit_code == 0, result.output
    with Store(tmp_path / "t.db") as store:
        (after,) = store.model_calls(store.find("last"))
    assert (after["cost_usd"], after["price"]) == (before["cost_usd"], before["price"])


def test_a_limit_of_cost_counts_failed_attempts(tmp_path: Path) -> None:
    call = completion(None, [{"id": "c", "function": {"name": "x", "arguments": "{}"}}])
    row = asked(tmp_path, CHARGED, call, max_cost_usd=0.002)
    assert row["step"] == 1
    with Store(tmp_path / "t.db") as store:
        assert store.run(store.find("last"))["stop"] == "cost_limit"


@pytest.mark.parametrize("limit", [-1, float("nan"), float("inf"), True, "0.05", [1], 10**400])
def test_a_limit_that_is_no_amount_is_refused(limit: Any) -> None:
    with pytest.raises(ValueError, match="max_cost_usd must be a number of dollars"):
        Limits(max_cost_usd=limit)


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}, Usage(input=10, output=5)),
        (
            {"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1800,
             "completion_tokens_details": {"reasoning_tokens": 300}},
            Usage(input=1000, output=800, reasoning=300),
        ),
        ({"prompt_tokens": 8, "completion_tokens": 10, "total_tokens": 300}, Usage(input=8, output=292)),
        ({"prompt_tokens": 8, "completion_tokens": 10, "total_tokens": 3}, Usage(input=8, output=10)),
        ({"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 4}, Usage(input=9, output=1, cached=4)),
    ],
)  # fmt: skip
def test_what_a_provider_counts_beside_the_completion_is_output_too(usage: Any, read: Usage) -> None:
    assert to_usage(usage) == read


def test_a_price_that_cannot_be_found_ends_no_run_and_no_other_price(tmp_path: Path) -> None:
    class Odd(PriceBook):
        def price(self, **call: Any) -> Any:
            if call["response_model"] == "odd":
                raise RuntimeError("odd")
            return super().price(**call)

    (tmp_path / "prices.toml").write_text(PRICES)
    book = Odd(PriceBook.configured(str(tmp_path / "prices.toml"))._own)
    names = iter(["odd", "m-2026", "m-2026"])

    async def model(messages: Any) -> Any:
        return {
            "choices": [{"message": {"content": "x"}}],
            "model": next(names),
            "usage": {**LARGE, "completion_tokens": 1},
        }

    with pytest.warns(UserWarning, match="calls are not priced"):
        with Recorder(tmp_path / "t.db", prices=book, strict=True) as recorder:
            for _ in range(3):
                asyncio.run(recorder.run(Agent(model=model), "q"))
    with Store(tmp_path / "t.db") as store:
        costs = [row["cost_usd"] for row in store.runs(sort="turns")[0]]
    assert costs == [None, 0.001608, 0.001608]


def test_a_call_is_priced_with_its_answer_once_the_list_is_loaded(tmp_path: Path) -> None:
    PriceBook().load()
    seen: list[Any] = []

    @tool
    def look() -> str:
        with Store(tmp_path / "t.db") as store:
            seen.extend(store.model_calls(store.find("last")))
        return "seen"

    async def model(messages: Any) -> Any:
        call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        said = {"content": "done"} if len(messages) > 1 else {"content": None, "tool_calls": [call]}
        usage = {"prompt_tokens": 1000, "completion_tokens": 100}
        return {"choices": [{"message": said}], "model": "gpt-4.1-mini", "usage": usage}

    with Recorder(tmp_path / "t.db", strict=True) as recorder:
        asyncio.run(recorder.run(Agent(model=model, tools=Toolbox([look])), "q"))
    assert [(call["step"], call["cost_usd"], call["price"].split()[-1]) for call in seen] == [
        (1, 0.00056, "openai/gpt-4.1-mini")
    ]


def test_a_price_needs_no_lock_once_the_list_is_loaded() -> None:
    PriceBook().load()
    found: list[Any] = []

    def price() -> None:
        now, usage = datetime.now(UTC), Usage(input=1, output=1)
        found.append(
            PriceBook().price(model="gpt-4.1-mini", response_model=None, provider="openai", when=now, usage=usage)
        )

    with pricing._loading:  # as it is while the process forks
        thread = threading.Thread(target=price, daemon=True)
        thread.start()
        thread.join(10)
    assert [priced.cost for priced in found] == [2000]


def test_the_name_of_an_own_price_is_stored_as_a_text_that_can_be_read(tmp_path: Path) -> None:
    PriceBook().load()
    (tmp_path / "prices.toml").write_text('[[price]]\nmodel = "m\\u0000x"\ninput = 1.0\noutput = 1.0\n')

    async def model(messages: Any) -> Any:
        usage = {"prompt_tokens": 1, "completion_tokens": 1}
        return {"choices": [{"message": {"content": "x"}}], "model": "m\0x", "usage": usage}

    prices = PriceBook.configured(str(tmp_path / "prices.toml"))
    with Recorder(tmp_path / "t.db", prices=prices, strict=True) as recorder:
        asyncio.run(recorder.run(Agent(model=model), "q"))
    with Store(tmp_path / "t.db") as store:
        (call,) = store.model_calls(store.find("last"))
    assert (call["cost_usd"], call["price"]) == (2e-6, "own prices.toml: m\N{SYMBOL FOR NULL}x (input 1, output 1)")
