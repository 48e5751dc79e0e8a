"""The file of a user's own prices: for a contract, a deployment's name, a model on a machine of one's own.

    [[price]]
    model = "gpt4-prod"      # the whole name; or pattern = "llama-.*", a regular expression for the whole name
    provider = "openai"      # optional: only calls of this provider
    from = 2026-03-01        # optional, as `until`, which is not included: a day or a time, UTC
    tier = "batch"           # optional: only calls of this service tier; without, only calls of the normal one
    above = 200000           # optional: only calls with more input tokens than that, all of them at this price
    input = 2.00             # US dollars per million tokens
    output = 8.00
    cached = 0.50            # optional, as `cache_write`: without, as input
    reasoning = 8.00         # optional: without, as output

    [[price]]
    pattern = "llama-.*"
    free = true              # in the place of the prices: it costs nothing

What the file says wrongly is refused as a whole: a price that is silently passed over would be somebody's wrong bill.
Decimals are read as they are written, so that 0.1 is exact.
"""

import re
import tomllib
import warnings
from collections.abc import Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, NoReturn

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from agent.model_names import LONGEST, provider_id
from agent.own_prices import OwnPrice, day
from agent.pricing import BadPrices, normal_tier
from agent.rates import MOST_TOKENS, Rates
from agent.terminal import one_line

MOST = Decimal(10**6)
"""US dollars per million tokens: the cost of the largest call still fits into a column of the store."""
_DECIMALS = 12


def read(path: str | Path) -> tuple[OwnPrice, ...]:
    """The entries of a file. Raises BadPrices."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise BadPrices(f"cannot read the prices {path} ({reason}): give another file, or none") from error
    return parse(text, str(path))


def parse(text: str, where: str) -> tuple[OwnPrice, ...]:
    """The entries of a file's text; `where` names the file. Raises BadPrices."""
    try:
        found = tomllib.loads(text, parse_float=Decimal)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise BadPrices(f"{where} is no TOML ({error or type(error).__name__}): mend it there") from error
    tables = found.pop("price", [])
    if found:
        raise BadPrices(f"{where}: {next(iter(found))!r} means nothing there: write each price under [[price]]")
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise BadPrices(f"{where}: write [[price]], with two brackets, above each price")
    entries = tuple(_entry(number, table, where) for number, table in enumerate(tables, 1))
    _refuse_doubles(entries, where)
    return entries


def _decimal(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise ValueError("must be a number, e.g. 2.50")
    if isinstance(value, int):
        value = Decimal(value) if 0 <= value <= MOST else Decimal(-1)
    if not value.is_finite() or not 0 <= value <= MOST:
        raise ValueError(f"must be from 0 to {MOST:,} (US dollars per million tokens)")
    if value.as_tuple().exponent < -_DECIMALS:
        raise ValueError(f"must have at most {_DECIMALS} decimals")
    return Decimal(value)


def _moment(value: Any) -> datetime:
    if isinstance(value, datetime):
        when = value if value.tzinfo else value.replace(tzinfo=UTC)
    elif isinstance(value, date):
        when = datetime(value.year, value.month, value.day, tzinfo=UTC)
    else:
        raise ValueError("must be a day or a time without quotes, e.g. 2026-03-01 or 2026-03-01T12:00:00Z")
    try:
        return when.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("must be within the years 1 to 9999") from error


def _name(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST:
        raise ValueError(f'must be a text in quotes, of at most {LONGEST} characters, e.g. "gpt-4o"')
    return value


def _expression(value: Any) -> re.Pattern[str]:
    try:
        with warnings.catch_warnings(action="ignore"):  # of what a later Python would read otherwise
            return re.compile(_name(value), re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"must be a regular expression ({error})") from error


def _yes(value: Any) -> bool:
    if value is not True:
        raise ValueError("must be true, or not be there")
    return True


def _size(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_TOKENS:
        raise ValueError("must be a whole number of tokens, e.g. 200000")
    return value


_Rate = Annotated[Decimal | None, BeforeValidator(_decimal)]
_Text = Annotated[str | None, BeforeValidator(_name)]
_Moment = Annotated[datetime | None, BeforeValidator(_moment)]


class _Shape(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, arbitrary_types_allowed=True)

    model: _Text = None
    pattern: Annotated[re.Pattern[str] | None, BeforeValidator(_expression)] = None
    provider: _Text = None
    begin: _Moment = Field(None, alias="from")
    until: _Moment = None
    tier: _Text = None
    above: Annotated[int | None, BeforeValidator(_size)] = None
    free: Annotated[bool, BeforeValidator(_yes)] = False
    input: _Rate = None
    cached: _Rate = None
    cache_write: _Rate = None
    output: _Rate = None
    reasoning: _Rate = None


_KEYS = tuple(field.alias or name for name, field in _Shape.model_fields.items())
_RATES = ("input", "cached", "cache_write", "output", "reasoning")


def _entry(number: int, table: dict[str, Any], where: str) -> OwnPrice:
    name = table.get("model", table.get("pattern"))
    place = f"{where}: price {number}" + (f" ({one_line(name, 60)})" if isinstance(name, str) else "")
    try:
        shape = _Shape.model_validate(table)
    except ValidationError as error:
        _refuse(error, place)
    if (shape.model is None) == (shape.pattern is None):
        raise BadPrices(f"{place} must have either model or pattern: the name of a model, or an expression for names")
    given = [key for key in _RATES if getattr(shape, key) is not None]
    if shape.free and given:
        raise BadPrices(f"{place} cannot be free and have a price: take out free, or {given[0]}")
    if not shape.free and (shape.input is None or shape.output is None):
        lacks = "input" if shape.input is None else "output"
        raise BadPrices(
            f"{place} lacks {lacks}: give input and output in US dollars per million tokens, or free = true"
        )
    if shape.begin and shape.until and shape.begin >= shape.until:
        raise BadPrices(f"{place} ends before it begins: make until later than from")
    rates = None if shape.free else Rates(**{key: getattr(shape, key) for key in _RATES})
    return OwnPrice(
        number=number,
        label=_label(shape),
        model=None if shape.model is None else shape.model.lower(),
        pattern=shape.pattern,
        provider=provider_id(shape.provider),
        begin=shape.begin,
        end=shape.until,
        tier=normal_tier(shape.tier),
        above=shape.above,
        rates=rates,
    )


def _label(shape: _Shape) -> str:
    words = [shape.model if shape.pattern is None else f"/{shape.pattern.pattern}/"]
    words += [f"at {shape.provider}"] * (shape.provider is not None)
    words += [f"{word} {day(moment)}" for word, moment in (("from", shape.begin), ("until", shape.until)) if moment]
    words += [f"tier {shape.tier}"] * (shape.tier is not None)
    words += [f"above {shape.above}"] * (shape.above is not None)
    rates = ((key, getattr(shape, key)) for key in _RATES)
    said = ", ".join(f"{key} {rate.normalize():f}" for key, rate in rates if rate is not None)
    return f"{' '.join(word for word in words if word)} ({said or 'free'})"


def _refuse(error: ValidationError, place: str) -> NoReturn:
    """The first thing that is wrong, in our own words."""
    first = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        raise BadPrices(f"{place} has a key {key!r} that means nothing: its keys are {', '.join(_KEYS)}") from None
    raise BadPrices(f"{place}: {key} {first['msg'].removeprefix('Value error, ')}") from None


def _refuse_doubles(entries: Iterable[OwnPrice], where: str) -> None:
    seen: dict[Any, int] = {}
    for entry in entries:
        pattern = None if entry.pattern is None else entry.pattern.pattern
        key = (entry.model, pattern, entry.provider, entry.begin, entry.tier, entry.above)
        if key in seen:
            raise BadPrices(
                f"{where}: price {seen[key]} and price {entry.number} are for the same calls: "
                "take one out, or give the newer one a from"
            )
        seen[key] = entry.number
