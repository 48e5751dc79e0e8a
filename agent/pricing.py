"""What one model call costs: a pure function of its names, its tokens, its time and the price lists.

The first of these that knows the call says what it costs:

1. A model of this package (the keyword model, a script) costs nothing: "free".
2. The user's own prices (see `agent.prices_file`), by the name that answered, then by the name that was asked for; each
   as it is, then by what else it may be called: without a date at its end, without a provider in front.
3. The list of genai-prices (see `agent.price_list`), by the name that answered in the provider's list, or, where the
   provider may be any server ("openai" is whatever speaks its protocol) or is not known, in the list of the model's
   maker. The name that was asked for counts only where no other name answered, or the provider sells nothing but what
   is in its list: a gateway that was asked for gpt-4o and let llama-3 answer has no price.

A name stands for another only where `agent.model_names` says so; never for a longer or a shorter one. What is not known
is None with a reason ("none:unknown-model"), never zero and never the price of something similar. The price is that of
the call's time, whole calls at the higher rate where the list has one for many tokens, and another service tier only
where a list knows it. Not in the record, and so in no cost: fees for searches, and that a cache write is for an hour.

An amount is frozen with what it was priced by: the version of the list, or the own price with its rates.
"""

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from agent.model_names import spellings
from agent.own_prices import NONE, OwnPrice, OwnPrices
from agent.rates import Rates, tokens_of
from agent.values import Charge, Usage

if TYPE_CHECKING:
    from agent.price_list import Listed

OURS = "playhead"
"""The provider of this package's own models, which cost nothing."""
VARIABLE = "PLAYHEAD_PRICES"

_NORMAL_TIERS = frozenset({"", "default", "standard", "auto", "on_demand"})


class BadPrices(ValueError):
    """A file of own prices that cannot be used; the text is one sentence with the file and the entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    cost: int | None
    """Nano-dollars (1e-9 US dollars); None where there is no price."""
    price: str
    """What it was priced by, "free", "replayed", or why it was not: "none:unknown-model", "none:unknown-tier",
    "none:no-token-price", "none:no-usage", "none:bad-usage"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    """The rates of some calls."""

    calls: str
    """Which: "" for the normal ones, else e.g. "above 200,000 input tokens" or "batch"."""
    rates: Rates


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """Which price a name gets, and why."""

    name: str
    provider: str | None
    when: datetime
    price: str
    """As `Priced.price`."""
    why: str
    """One sentence."""
    rates: tuple[Rated, ...] = ()
    valid: str | None = None
    remarks: str | None = None
    """What the list says of the model's price."""
    tried: tuple[str, ...] = ()
    """Where the name was looked for in vain."""


FREE = Priced(cost=0, price="free")
REPLAYED = Priced(cost=0, price="replayed")
NOT_CHARGED = Priced(cost=0, price="not charged")
"""Of a call that failed, and none of whose attempts costs anything."""


class PriceBook:
    """The user's own prices before the list of genai-prices."""

    def __init__(self, own: OwnPrices | None = None) -> None:
        self._own = own or NONE

    @classmethod
    def configured(cls, path: str | None = None) -> "PriceBook":
        """With the own prices of the file `path`, else of `$PLAYHEAD_PRICES`, else none. Raises BadPrices."""
        path = path or os.environ.get(VARIABLE)
        return cls(OwnPrices.load(path) if path else None)

    def load(self) -> None:
        """Loads the list, which `price` would do when it first needs it."""
        _load()

    def price(
        self, *, model: str | None, response_model: str | None, provider: str | None, when: datetime, usage: Usage,
        tier: str | None = None,
    ) -> Priced:  # fmt: skip
        """What a call cost that began at `when` (UTC)."""
        if provider == OURS:
            return FREE
        when, tier, tokens = _utc(when), normal_tier(tier), tokens_of(usage)
        names = tuple(dict.fromkeys(name for name in (response_model, model) if name))
        size = None if isinstance(tokens, str) else tokens.input
        if own := self._own_price(names, provider, when, tier, size):
            label = f"own {self._own.name}: {own.label}"
            if own.rates is None:
                return Priced(cost=0, price=label)
            return _none(tokens) if isinstance(tokens, str) else Priced(cost=own.rates.cost(tokens), price=label)
        if isinstance(tokens, str):
            return _none(tokens)
        _load()
        listed = _listed(names, provider)
        if listed is None:
            is_known = tier is not None and self._own_price(names, provider, when, None, size) is not None
            return _none("unknown-tier" if is_known else "unknown-model")
        from agent import price_list

        rates = price_list.rates(listed, when, tier, tokens.input)
        if isinstance(rates, str):
            return _none(rates)
        cost = rates.cost(tokens)
        return _none("no-token-price") if cost is None else Priced(cost=cost, price=_said(listed, tier))

    def _own_price(
        self, names: Sequence[str], provider: str | None, when: datetime, tier: str | None, size: int | None
    ) -> OwnPrice | None:
        for name in names:
            if found := self._own.find(name, provider=provider, when=when, tier=tier, size=size):
                return found[0]
        return None

    def price_call(
        self, *, model: str | None, response_model: str | None, provider: str | None, when: datetime, usage: Usage | None,
        tier: str | None = None, charges: Sequence[Charge] = (),
    ) -> Priced:  # fmt: skip
        """What a call cost with its failed attempts, each priced by itself. `usage` is None for a call that got no answer:
        then it cost what its attempts did."""
        parts = []
        if usage is not None:
            parts.append(self.price(model=model, response_model=response_model, provider=provider, when=when, usage=usage,
                                    tier=tier))  # fmt: skip
        parts += [
            _none("failed-attempt") if charge.usage is None
            else self.price(model=model, response_model=charge.model, provider=provider, when=when, usage=charge.usage,
                            tier=charge.tier)
            for charge in charges
        ]  # fmt: skip
        if not parts:
            return NOT_CHARGED
        unknown = next((part for part in parts if part.cost is None), None)
        if unknown is not None:
            return unknown
        more = f", {len(charges)} failed attempts too" if charges and usage is not None else ""
        return Priced(cost=sum(part.cost or 0 for part in parts), price=f"{parts[0].price}{more}")

    def explain(self, name: str, when: datetime, provider: str | None = None) -> Explained:
        """Which price a normal call of a model would get at a time, and why."""
        if provider == OURS:
            why = "the models of this package cost nothing"
            return Explained(name=name, provider=provider, when=when, price=FREE.price, why=why)
        when = _utc(when)
        return self._explain_own(name, when, provider) or self._explain_listed(name, when, provider)

    def _explain_own(self, name: str, when: datetime, provider: str | None) -> Explained | None:
        found = self._own.find(name, provider=provider, when=when, tier=None, size=None)
        if found is None:
            return None
        entry, spelling = found
        others = []
        for calls, tier, size in self._own.variations(entry):
            other = self._own.find(name, provider=provider, when=when, tier=tier, size=size)
            if other is not None and other[0] is not entry:
                others.append(Rated(calls=calls, rates=other[0].charged))
        matched = "name" if entry.pattern is None else "pattern"
        return Explained(
            name=name,
            provider=provider,
            when=when,
            price=f"own {self._own.name}: {entry.label}",
            why=f"the {matched} of price {entry.number} in {self._own.name} takes {spelling}",
            rates=(Rated(calls="", rates=entry.charged), *others),
            valid=entry.validity,
        )

    def _explain_listed(self, name: str, when: datetime, provider: str | None) -> Explained:
        from agent import price_list

        tried = tuple(price_list.tried(name, provider))
        vain = tuple(where for where, found in tried if found is None)
        if self._own.entries:
            vain = (*(f"{self._own.name}: {spelling}" for spelling in spellings(name)), *vain)
        listed = price_list.find(name, provider)
        if listed is None:
            why = "no list knows this name" if vain else "the name is in no list, and is not one of a known maker's"
            return Explained(
                name=name, provider=provider, when=when, price="none:unknown-model", why=why, tried=vain
            )  # fmt: skip
        why = f"{listed.spelling} is {listed.model.id} in the list of {listed.provider.name}"
        rates = price_list.rates(listed, when, None, 0)
        if isinstance(rates, str):
            why += ", which has no price for tokens"
            return Explained(name=name, provider=provider, when=when, price=f"none:{rates}", why=why, tried=vain)
        rows = [Rated(calls="", rates=rates)]
        for start in price_list.thresholds(listed, when):
            rows += _rated(f"above {start:,} input tokens", price_list.rates(listed, when, None, start + 1))
        for tier in price_list.tiers(listed, when):
            rows += _rated(tier, price_list.rates(listed, when, tier, 0))
        return Explained(
            name=name,
            provider=provider,
            when=when,
            price=_said(listed, None),
            why=why,
            rates=tuple(rows),
            valid=price_list.validity(listed, when),
            remarks=listed.model.price_comments,
            tried=vain,
        )


def is_loaded() -> bool:
    """Whether a price can be told without loading the list, which takes long."""
    return _loaded.is_set()


def _load() -> None:
    """Loads the list. A fork waits for that: in the child, the lock of a module that was being imported by another
    thread would never be released."""
    if _loaded.is_set():
        return  # without the lock, for which a fork in a signal handler would wait in vain
    with _loading:
        from agent import price_list  # noqa: F401

        _loaded.set()


_loading, _loaded = threading.Lock(), threading.Event()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_loading.acquire, after_in_parent=_loading.release, after_in_child=_loading.release)


def normal_tier(tier: str | None) -> str | None:
    """A service tier in lower case; None for the normal one, by whatever name."""
    plain = (tier or "").strip().lower()
    return None if plain in _NORMAL_TIERS else plain


def _listed(names: Sequence[str], provider: str | None) -> "Listed | None":
    """The model of the list that the first of the names means; the second one counts only at a provider that sells
    nothing but what is in its list."""
    from agent import price_list

    for name in names if price_list.is_certain(provider) else names[:1]:
        if listed := price_list.find(name, provider):
            return listed
    return None


def _said(listed: "Listed", tier: str | None) -> str:
    from agent import price_list

    return f"{price_list.VERSION} {listed.name}" + (f" {tier}" if tier else "")


def _rated(calls: str, rates: Rates | str) -> list[Rated]:
    return [] if isinstance(rates, str) else [Rated(calls=calls, rates=rates)]


def _none(reason: str) -> Priced:
    return Priced(cost=None, price=f"none:{reason}")


def _utc(when: datetime) -> datetime:
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
