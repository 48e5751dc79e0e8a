"""`viewer prices`: which price a name gets, which calls have none, and filling prices in."""

import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import click
import genai_prices
import pytest
from click.testing import Result

from agent import Agent, ScriptedModel
from agent.ports import ModelInfo, Tell
from agent.values import Request, Response
from tests import runs
from tests.runs import strict_json
from tracing import FixedClock, Recorder
from tracing.file import open_writing
from viewer.commands.prices import prices

LIST = f"genai-prices {genai_prices.__version__}"
VIEWER = click.Group("viewer", commands=[prices])


class Paid:
    """A scripted model that says that it is somebody's."""

    def __init__(self, name: str, provider: str, *responses: Any) -> None:
        self.info = ModelInfo(name=name, provider=provider)
        self._script = ScriptedModel(responses)

    async def respond(self, request: Request, tell: Tell) -> Response:
        return await self._script.respond(request, tell)


def said(model: str | None = None, **usage: int) -> dict[str, Any]:
    return {"content": "a", "model": model, "finish_reason": "stop", "usage": usage}


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """Two calls of gpt-4o, one of a deployment, one of a local model, one without usage: none with a price yet."""
    db = tmp_path / "traces.db"
    with Recorder(db, clock=FixedClock(), strict=True) as recorder:
        for model in (
            Paid("gpt-4o", "openai", said("gpt-4o-2024-08-06", input=1000, output=100)),
            Paid("gpt-4o", "openai", said("gpt-4o-2024-08-06", input=2000, output=100, cached=1500)),
            Paid("gpt4-prod", "azure", said("gpt-4o-2024-08-06", input=1, output=0)),
            Paid("my-own-7b", "openai", said("my-own-7b", input=50, output=5)),
            Paid("gpt-4o", "openai", said("gpt-4o-2024-08-06")),
        ):
            recorder.run_sync(Agent(model=model), "q")
    change(db, "update span set cost=null, price=null")
    return db


def change(db: Path, statement: str) -> None:
    with closing(open_writing(db)) as connection:
        connection.execute("pragma busy_timeout=5000")
        connection.execute(statement)


def costs(db: Path) -> list[Any]:
    with closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True)) as connection:
        return connection.execute("select cost, price from span where kind=1 order by run, n").fetchall()


def invoke(*arguments: str, db: Path | None = None) -> Result:
    return runs.invoke("prices", *arguments, db=db, command=VIEWER)


def printed(*arguments: str, db: Path | None = None) -> str:
    result = invoke(*arguments, db=db)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def as_json(*arguments: str, db: Path | None = None) -> Any:
    return strict_json(printed(*arguments, "--json", db=db))


def test_a_name_gets_its_price_and_a_reason() -> None:
    text = printed("gpt-4o-2099-01-01", "--provider", "openai", "--on", "2026-10-20")
    assert f"  price  {LIST} openai/gpt-4o\n" in text
    assert "  why    gpt-4o is gpt-4o in the list of OpenAI\n" in text
    assert "looked for in vain: openai: gpt-4o-2099-01-01, openai: gpt-4o-20990101\n" in text
    line = next(line for line in text.splitlines() if line.startswith("all others"))
    assert line.split() == ["all", "others", "2.5", "1.25", "as", "input", "10", "as", "output", "-"]


def test_a_price_is_that_of_the_day() -> None:
    def rate(on: str) -> Any:
        found = as_json("o3", "--on", on, "--tz", "UTC")
        return found["usd_per_million_tokens"][0]["input"], found["valid"]

    assert rate("2025-06-09") == (10.0, "before 2025-06-10")
    assert rate("2025-06-10") == (2.0, "from 2025-06-10")


def test_an_unknown_name_is_an_answer() -> None:
    text = printed("my-own-7b", "--provider", "openai")
    assert "  price  unknown (none:unknown-model)\n" in text
    assert text.endswith('next: write a [[price]] for model = "my-own-7b" into a file, and set PLAYHEAD_PRICES\n')
    assert as_json("my-own-7b")["known"] is False


def test_an_explanation_as_json() -> None:
    found = as_json("gemini-2.5-pro", "--provider", "gcp.gemini", "--on", "2026-10-20T00:00Z")
    assert found.pop("remarks").startswith("See https://ai.google.dev")
    assert found == {
        "schema": 1,
        "model": "gemini-2.5-pro",
        "provider": "gcp.gemini",
        "on": "2026-10-20T00:00:00Z",
        "price": f"{LIST} google/gemini-2.5-pro",
        "known": True,
        "why": "gemini-2.5-pro is gemini-2.5-pro in the list of Google",
        "usd_per_million_tokens": [
            {"calls": "all others", **_rates(1.25, 0.125, 10.0)},
            {"calls": "above 200,000 input tokens", **_rates(2.5, 0.25, 15.0)},
            {"calls": "batch", **_rates(0.625, 0.125, 5.0)},
        ],
        "valid": "at all times, as far as the list knows",
        "tried": [],
        "next": ["viewer prices"],
    }


def _rates(inp: float, cached: float, out: float) -> dict[str, Any]:
    return {"input": inp, "cached": cached, "cache_write": None, "output": out, "reasoning": None, "call": 0.0}


def test_own_prices_go_before_the_list(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text('[[price]]\nmodel = "gpt-4o"\ninput = 1\noutput = 2\n')
    text = printed("gpt-4o", "--prices", str(mine))
    assert "  price  own mine.toml: gpt-4o (input 1, output 2)\n" in text
    assert "  valid  at all times\n" in text
    assert as_json("gpt-4o", "--prices", str(mine))["usd_per_million_tokens"][0]["calls"] == "all others"


def test_a_model_may_be_called_apply() -> None:
    assert as_json("--name", "apply")["model"] == "apply"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["a", "--name", "b"], "viewer: give the model once: as MODEL, or with --name"),
        (["a", "--again"], "viewer: --again is for apply: write viewer prices apply --again"),
        (["apply", "--on", "2026-01-01"], "viewer: --on and --provider are for a model: write viewer prices MODEL"),
        (["--provider", "x"], "viewer: --on and --provider are for a model: write viewer prices MODEL"),
        (["a", "--on", "soon"], "'soon' is no time: write 90m, 2h"),
        (["a", "--on", "today", "--tz", "Nowhere"], "there is no time zone 'Nowhere'"),
        (["a", "--prices", "/none.toml"], "viewer: cannot read the prices /none.toml (No such file or directory)"),
    ],
)
def test_what_cannot_be_meant_is_told(arguments: list[str], says: str) -> None:
    result = invoke(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr


def test_a_bad_file_of_prices_names_the_entry(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text('[[price]]\nmodel = "m"\ninptu = 1\n')
    result = invoke("m", "--prices", str(mine))
    assert result.exit_code == 2
    assert result.stderr.startswith(f"viewer: {mine}: price 1 (m) has a key 'inptu' that means nothing: its keys are ")


def test_models_without_a_price_are_listed(db: Path) -> None:
    change(db, "update span set price='none:unknown-model' where model='my-own-7b'")
    found = as_json(db=db)
    assert (found["total"], found["count"]) == (3, 3)
    assert [(row["model"], row["asked_as"], row["provider"], row["calls"], row["reason"]) for row in found["rows"]] == [
        ("gpt-4o-2024-08-06", "gpt-4o", "openai", 3, "not tried"),
        ("gpt-4o-2024-08-06", "gpt4-prod", "azure", 1, "not tried"),
        ("my-own-7b", None, "openai", 1, "none:unknown-model"),
    ]
    assert (found["rows"][0]["input_tokens"], found["rows"][2]["output_tokens"]) == (3000, 5)
    text = printed(db=db)
    assert "gpt-4o-2024-08-06 (asked: gpt4-prod)" in text
    assert text.endswith("next: viewer prices apply\n")
    change(db, "update span set price='none:no-usage' where price is null")
    assert printed(db=db).endswith("next: viewer prices apply --again\n")


APPLIED = [
    (3_500_000, f"{LIST} openai/gpt-4o"),  # 1000 * 2.50 + 100 * 10 = 3500 micro-dollars
    (4_125_000, f"{LIST} openai/gpt-4o"),  # 500 * 2.50 + 1500 * 1.25 + 100 * 10 = 4125
    (2_500, f"{LIST} openai/gpt-4o"),  # 2.50
    (None, "none:unknown-model"),
    (None, "none:no-usage"),
]


def test_apply_prices_what_has_no_price_and_says_what_it_could_not(db: Path) -> None:
    assert printed("apply", db=db).splitlines() == [
        "3 calls priced, $0.007628 in all",
        "2 without a price:",
        "  1  none:unknown-model  my-own-7b at openai",
        "  1  none:no-usage  gpt-4o-2024-08-06 at openai",
        "next: viewer prices",
    ]
    assert costs(db) == APPLIED
    assert printed("apply", db=db).splitlines() == [
        "no new call: 2 were tried in vain, which --again tries anew",
        "next: viewer prices apply --again",
    ]
    assert costs(db) == APPLIED


def test_with_prices_of_ones_own_what_was_tried_in_vain_is_priced_too(db: Path, tmp_path: Path) -> None:
    printed("apply", db=db)
    (tmp_path / "my prices.toml").write_text('[[price]]\nmodel = "my-own-7b"\ninput = 1\noutput = 2\n')
    assert as_json("apply", "--prices", str(tmp_path / "my prices.toml"), db=db)["priced"] == 1
    assert printed(db=db).splitlines()[-1] == "next: viewer list --sort cost"  # nothing prices a call without usage


def test_a_price_that_stands_is_never_changed(db: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text('[[price]]\npattern = ".*"\ninput = 1\noutput = 0\n')
    change(db, "update span set cost=7, price='an old list' where model='gpt4-prod'")
    printed("apply", db=db)
    before = costs(db)
    assert before[2] == (7, "an old list")
    found = as_json("apply", "--prices", str(mine), db=db)
    assert (found["priced"], found["cost_usd"]) == (1, 0.00005)
    assert found["not_priced"] == [
        {"reason": "none:no-usage", "model": "gpt-4o-2024-08-06", "provider": "openai", "calls": 1}
    ]
    assert costs(db) == [*before[:3], (50_000, "own mine.toml: /.*/ (input 1, output 0)"), (None, "none:no-usage")]


def test_apply_waits_for_somebody_elses_write(db: Path) -> None:
    with closing(open_writing(db)) as other:
        other.execute("begin immediate")
        timer = threading.Timer(0.5, other.rollback)
        timer.start()
        try:
            assert printed("apply", db=db).startswith("3 calls priced")
        finally:
            timer.join()


def test_a_store_that_stays_locked_is_told(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracing.file.PATIENT_BUSY_MS", 20)
    with closing(sqlite3.connect(db, isolation_level=None)) as other:
        other.execute("begin immediate")
        result = invoke("apply", db=db)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        f"viewer: somebody else writes the store {db} for too long: try again, or give another path\n"
    )
    assert all(price is None for _, price in costs(db))


def test_what_goes_wrong_while_prices_are_written_leaves_the_calls_as_they_were(db: Path) -> None:
    change(db, "create trigger no before update on span begin select raise(abort, 'the disk is full'); end")
    result = invoke("apply", db=db)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        "viewer: stopped after 0 calls were priced (the disk is full): write viewer prices apply once more\n"
    )
    assert all(price is None for _, price in costs(db))


def test_apply_is_done_in_short_transactions(tmp_path: Path) -> None:
    db = tmp_path / "many.db"
    with Recorder(db, clock=FixedClock(), strict=True) as recorder:
        recorder.run_sync(Agent(model=Paid("gpt-4o", "openai", said(input=1, output=0))), "q")
    columns = "span_id, kind, step, start_ns, end_ns, name, model, provider, inp, out"
    more = "with recursive more(value) as (select 1 union all select value + 1 from more where value < 1200)"
    change(db, f"{more} insert into span(run, n, {columns}) select 1, 10 + value, {columns} from span, more")
    change(db, "update span set cost=null, price=null")
    assert as_json("apply", db=db)["priced"] == 1201
    assert set(costs(db)) == {(2500, f"{LIST} openai/gpt-4o")}


def test_apply_makes_no_store(tmp_path: Path) -> None:
    result = invoke("apply", db=tmp_path / "none.db")
    assert (result.exit_code, list(tmp_path.iterdir())) == (1, [])
    assert "there is no store" in result.stderr


def test_a_store_whose_calls_are_free_has_nothing_to_price(tmp_path: Path) -> None:
    runs.record_sample(tmp_path / "traces.db")
    assert printed(db=tmp_path / "traces.db").splitlines()[0] == "every recorded call has a price"
    assert printed("apply", db=tmp_path / "traces.db").splitlines()[0] == "every recorded call has a price"


def test_what_a_server_named_a_model_cannot_act_on_the_terminal(db: Path) -> None:
    change(db, f"update span set response_model='{runs.HOSTILE}', model='{runs.HOSTILE}'")
    for arguments in ([], ["apply"], ["--name", runs.HOSTILE]):
        assert not runs.unsafe_in(printed(*arguments, db=db))


def test_calls_that_are_still_open_are_left(db: Path) -> None:
    change(db, "update span set end_ns=null")
    assert as_json(db=db)["rows"] == []
    assert as_json("apply", db=db)["priced"] == 0
    assert all(price is None for _, price in costs(db))


def test_help_says_what_it_does() -> None:
    assert "A price that a call has is never changed." in " ".join(printed("--help").split())


def test_a_day_long_ago_is_written_with_all_digits_of_its_year() -> None:
    assert printed("o3", "--on", "0001-01-01", "--tz", "UTC").splitlines()[0] == "o3, 0001-01-01 00:00 UTC"
