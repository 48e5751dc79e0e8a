"""What a model call costs, by the list of genai-prices. The amounts are worked out by hand beside each row."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal, getcontext, localcontext
from typing import Any

import genai_prices
import pytest
from genai_prices.data import providers
from hypothesis import example, given
from hypothesis import strategies as st

from agent.model_names import dated, provider_id, spellings
from agent.price_list import find, tried
from agent.pricing import FREE, PriceBook, Priced
from agent.rates import NOTHING, Rates, Tokens, tokens_of
from agent.values import Usage

BOOK = PriceBook()
NOW = datetime(2026, 10, 20, 18, tzinfo=UTC)
LIST = f"genai-prices {genai_prices.__version__}"


def price(
    model: str | None,
    provider: str | None = "openai",
    *,
    answered: str | None = None,
    when: datetime = NOW,
    tier: str | None = None,
    book: PriceBook = BOOK,
    **usage: Any,
) -> Priced:
    used = Usage(**(usage or {"input": 1000, "output": 100}))
    return book.price(model=model, response_model=answered, provider=provider, when=when, usage=used, tier=tier)


# The rates are US dollars per million tokens, so a token costs 1000 times its rate in nano-dollars.
ROWS = [
    # 1000 * 2.50 + 500 * 10.00 = 2500 + 5000 = 7500 micro-dollars
    ("openai", "gpt-4o", {"input": 1000, "output": 500}, 7_500_000, "openai/gpt-4o"),
    # cached inside input: (2000 - 1500) * 2.50 + 1500 * 1.25 + 100 * 10 = 1250 + 1875 + 1000 = 4125
    ("openai", "gpt-4o", {"input": 2000, "output": 100, "cached": 1500}, 4_125_000, "openai/gpt-4o"),
    # 1 * 0.15 + 1 * 0.60 = 0.75
    ("openai", "gpt-4o-mini", {"input": 1, "output": 1}, 750, "openai/gpt-4o-mini"),
    # a token of cached input at 0.075: 0.075 micro-dollars are 75 nano-dollars
    ("openai", "gpt-4o-mini-2024-07-18", {"input": 1, "output": 0, "cached": 1}, 75, "openai/gpt-4o-mini"),
    # the snapshot of May had another price: 1000 * 5 + 100 * 15 = 6500
    ("openai", "gpt-4o-2024-05-13", {"input": 1000, "output": 100}, 6_500_000, "openai/gpt-4o-2024-05-13"),
    # reasoning inside output: 1000 * 1.25 + 800 * 10 = 1250 + 8000 = 9250, not 600 * 10 more
    ("openai", "gpt-5", {"input": 1000, "output": 800, "reasoning": 600}, 9_250_000, "openai/gpt-5"),
    # (1000 - 900) * 0.25 + 900 * 0.025 + 50 * 2 = 25 + 22.5 + 100 = 147.5
    ("openai", "gpt-5-mini", {"input": 1000, "output": 50, "cached": 900}, 147_500, "openai/gpt-5-mini"),
    # up to 272,000 input tokens: 272000 * 2.50 + 1000 * 15 = 680000 + 15000 = 695000
    ("openai", "gpt-5.4", {"input": 272_000, "output": 1000}, 695_000_000, "openai/gpt-5.4"),
    # one more, and all are at the higher rate: 272001 * 5 + 1000 * 22.50 = 1360005 + 22500 = 1382505
    ("openai", "gpt-5.4", {"input": 272_001, "output": 1000}, 1_382_505_000, "openai/gpt-5.4"),
    # a fine-tuned model has a price of its own: 1000 * 3.75 + 100 * 15 = 3750 + 1500 = 5250
    ("openai", "ft:gpt-4o-2024-08-06:us::x1", {"input": 1000, "output": 100}, 5_250_000, "openai/ft:gpt-4o"),
    # fresh 1000 * 3, read 8000 * 0.30 (a tenth), written 1000 * 3.75 (a quarter more), out 200 * 15:
    # 3000 + 2400 + 3750 + 3000 = 12150
    (
        "anthropic", "claude-sonnet-4-5-20250929",
        {"input": 10_000, "output": 200, "cached": 8000, "cache_write": 1000}, 12_150_000, "anthropic/claude-sonnet-4-5",
    ),
    # written 4000 * 1.25, out 10 * 5: 5000 + 50 = 5050
    ("anthropic", "claude-haiku-4-5", {"input": 4000, "output": 10, "cache_write": 4000}, 5_050_000, "anthropic/claude-haiku-4-5"),
    # 100 * 15 + 100 * 75 = 1500 + 7500 = 9000
    ("anthropic", "claude-opus-4-1-20250805", {"input": 100, "output": 100}, 9_000_000, "anthropic/claude-opus-4-1"),
    # 200000 * 1.25 + 1000 * 10 = 250000 + 10000 = 260000
    ("gcp.gemini", "gemini-2.5-pro", {"input": 200_000, "output": 1000}, 260_000_000, "google/gemini-2.5-pro"),
    # above: (300000 - 250000) * 2.50 + 250000 * 0.25 + 1000 * 15 = 125000 + 62500 + 15000 = 202500. The threshold
    # counts the cached tokens too
    ("gcp.gemini", "gemini-2.5-pro", {"input": 300_000, "output": 1000, "cached": 250_000}, 202_500_000, "google/gemini-2.5-pro"),
    # 1000 * 0.30 + 1000 * 2.50 = 2800
    ("gcp.vertex_ai", "gemini-2.5-flash", {"input": 1000, "output": 1000}, 2_800_000, "google/gemini-2.5-flash"),
    # at 18:00 UTC: (2000 - 1500) * 0.135 + 1500 * 0.035 + 100 * 0.55 = 67.5 + 52.5 + 55 = 175
    ("deepseek", "deepseek-chat", {"input": 2000, "output": 100, "cached": 1500}, 175_000, "deepseek/deepseek-chat"),
    # 1000 * 0.15 + 100 * 0.60 = 150 + 60 = 210
    ("deepseek", "deepseek-flash", {"input": 1000, "output": 100}, 210_000, "deepseek/deepseek-flash"),
    # no rate for cached input: 1000 * 2 + 100 * 6 = 2600, the 400 cached ones as input
    ("mistral_ai", "mistral-large-latest", {"input": 1000, "output": 100, "cached": 400}, 2_600_000, "mistral/mistral-large"),
    # 1000 * 0.15 + 100 * 0.60 = 150 + 60 = 210
    ("mistral_ai", "mistral-small-latest", {"input": 1000, "output": 100}, 210_000, "mistral/mistral-small-latest"),
    # 1000 * 0.59 + 100 * 0.79 = 590 + 79 = 669
    ("groq", "llama-3.3-70b-versatile", {"input": 1000, "output": 100}, 669_000, "groq/llama-3.3-70b-versatile"),
    # the prefix is part of the name there: 1000 * 0.15 + 100 * 0.60 = 210
    ("groq", "openai/gpt-oss-120b", {"input": 1000, "output": 100}, 210_000, "groq/openai/gpt-oss-120b"),
    # (1000 - 600) * 3 + 600 * 0.75 + 100 * 15 = 1200 + 450 + 1500 = 3150
    ("x_ai", "grok-4", {"input": 1000, "output": 100, "cached": 600}, 3_150_000, "x-ai/grok-4-0709"),
    # 1000 * 0.30 + 100 * 0.50 = 350
    ("x_ai", "grok-3-mini", {"input": 1000, "output": 100}, 350_000, "x-ai/grok-3-mini"),
    # Azure sells OpenAI's models at OpenAI's price: 1000 * 2.50 + 100 * 10 = 3500
    ("azure.ai.openai", "gpt-4o", {"input": 1000, "output": 100}, 3_500_000, "openai/gpt-4o"),
    # within a region a tenth more: 1000 * 1.10 + 100 * 5.50 = 1650; worldwide 1000 * 1 + 100 * 5 = 1500
    (
        "aws.bedrock", "us.anthropic.claude-haiku-4-5-20251001-v1:0", {"input": 1000, "output": 100}, 1_650_000,
        "aws/regional.anthropic.claude-haiku-4-5-20251001-v1:0",
    ),
    (
        "aws.bedrock", "global.anthropic.claude-haiku-4-5-20251001-v1:0", {"input": 1000, "output": 100}, 1_500_000,
        "aws/global.anthropic.claude-haiku-4-5-20251001-v1:0",
    ),
    # a fee for the call, and reasoning at a rate of its own where the list says so: 0.012 + 10 * 1 + 10 * 1 micro
    ("perplexity", "sonar", {"input": 10, "output": 10}, 12_020_000, "perplexity/sonar"),
    # 100 * 2 + (500 - 400) * 8 + 400 * 3 = 200 + 800 + 1200 = 2200
    ("perplexity", "sonar-deep-research", {"input": 100, "output": 500, "reasoning": 400}, 2_200_000, "perplexity/sonar-deep-research"),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "model", "usage", "cost", "by"), ROWS)
def test_a_call_costs_what_its_tokens_cost(
    provider: str, model: str, usage: dict[str, Any], cost: int, by: str
) -> None:
    assert price(model, provider, **usage) == Priced(cost=cost, price=f"{LIST} {by}")


def test_the_library_comes_to_the_same_amounts() -> None:
    for provider, model, used, cost, _ in ROWS:
        usage = genai_prices.Usage(
            input_tokens=used["input"], output_tokens=used["output"], cache_read_tokens=used.get("cached"),
            cache_write_tokens=used.get("cache_write"), output_reasoning_tokens=used.get("reasoning"),
        )  # fmt: skip
        theirs = genai_prices.calc_price(
            usage, model, provider_id=provider_id(provider), genai_request_timestamp=NOW
        ).total_price
        assert int(theirs * 10**9) == cost, model


@pytest.mark.parametrize(
    ("model", "when", "cost"),
    [
        # 1000 * 10 + 100 * 40 = 14000; from 10 June 2025 on 1000 * 2 + 100 * 8 = 2800
        ("o3", datetime(2025, 6, 9, 23, 59, 59, 999_999, tzinfo=UTC), 14_000_000),
        ("o3", datetime(2025, 6, 10, tzinfo=UTC), 2_800_000),
        ("o3", datetime(2025, 6, 10, 1, tzinfo=timezone(timedelta(hours=2))), 14_000_000),
        # 1000 * 0.10 + 100 * 0.30 = 130; from 16 March 2026 on 1000 * 0.15 + 100 * 0.60 = 210
        ("mistral-small-latest", datetime(2026, 3, 15, tzinfo=UTC), 130_000),
        ("mistral-small-latest", datetime(2026, 3, 16, tzinfo=UTC), 210_000),
        # by day 1000 * 0.30 + 100 * 1.20 = 420, else 210
        ("deepseek-flash", datetime(2026, 10, 20, 6, tzinfo=UTC), 420_000),
        ("deepseek-flash", datetime(2026, 10, 20, 10, tzinfo=UTC), 210_000),
    ],
)
def test_a_call_has_the_price_of_its_time(model: str, when: datetime, cost: int) -> None:
    assert price(model, when=when).cost == cost


@pytest.mark.parametrize(
    "name",
    ["gpt-4o", "GPT-4o", "openai/gpt-4o", "OpenAI/GPT-4o-2024-08-06", "gpt-4o-2024-08-06", "gpt-4o-20240806",
     "gpt-4o-2099-01-01", "gpt-4o-20990101"],
)  # fmt: skip
@pytest.mark.parametrize("provider", ["openai", None, "my-gateway", "azure"])
def test_a_model_has_several_names(name: str, provider: str | None) -> None:
    if provider == "azure" and "/" in name:
        assert price(name, provider).price == "none:unknown-model"  # Azure's deployments have no such names
        return
    assert price(name, provider) == Priced(cost=3_500_000, price=f"{LIST} openai/gpt-4o")


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        ("m-mini", "openai"), ("my-own-7b", "openai"), ("my-own-gpt-4o-7b", "openai"), ("gpt-4o-my-finetune", "openai"),
        ("gpt-4o-", "openai"), ("gpt-4", "groq"), ("xgpt-4o", "openai"), ("gpt-4o-minimal", "openai"),
        ("gpt-4o:free", "openai"), ("gpt-4o-2024-13-01", "openai"), ("gpt-4o-0806", "openai"), ("ft:gpt-4-0613:us::x", "openai"),
        # the library gives claude-opus-4-1's price, gemini-1.5-flash's, deepseek-chat's, and claude-3-haiku's
        ("claude-opus-4-10", "anthropic"), ("gemini-1.5-flash-8b", "gcp.gemini"), ("deepseek-chat-v9", "deepseek"),
        ("my-claude-3-haiku-distilled", "gcp.gemini"),
        # weights that anybody can run, on a server that says openai
        ("llama-3", "openai"), ("llama-3.1-8b-instant", "openai"), ("gpt-oss-20b", "openai"), ("openai/gpt-oss-20b", "openai"),
        ("deepseek-r1", "openai"), ("deepseek/deepseek-r1", "openai"), ("moonshotai/Kimi-K3", "openai"), ("gemma-3-27b-it", "openai"), ("mistral-small", "openai"),
        ("mistral-large-2607", "mistral_ai"), ("", "openai"), ("-2024-08-06", "openai"), ("/", "openai"), ("openai/", None),
        ("gpt-4o" * 100, "openai"),
    ],
)  # fmt: skip
def test_a_model_never_has_the_price_of_one_with_a_similar_name(name: str, provider: str) -> None:
    assert price(name, provider) == Priced(cost=None, price="none:unknown-model")


def test_an_entry_without_prices_is_no_price_of_zero() -> None:
    assert price("gpt-4.1", "github-copilot").price == "none:no-token-price"  # the library says 0
    assert price("whisper-large-v3", "groq").price == "none:no-token-price"  # it is paid by the hour
    assert price("text-embedding-3-small").price == "none:no-token-price"  # it has no output
    assert price("text-embedding-3-small", input=1000, output=0).cost == 20_000  # 1000 * 0.02
    assert price("mistral-nemo:free", "mistral_ai").cost == 0  # the list has this very name


def test_the_model_that_answered_counts() -> None:
    assert price("gpt4-prod", "azure", answered="gpt-4o-2024-08-06").cost == 3_500_000
    assert price("gpt-4o-mini", answered="gpt-4o").cost == 3_500_000
    assert price("gpt-4o", answered=None).cost == 3_500_000
    assert price(None, answered="gpt-4o").cost == 3_500_000
    assert price(None).price == "none:unknown-model"


def test_what_was_asked_for_counts_only_where_no_stranger_can_have_answered() -> None:
    assert price("gpt-4o", "openai", answered="llama-3").price == "none:unknown-model"
    assert price("deepseek-chat", "deepseek", answered="a-name-of-tomorrow").cost == 190_000  # 1000*0.135 + 100*0.55


def test_a_gateways_prefix_names_whose_price_counts() -> None:
    assert price("groq/llama-3.1-8b-instant").price == f"{LIST} groq/llama-3.1-8b-instant"
    assert price("models/gemini-2.5-pro").price == f"{LIST} google/gemini-2.5-pro"
    assert price("openrouter/openai/gpt-4o").price == f"{LIST} openrouter/openai/gpt-4o"
    assert price("anthropic/claude-haiku-4-5", "anthropic").price == f"{LIST} anthropic/claude-haiku-4-5"
    assert price("openai/gpt-4o", "anthropic").price == "none:unknown-model"
    assert price("nobody/gpt-4o").price == "none:unknown-model"


@pytest.mark.parametrize("tier", [None, "", "default", "standard", "auto", "Default", "on_demand"])
def test_the_normal_tier_has_many_names(tier: str | None) -> None:
    assert price("gpt-5", tier=tier).cost == 2_250_000  # 1000 * 1.25 + 100 * 10


def test_another_tier_never_has_the_normal_price() -> None:
    assert price("gpt-5", tier="flex") == Priced(cost=1_125_000, price=f"{LIST} openai/gpt-5 flex")  # the half
    assert price("gpt-5", tier="batch").cost == 1_125_000
    assert price("gpt-5", tier="priority").cost == 4_500_000  # twice as much
    unknown = Priced(cost=None, price="none:unknown-tier")
    assert price("gpt-5", tier="flex", when=datetime(2026, 10, 11, tzinfo=UTC)) == unknown  # the library: 2250 micro
    assert price("gpt-4o", tier="flex") == unknown
    assert price("gpt-5", "azure", tier="flex") == unknown
    assert price("gpt-5", tier="fnord") == unknown


@pytest.mark.parametrize(
    "usage",
    [Usage(), Usage(input=5), Usage(output=5), Usage(cached=5)],
)
def test_unknown_usage_has_no_price(usage: Usage) -> None:
    asked = BOOK.price(model="gpt-4o", response_model=None, provider="openai", when=NOW, usage=usage)
    assert asked == Priced(cost=None, price="none:no-usage")


@pytest.mark.parametrize(
    "usage",
    [
        {"input": -1, "output": 1},
        {"input": 1, "output": -1},
        {"input": 1, "output": 1, "cached": 2},
        {"input": 3, "output": 1, "cached": 2, "cache_write": 2},
        {"input": 1, "output": 1, "reasoning": 2},
        {"input": 1, "output": 1, "cached": -1},
        {"input": 10**9 + 1, "output": 1},
        {"input": 1.5, "output": 1},
        {"input": True, "output": 1},
        {"input": None, "output": -1},
    ],
)
def test_absurd_usage_has_no_price(usage: dict[str, Any]) -> None:
    assert price("gpt-4o", **usage) == Priced(cost=None, price="none:bad-usage")


def test_our_own_models_cost_nothing_and_load_nothing() -> None:
    assert price("keyword", "playhead") == FREE
    assert BOOK.price(model="s", response_model="gpt-4o", provider="playhead", when=NOW, usage=Usage()) == FREE
    code = """
import sys
from datetime import datetime
from agent.pricing import PriceBook
from agent.values import Usage
PriceBook.configured().price(model="keyword", response_model=None, provider="playhead", when=datetime.now(), usage=Usage())
assert not {"genai_prices", "pydantic", "tomllib"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, env={"PATH": ""})


def test_half_a_nano_dollar_goes_to_the_even_side_and_no_context_changes_that() -> None:
    with localcontext() as context:
        context.prec = 2
        for tokens, cost in ((1, 0), (3, 2), (5, 2), (7, 4), (123_456_789, 61_728_394)):
            assert Rates(input=Decimal("0.0005"), output=Decimal(0)).cost(_fresh(tokens)) == cost
        assert getcontext().prec == 2


def test_a_million_calls_cost_a_million_times_as_much() -> None:
    one = price("gpt-4o", input=1, output=0).cost
    assert one == 2500
    assert one * 10**6 == 2_500_000_000  # floats come to 2.4999999999476


def test_an_explanation_says_what_a_name_means() -> None:
    found = BOOK.explain("GPT-5.4-2026-03-05", NOW, "openai")
    assert (found.price, found.why) == (f"{LIST} openai/gpt-5.4", "gpt-5.4-2026-03-05 is gpt-5.4 in the list of OpenAI")
    assert [one.calls for one in found.rates] == ["", "above 272,000 input tokens", "flex", "priority", "fast", "batch"]
    assert found.rates[0].rates.input == Decimal("2.5")
    assert found.rates[1].rates.output == Decimal("22.5")
    assert found.tried == ()


@pytest.mark.parametrize(
    ("name", "when", "valid"),
    [
        ("o3", datetime(2025, 6, 9, tzinfo=UTC), "before 2025-06-10"),
        ("o3", NOW, "from 2025-06-10"),
        ("gpt-4o", NOW, "at all times, as far as the list knows"),
        ("deepseek-flash", datetime(2026, 10, 20, 7, tzinfo=UTC), "each day from 06:00 to 10:00 UTC"),
        ("deepseek-flash", NOW, "each day outside of 01:00 to 04:00 and 06:00 to 10:00 UTC"),
    ],
)
def test_an_explanation_says_when_the_price_counts(name: str, when: datetime, valid: str) -> None:
    assert BOOK.explain(name, when).valid == valid


def test_an_explanation_says_what_was_tried_in_vain() -> None:
    found = BOOK.explain("gpt-4o-2099-01-01", NOW, "openai")
    assert (found.price, found.tried) == (
        f"{LIST} openai/gpt-4o",
        ("openai: gpt-4o-2099-01-01", "openai: gpt-4o-20990101"),
    )
    unknown = BOOK.explain("llama-3", NOW, "groq")
    assert (unknown.price, unknown.why) == ("none:unknown-model", "no list knows this name")
    assert unknown.tried == ("groq: llama-3",)
    assert BOOK.explain("llama-3", NOW).tried == ()
    assert BOOK.explain("gpt-4.1", NOW, "github-copilot").price == "none:no-token-price"
    assert BOOK.explain("keyword", NOW, "playhead").price == "free"


def test_every_name_that_the_list_states_means_its_own_model_or_nothing() -> None:
    for listed_by in providers:
        for model in listed_by.models:
            found = find(model.id, listed_by.id)
            if found is not None and listed_by.id != "openai":
                assert (found.provider.id, found.model.id) == (listed_by.id, model.id)


def _fresh(count: int) -> Tokens:
    return Tokens(fresh=count, cached=0, cache_write=0, output=0, reasoning=0)


COUNTS = st.integers(0, 10**9)
NAMES = st.one_of(
    st.text(max_size=30),
    st.sampled_from(sorted({model.id for one in providers for model in one.models})),
    st.tuples(
        st.sampled_from(["", "openai/", "us.", "models/", "x"]),
        st.sampled_from(["gpt-4o", "claude-haiku-4-5", "gemini-2.5-pro", "deepseek-chat"]),
        st.sampled_from(["", "-2025-01-01", "-20250101", "-mini", ":free", "-latest", "-0613", "@x", "-v1:0"]),
    ).map("".join),
)
PROVIDERS = st.one_of(st.none(), st.sampled_from([one.id for one in providers]), st.text(max_size=10))
ANYTHING = st.one_of(st.none(), st.integers(-(2**70), 2**70), st.booleans())


@given(
    NAMES,
    NAMES,
    PROVIDERS,
    st.builds(Usage, input=ANYTHING, output=ANYTHING, cached=ANYTHING, reasoning=ANYTHING, cache_write=ANYTHING),
    st.one_of(st.none(), st.text(max_size=8), st.sampled_from(["flex", "batch"])),
    st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30)),  # noqa: DTZ001
)
@example("\ud800", "\x00/\x00", "\ud800", Usage(input=1, output=1), "\ud800", datetime(2026, 1, 1))  # noqa: DTZ001
@example("claude" + "-2025-01-01" * 17, "", "anthropic", Usage(input=1, output=1), None, datetime(2026, 1, 1))  # noqa: DTZ001
def test_whatever_the_names_and_the_usage_a_cost_is_a_count_or_unknown(
    asked: str, answered: str, provider: str | None, usage: Usage, tier: str | None, when: datetime
) -> None:
    priced = BOOK.price(model=asked, response_model=answered, provider=provider, when=when, usage=usage, tier=tier)
    if priced.cost is None:
        assert priced.price.startswith("none:")
    else:
        assert type(priced.cost) is int
        assert 0 <= priced.cost < 2**63
        assert priced.price.startswith((LIST, "free"))
    BOOK.explain(asked, when, provider)


@given(st.sampled_from(["gpt-4o", "gpt-5.4", "claude-sonnet-4-5", "gemini-2.5-pro"]), COUNTS, COUNTS, COUNTS, COUNTS)
def test_more_tokens_never_cost_less(model: str, fresh: int, output: int, cached: int, more: int) -> None:
    fresh, cached, more = fresh // 4, cached // 4, more // 4
    before = price(model, None, input=fresh + cached, output=output, cached=cached).cost
    after = price(model, None, input=fresh + cached + more, output=output, cached=cached).cost
    fewer_cached = price(model, None, input=fresh + cached, output=output).cost
    assert before is not None
    assert after is not None
    assert fewer_cached is not None
    assert before <= after
    assert before <= fewer_cached


@given(COUNTS, COUNTS, COUNTS, COUNTS, COUNTS)
def test_the_buckets_hold_each_token_once(fresh: int, cached: int, written: int, output: int, reasoning: int) -> None:
    usage = Usage(
        input=fresh + cached + written,
        output=output + reasoning,
        cached=cached,
        cache_write=written,
        reasoning=reasoning,
    )
    tokens = tokens_of(usage)
    if usage.input > 10**9 or usage.output > 10**9:  # type: ignore[operator]
        assert tokens == "bad-usage"
        return
    assert tokens == Tokens(fresh=fresh, cached=cached, cache_write=written, output=output, reasoning=reasoning)
    alone = [
        Rates(input=Decimal(at == 0), cached=Decimal(at == 1), cache_write=Decimal(at == 2), output=Decimal(at == 3),
              reasoning=Decimal(at == 4)).cost(tokens)
        for at in range(5)
    ]  # fmt: skip
    assert alone == [1000 * count for count in (fresh, cached, written, output, reasoning)]
    assert Rates(input=Decimal(1), output=Decimal(1)).cost(tokens) == sum(alone)  # type: ignore[arg-type]
    assert NOTHING.cost(tokens) == 0


@given(NAMES)
def test_a_name_is_its_own_first_spelling(name: str) -> None:
    assert spellings(name)[0] == name.lower()
    assert dated(name)[0] == name
    assert len(list(tried(name, None))) < 50
