"""The price list: genai-prices, looked up so that no model ever gets another model's price.

The library's own rules are partly beginnings and parts of names (`contains: claude-3-5-haiku`, `starts_with:
gemini-2.5-pro`), so a name that its rules take is held against the model once more: what stands beside a name that the
list states must be a date or a version, nothing else. And who says "openai" may be any server that speaks OpenAI's
protocol, so without a provider that is certain only the makers' own closed models are looked up by name: a gateway's
`claude-sonnet-4-5` is Anthropic's, but `llama-3.1-8b` or `gpt-oss-20b` may run on the machine under the desk. An entry
without prices is no price of zero, and a service tier that the list does not know at that time is no normal price.

Importing this module loads the list: 1.6 MB of Python, 0.1 s, 0.7 s the first time ever.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache

from genai_prices import __version__, types
from genai_prices.data import providers

from agent.model_names import LONGEST, dated, provider_id, split
from agent.rates import NOTHING, Rates

VERSION = f"genai-prices {__version__}"

_LISTS = {provider.id: provider for provider in providers}

# Names that only their maker serves, or resells at the same price; weights that anybody can run are none of them.
_MAKERS = {
    "openai": r"(?:ft:)?(?:gpt-(?!oss)|chatgpt-|o\d(?:-|$)|codex-mini|computer-use-|text-embedding-).*",
    "anthropic": r"claude-.*",
    "google": r"gemini-.*",
    "deepseek": r"deepseek-(?:chat|reasoner|flash)",
    "mistral": r"(?:mistral-(?:large|medium|small)|codestral|ministral-\d+b|devstral-\w+|magistral-\w+)-(?:latest|\d{4})",
    "x-ai": r"grok-.*",
}
# Whose name in front of a model's says who serves it. A maker's says nothing: openai/gpt-oss-20b and
# moonshotai/Kimi-K3 are also how the weights are named.
_SELLERS = frozenset(
    {"aws", "azure", "cerebras", "fireworks", "groq", "novita", "openrouter", "perplexity", "together"}
)
_MAKER = [(_LISTS[key], re.compile(pattern)) for key, pattern in _MAKERS.items()]

_VERSION = re.compile(
    r"(?:[-@](?:20\d\d-?[01]\d-?[0-3]\d|\d{3,4}|\d\d-\d\d(?:\d\d)?|latest|preview)){0,3}(?:-v\d:\d+)?"
)
_AWS_ROUTE = re.compile(r"((?:(?:us|eu|ap|apac|au|jp|in|ca|us-gov|global)\.)?)(?:(?:amazon|anthropic|meta|mistral)\.)?")


@dataclass(frozen=True, slots=True)
class Listed:
    """A model of the list."""

    provider: types.Provider
    """The one whose list it is."""
    model: types.ModelInfo
    spelling: str
    """The name by which it was found."""
    is_own: bool = True
    """False where the provider that was asked sells another's models; its own terms (tiers) are not known then."""

    @property
    def name(self) -> str:
        return f"{self.provider.id}/{self.model.id}"


@lru_cache(maxsize=1024)
def find(name: str, provider: str | None) -> Listed | None:
    """The model that a name means at a provider."""
    return next((listed for _, listed in tried(name, provider) if listed is not None), None)


def is_certain(provider: str | None) -> bool:
    """Whether a provider serves only what is in its own list."""
    key = provider_id(provider)
    return key != "openai" and key in _LISTS


def tried(name: str, provider: str | None) -> Iterator[tuple[str, Listed | None]]:
    """Where a name is looked for, in order, up to where it is found: a list and a spelling, and what was found."""
    if len(name) > LONGEST:
        return
    for key, bare in _places(name.lower(), provider_id(provider) if is_certain(provider) else None):
        for spelling in dated(bare):
            for listed_by, is_own in _lists(key, spelling):
                found = _match(listed_by, spelling)
                listed = None if found is None else Listed(listed_by, found, spelling, is_own)
                yield f"{listed_by.id}: {spelling}", listed
                if listed is not None:
                    return


def _places(name: str, certain: str | None) -> Iterator[tuple[str | None, str]]:
    """Whose lists a name is looked up in (None: the makers'), and the name there."""
    yield certain, name
    prefix, bare = split(name)
    if prefix is None:
        return
    if certain is None:
        yield prefix if prefix in _SELLERS else None, bare
    elif prefix == certain:
        yield certain, bare


def _lists(key: str | None, spelling: str) -> Iterator[tuple[types.Provider, bool]]:
    if key is None:
        yield from ((maker, True) for maker, pattern in _MAKER if pattern.fullmatch(spelling))
        return
    yield _LISTS[key], True
    yield from ((_LISTS[other], False) for other in _LISTS[key].fallback_model_providers or () if other in _LISTS)


def _match(provider: types.Provider, spelling: str) -> types.ModelInfo | None:
    """The first model whose rule takes the name, as the library does it, if the name is really its own."""
    model = next((one for one in provider.models if one.is_match(spelling)), None)
    return model if model is not None and _is_named(spelling, model, is_aws=provider.id == "aws") else None


def _is_named(spelling: str, model: types.ModelInfo, *, is_aws: bool) -> bool:
    if spelling.startswith("ft:"):  # ft:BASE:organisation:name:id
        spelling = ":".join(spelling.split(":")[:2])
    starts = {spelling}
    if is_aws and (route := _AWS_ROUTE.match(spelling)):  # us.anthropic.claude-...
        starts |= {spelling[route.end(1) :], spelling[route.end() :]}
    return any(
        start.startswith(stated) and _VERSION.fullmatch(start, len(stated))
        for stated in (model.id.lower(), *_stated(model.match))
        for start in starts
    )


def _stated(match: object) -> Iterator[str]:
    """The names in a rule."""
    match match:
        case types.ClauseOr():
            for clause in match.or_:
                yield from _stated(clause)
        case types.ClauseAnd():
            for clause in match.and_:
                yield from _stated(clause)
        case types.ClauseEquals():
            yield match.equals.lower()
        case types.ClauseStartsWith():
            yield match.starts_with.lower()
        case types.ClauseContains():
            yield match.contains.lower()
        case types.ClauseEndsWith():
            yield match.ends_with.lower()


def rates(listed: Listed, when: datetime, tier: str | None, size: int) -> Rates | str:
    """The rates of a call with `size` input tokens, all of them at the rate of their tier; or why there are none."""
    when = _utc(when)
    context = None if tier is None else _context(listed, when, tier)
    if tier is not None and context is None:
        return "unknown-tier"
    prices = {key: value for key, value in vars(listed.model.get_prices(when, context)).items() if value is not None}
    if not prices and listed.model.id.endswith(":free"):
        return NOTHING
    if "input_mtok" not in prices and "output_mtok" not in prices:
        return "no-token-price"

    def rate(key: str) -> Decimal | None:
        price = prices.get(key)
        if not isinstance(price, types.TieredPrices):
            return price
        return next((one.price for one in reversed(price.tiers) if size > one.start), price.base)

    return Rates(
        input=rate("input_mtok"),
        output=rate("output_mtok"),
        cached=rate("cache_read_mtok"),
        cache_write=rate("cache_write_mtok"),
        reasoning=rate("output_reasoning_mtok"),
        call=(rate("requests_kcount") or Decimal(0)) / 1000,
    )


def _context(listed: Listed, when: datetime, tier: str) -> dict[str, str] | None:
    """What selects a service tier in the list; None where it is not known at that time, for which the library would
    give the normal price."""
    wanted = [{"service_tier": tier}] + [{"processing": "batch"}] * (tier == "batch")
    variants = listed.model.price_variants or () if listed.is_own else ()
    for variant in variants:
        if variant.when in wanted and (variant.constraint is None or variant.constraint.active(when)):
            return variant.when
    return None


def thresholds(listed: Listed, when: datetime) -> tuple[int, ...]:
    """Input tokens above which a call costs another rate."""
    prices = vars(listed.model.get_prices(_utc(when))).values()
    return tuple(
        sorted({one.start for price in prices if isinstance(price, types.TieredPrices) for one in price.tiers})
    )


def tiers(listed: Listed, when: datetime) -> tuple[str, ...]:
    """Service tiers that have a price of their own."""
    variants = listed.model.price_variants or () if listed.is_own else ()
    names = (variant.when.get("service_tier") or variant.when.get("processing") for variant in variants)
    return tuple(
        name for name in dict.fromkeys(names) if name and _context(listed, _utc(when), name) and name != "default"
    )


def validity(listed: Listed, when: datetime) -> str:
    """When the price counts that counts at a time."""
    prices = listed.model.prices
    if not isinstance(prices, list):
        return "at all times, as far as the list knows"
    active = [one for one in prices if one.constraint is None or one.constraint.active(_utc(when))]
    chosen = active[-1] if active else prices[0]
    days = [one.constraint.start_date for one in prices if isinstance(one.constraint, types.StartDateConstraint)]
    match chosen.constraint:
        case types.StartDateConstraint(start_date=start):
            later = min((day for day in days if day > start), default=None)
            return f"from {start}" + (f" to {later} (not included)" if later else "")
        case types.TimeOfDateConstraint(start_time=start, end_time=end):
            return f"each day from {start:%H:%M} to {end:%H:%M} UTC"
        case _ if days:
            return f"before {min(days)}"
        case _:
            hours = [one.constraint for one in prices if isinstance(one.constraint, types.TimeOfDateConstraint)]
            spans = " and ".join(f"{hour.start_time:%H:%M} to {hour.end_time:%H:%M}" for hour in hours)
            return f"each day outside of {spans} UTC" if hours else "at all times, as far as the list knows"


def _utc(when: datetime) -> datetime:
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
