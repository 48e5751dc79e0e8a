"""A user's own prices: which entry counts for a call, and what is refused."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.own_prices import OwnPrices
from agent.prices_file import parse
from agent.pricing import BadPrices, PriceBook, Priced
from agent.values import Usage

NOW = datetime(2026, 10, 20, 18, tzinfo=UTC)


def book(text: str) -> PriceBook:
    return PriceBook(OwnPrices("prices.toml", parse(text, "/etc/prices.toml")))


def price(
    text: str,
    model: str,
    provider: str | None = "openai",
    *,
    answered: str | None = None,
    when: datetime = NOW,
    tier: str | None = None,
    **usage: Any,
) -> Priced:
    used = Usage(**(usage or {"input": 1000, "output": 100}))
    return book(text).price(model=model, response_model=answered, provider=provider, when=when, usage=used, tier=tier)


PROD = """
[[price]]
model = "gpt4-prod"
input = 2.00
cached = 0.50
output = 8
"""


def test_a_deployments_name_gets_its_own_price() -> None:
    # (2000 - 1500) * 2.00 + 1500 * 0.50 + 100 * 8 = 1000 + 750 + 800 = 2550 micro-dollars
    assert price(PROD, "gpt4-prod", input=2000, output=100, cached=1500) == Priced(
        cost=2_550_000, price="own prices.toml: gpt4-prod (input 2, cached 0.5, output 8)"
    )


def test_what_is_not_given_costs_what_is_around_it() -> None:
    # 1000 * 2 (400 of them written to the cache, at the price of input) + 100 * 8 (60 of them reasoning)
    assert price(PROD, "gpt4-prod", input=1000, output=100, cache_write=400, reasoning=60).cost == 2_800_000
    dear = PROD + "cache_write = 2.5\nreasoning = 10\n"
    # 600 * 2 + 400 * 2.5 + 40 * 8 + 60 * 10 = 1200 + 1000 + 320 + 600 = 3120
    assert price(dear, "gpt4-prod", input=1000, output=100, cache_write=400, reasoning=60).cost == 3_120_000


def test_decimals_are_exact_as_they_are_written() -> None:
    tenth = '[[price]]\nmodel = "m"\ninput = 0.1\noutput = 0.000_000_000_001'
    assert price(tenth, "m", input=3, output=0).cost == 300
    assert price(tenth, "m", input=0, output=10**9).cost == 1


@pytest.mark.parametrize("name", ["m", "M", "openai/m", "m-2026-07-09", "m-20260709", "OPENAI/M-2026-07-09"])
def test_a_name_is_found_under_what_else_it_is_called(name: str) -> None:
    assert price('[[price]]\nmodel = "m"\ninput = 1\noutput = 1', name).cost == 1_100_000


@pytest.mark.parametrize("name", ["m-mini", "my-m", "m:free", "m-latest", "m-0709", "nobody/m", "m ", "m" * 300])
def test_another_models_name_is_another_name(name: str) -> None:
    assert price('[[price]]\nmodel = "m"\ninput = 1\noutput = 1', name).price == "none:unknown-model"


def test_an_own_price_goes_before_the_list_and_an_exact_name_before_a_pattern() -> None:
    text = """
[[price]]
pattern = "gpt-4o.*"
input = 1
output = 0
[[price]]
pattern = "gpt-.*"
input = 2
output = 0
[[price]]
model = "gpt-4o"
input = 3
output = 0
"""
    assert price(text, "gpt-4o").cost == 3_000_000
    assert price(text, "gpt-4o-mini").cost == 1_000_000  # the first pattern in the file
    assert price(text, "gpt-5").cost == 2_000_000
    assert price(text, "gpt-4o-2024-08-06").cost == 1_000_000  # the whole name, before the name without its date
    assert price(text, "o3").price.startswith("genai-prices ")


def test_a_pattern_is_for_the_whole_name() -> None:
    text = '[[price]]\npattern = "llama-3"\nfree = true'
    assert price(text, "LLAMA-3").price == "own prices.toml: /llama-3/ (free)"
    assert price(text, "llama-3.1").price == price(text, "my-llama-3").price == "none:unknown-model"


def test_the_model_that_answered_goes_before_the_one_that_was_asked() -> None:
    text = PROD + '[[price]]\nmodel = "gpt-4o"\ninput = 9\noutput = 0'
    assert price(text, "gpt4-prod", answered="gpt-4o").cost == 9_000_000
    assert price(PROD, "gpt4-prod", answered="gpt-4o").cost == 2_800_000  # an own price goes before the list


def test_free_costs_nothing_even_where_the_tokens_are_not_known() -> None:
    text = '[[price]]\npattern = ".*"\nprovider = "llama.cpp"\nfree = true'
    free = Priced(cost=0, price="own prices.toml: /.*/ at llama.cpp (free)")
    assert price(text, "anything", "llama.cpp", input=None) == free
    assert price(text, "anything", "openai").price == "none:unknown-model"
    assert price(PROD, "gpt4-prod", input=None, output=5).price == "none:no-usage"
    assert price(PROD, "gpt4-prod", input=1, output=1, cached=2).price == "none:bad-usage"


DATED = """
[[price]]
model = "m"
input = 1
output = 0
[[price]]
model = "m"
from = 2026-03-01
input = 2
output = 0
[[price]]
model = "m"
from = 2026-06-01T12:00:00+02:00
until = 2026-07-01
input = 3
output = 0
"""


@pytest.mark.parametrize(
    ("when", "cost"),
    [
        (datetime(2026, 2, 28, 23, 59, 59, tzinfo=UTC), 1_000_000),
        (datetime(2026, 3, 1, tzinfo=UTC), 2_000_000),
        (datetime(2026, 3, 1, 1, tzinfo=timezone(timedelta(hours=2))), 1_000_000),
        (datetime(2026, 6, 1, 9, 59, tzinfo=UTC), 2_000_000),
        (datetime(2026, 6, 1, 10, tzinfo=UTC), 3_000_000),
        (datetime(2026, 6, 30, 23, 59, tzinfo=UTC), 3_000_000),
        (datetime(2026, 7, 1, tzinfo=UTC), 2_000_000),
    ],
)
def test_the_newest_price_that_has_begun_counts(when: datetime, cost: int) -> None:
    assert price(DATED, "m", when=when).cost == cost


def test_before_the_first_price_the_list_counts() -> None:
    text = '[[price]]\nmodel = "gpt-4o"\nfrom = 2026-03-01\ninput = 1\noutput = 0'
    assert price(text, "gpt-4o").price == "own prices.toml: gpt-4o from 2026-03-01 (input 1, output 0)"
    assert price(text, "gpt-4o", when=datetime(2026, 2, 1, tzinfo=UTC)).cost == 3_500_000


TIERS = """
[[price]]
model = "m"
input = 1
output = 1
[[price]]
model = "m"
above = 1000
input = 2
output = 2
[[price]]
model = "m"
tier = "batch"
input = 0.5
output = 0.5
[[price]]
model = "m"
provider = "azure"
input = 7
output = 7
"""


def test_a_whole_call_above_a_size_has_the_higher_price() -> None:
    assert price(TIERS, "m", input=1000, output=0).cost == 1_000_000
    assert price(TIERS, "m", input=1001, output=0, cached=900).cost == 2_002_000
    assert price(TIERS, "m", input=1001, output=1).price == "own prices.toml: m above 1000 (input 2, output 2)"


def test_a_service_tier_has_its_own_price_or_none() -> None:
    assert price(TIERS, "m", tier="batch").cost == 550_000
    assert price(TIERS, "m", tier="Default").cost == 1_100_000
    assert price(TIERS, "m", tier="flex").price == "none:unknown-tier"
    assert price(TIERS, "x", tier="flex").price == "none:unknown-model"
    assert price(TIERS, "m", tier="batch").price == "own prices.toml: m tier batch (input 0.5, output 0.5)"


def test_a_price_of_the_calls_provider_goes_before_one_for_all() -> None:
    assert price(TIERS, "m", "azure.ai.openai", input=2000, output=0).cost == 14_000_000
    assert price(TIERS, "m", "groq", input=1000, output=0).cost == 1_000_000


def test_an_explanation_names_the_entry_and_its_other_prices() -> None:
    found = book(TIERS).explain("M-2026-07-09", NOW, "groq")
    assert (found.price, found.why, found.valid) == (
        "own prices.toml: m (input 1, output 1)",
        "the name of price 1 in prices.toml takes m",
        "at all times",
    )
    assert [(one.calls, str(one.rates.input)) for one in found.rates] == [
        ("", "1"),
        ("above 1,000 input tokens", "2"),
        ("batch", "0.5"),
    ]
    assert book(DATED).explain("m", datetime(2026, 6, 20, tzinfo=UTC)).valid == (
        "from 2026-06-01T10:00:00Z until 2026-07-01"
    )
    vain = book(TIERS).explain("x-2026-07-09", NOW, "groq")
    assert vain.tried[:3] == ("prices.toml: x-2026-07-09", "prices.toml: x-20260709", "prices.toml: x")
    assert book('[[price]]\npattern = "x.*"\nfree = true').explain("xy", NOW).why == (
        "the pattern of price 1 in prices.toml takes xy"
    )


ONE = '[[price]]\nmodel = "m"\ninput = 1\noutput = 1\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[price", "/p.toml is no TOML ("),
        ("x = 1", "/p.toml: 'x' means nothing there: write each price under [[price]]"),
        ("[price]\nmodel = 'm'", "/p.toml: write [[price]], with two brackets, above each price"),
        ("price = 3", "/p.toml: write [[price]], with two brackets, above each price"),
        ("price = [1]", "/p.toml: write [[price]], with two brackets, above each price"),
        ("[[price]]\ninput = 1\noutput = 1", "/p.toml: price 1 must have either model or pattern"),
        (ONE + 'pattern = "m"', "/p.toml: price 1 (m) must have either model or pattern"),
        (ONE + ONE, "/p.toml: price 1 and price 2 are for the same calls: take one out, or give the newer one a from"),
        (ONE + "inptu = 1", "/p.toml: price 1 (m) has a key 'inptu' that means nothing: its keys are model, pattern, provider, from, until,"),
        (ONE + "free = true", "/p.toml: price 1 (m) cannot be free and have a price: take out free, or input"),
        ('[[price]]\nmodel = "m"\nfree = false', "/p.toml: price 1 (m): free must be true, or not be there"),
        ('[[price]]\nmodel = "m"\nfree = 1', "/p.toml: price 1 (m): free must be true, or not be there"),
        ('[[price]]\nmodel = "m"\ninput = 1', "/p.toml: price 1 (m) lacks output: give input and output in US dollars"),
        ('[[price]]\nmodel = "m"\noutput = 1', "/p.toml: price 1 (m) lacks input: give input and output in US dollars"),
        ('[[price]]\nmodel = "m"\ninput = "1"\noutput = 1', "/p.toml: price 1 (m): input must be a number, e.g. 2.50"),
        ('[[price]]\nmodel = "m"\ninput = true\noutput = 1', "/p.toml: price 1 (m): input must be a number, e.g. 2.50"),
        ('[[price]]\nmodel = "m"\ninput = -1\noutput = 1', "/p.toml: price 1 (m): input must be from 0 to 1,000,000"),
        ('[[price]]\nmodel = "m"\ninput = -0.1\noutput = 1', "/p.toml: price 1 (m): input must be from 0 to 1,000,000"),
        ('[[price]]\nmodel = "m"\ninput = nan\noutput = 1', "/p.toml: price 1 (m): input must be from 0 to 1,000,000"),
        ('[[price]]\nmodel = "m"\ninput = 1\noutput = inf', "/p.toml: price 1 (m): output must be from 0 to 1,000,000"),
        ('[[price]]\nmodel = "m"\ninput = 1e7\noutput = 1', "/p.toml: price 1 (m): input must be from 0 to 1,000,000"),
        ('[[price]]\nmodel = "m"\ninput = 1e-13\noutput = 1', "/p.toml: price 1 (m): input must have at most 12 decimals"),
        ('[[price]]\nmodel = "m"\ninput = 1e99999999999999999999\noutput = 1', "/p.toml is no TOML"),
        ('[[price]]\nmodel = 3\ninput = 1\noutput = 1', "/p.toml: price 1: model must be a text in quotes"),
        ('[[price]]\nmodel = ""\ninput = 1\noutput = 1', "/p.toml: price 1 (): model must be a text in quotes"),
        ('[[price]]\npattern = "("\ninput = 1\noutput = 1', "/p.toml: price 1 ((): pattern must be a regular expression ("),
        ('[[price]]\nmodel = "a\\nb"\ninput = 1', "/p.toml: price 1 (a b) lacks output"),
        (ONE + "provider = 1", "/p.toml: price 1 (m): provider must be a text in quotes"),
        (ONE + 'from = "2026-03-01"', "/p.toml: price 1 (m): from must be a day or a time without quotes"),
        (ONE + "from = 12:00:00", "/p.toml: price 1 (m): from must be a day or a time without quotes"),
        (ONE + "from = 2026-13-01", "/p.toml is no TOML ("),
        (ONE + "from = 0001-01-01T00:00:00+12:00", "/p.toml: price 1 (m): from must be within the years 1 to 9999"),
        (ONE + "from = 2026-03-01\nuntil = 2026-03-01", "/p.toml: price 1 (m) ends before it begins: make until later than from"),
        (ONE + "above = 1.5", "/p.toml: price 1 (m): above must be a whole number of tokens, e.g. 200000"),
        (ONE + "above = -1", "/p.toml: price 1 (m): above must be a whole number of tokens, e.g. 200000"),
        (ONE + "above = true", "/p.toml: price 1 (m): above must be a whole number of tokens, e.g. 200000"),
        (ONE + "tier = 1", "/p.toml: price 1 (m): tier must be a text in quotes"),
        ("price = " + "[" * 3000 + "]" * 3000, "/p.toml is no TOML ("),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_in_one_sentence(text: str, says: str) -> None:
    with pytest.raises(BadPrices) as raised:
        parse(text, "/p.toml")
    assert str(raised.value).startswith(says)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "price = []"])
def test_an_empty_file_has_no_prices(text: str) -> None:
    assert parse(text, "/p.toml") == ()


def test_the_file_is_the_option_or_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, other = tmp_path / "mine.toml", tmp_path / "other.toml"
    mine.write_text(PROD)
    other.write_text(PROD.replace("2.00", "4"))
    asked: dict[str, Any] = {"model": "gpt4-prod", "response_model": None, "provider": None, "when": NOW}
    usage = Usage(input=1, output=0)
    monkeypatch.delenv("PLAYHEAD_PRICES", raising=False)
    assert PriceBook.configured().price(**asked, usage=usage).price == "none:unknown-model"
    monkeypatch.setenv("PLAYHEAD_PRICES", "")
    assert PriceBook.configured().price(**asked, usage=usage).price == "none:unknown-model"
    monkeypatch.setenv("PLAYHEAD_PRICES", str(other))
    assert PriceBook.configured().price(**asked, usage=usage).cost == 4000
    assert PriceBook.configured(str(mine)).price(**asked, usage=usage).cost == 2000
    book = PriceBook.configured()
    book.load()
    assert book.price(**asked, usage=usage).price.startswith("own other.toml: gpt4-prod (input 4,")


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    nowhere, latin = tmp_path / "none.toml", tmp_path / "latin.toml"
    latin.write_bytes(b"# caf\xe9")
    for path, reason in (
        (nowhere, "No such file or directory"),
        (tmp_path, "Is a directory"),
        (latin, "it is not UTF-8 text"),
    ):
        with pytest.raises(BadPrices) as raised:
            PriceBook.configured(str(path))
        assert str(raised.value) == f"cannot read the prices {path} ({reason}): give another file, or none"
    with pytest.raises(BadPrices, match="cannot read the prices"):
        OwnPrices.load("a\0b")


RATE = st.decimals(0, 10**6, places=6)
SIZES = st.integers(0, 10**9)


@given(RATE, RATE, SIZES, SIZES, SIZES)
def test_a_cost_is_the_rounded_sum_of_its_parts(inp: Any, out: Any, fresh: int, cached: int, output: int) -> None:
    fresh, cached = fresh // 2, cached // 2
    text = f'[[price]]\nmodel = "m"\ninput = {inp:f}\ncached = 0.25\noutput = {out:f}'
    cost = price(text, "m", input=fresh + cached, cached=cached, output=output).cost
    # in millionths of a nano-dollar, where everything is whole
    exact = (fresh * int(inp * 10**6) + cached * 250_000 + output * int(out * 10**6)) * 1000
    assert cost is not None
    assert abs(cost * 10**6 - exact) <= 500_000
    assert cost < 2**63


@given(st.text())
def test_whatever_a_file_holds_it_is_read_or_refused(text: str) -> None:
    for content in (text, "[[price]]\n" + text, f"[[price]]\nmodel = {text}"):
        with suppress(BadPrices):
            assert isinstance(parse(content, "p"), tuple)
