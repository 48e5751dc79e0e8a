"""A user's own prices, and which of them counts for a call.

For each spelling of a model's name the entries with exactly this name go before the patterns, and these in the order of
the file. Of several entries of one name that count for a call, the one for its provider goes before one for all, then
the one with the highest `above`, then the newest. `agent.prices_file` reads them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from agent.canonical import encodable
from agent.model_names import LONGEST, provider_id, spellings
from agent.rates import NOTHING, Rates

_BEGINNING = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPrice:
    """One entry of the file."""

    number: int
    """Its place in the file, from 1."""
    label: str
    """As the price of a call names it: what it is for, and the rates, so that a later change of the file shows."""
    model: str | None
    """In lower case."""
    pattern: re.Pattern[str] | None
    provider: str | None
    begin: datetime | None
    end: datetime | None
    tier: str | None
    above: int | None
    rates: Rates | None
    """None for what costs nothing."""

    @property
    def charged(self) -> Rates:
        return NOTHING if self.rates is None else self.rates

    def counts(self, provider: str | None, when: datetime, tier: str | None, size: int | None) -> bool:
        """Whether this is a price of such a call; `size` is its input tokens."""
        return (
            (self.provider is None or self.provider == provider)
            and (self.begin or _BEGINNING) <= when
            and (self.end is None or when < self.end)
            and self.tier == tier
            and (self.above is None or (size is not None and size > self.above))
        )

    @property
    def validity(self) -> str:
        """When it counts."""
        spans = ((word, moment) for word, moment in (("from", self.begin), ("until", self.end)) if moment)
        return " ".join(f"{word} {day(moment)}" for word, moment in spans) or "at all times"

    @property
    def order(self) -> tuple[bool, int, datetime]:
        return self.provider is not None, -1 if self.above is None else self.above, self.begin or _BEGINNING


@dataclass(frozen=True, slots=True)
class OwnPrices:
    """The prices of a file."""

    name: str
    """The file's name, without its folder."""
    entries: tuple[OwnPrice, ...]

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Raises BadPrices."""
        from agent.prices_file import read

        return cls(encodable(Path(path).name), read(path))

    def find(
        self, name: str, *, provider: str | None, when: datetime, tier: str | None, size: int | None
    ) -> tuple[OwnPrice, str] | None:
        """The entry for a call of a model, and the spelling of the name that it is for."""
        key = provider_id(provider)
        counting = [entry for entry in self.entries if entry.counts(key, when, tier, size)]
        for spelling in spellings(name) if counting and len(name) <= LONGEST else ():
            if named := [entry for entry in counting if entry.model == spelling]:
                return max(named, key=lambda entry: entry.order), spelling
            for first in counting:
                if first.pattern is not None and first.pattern.fullmatch(spelling):
                    same = [one for one in counting if one.pattern == first.pattern]
                    return max(same, key=lambda entry: entry.order), spelling
        return None

    def variations(self, entry: OwnPrice) -> Iterator[tuple[str, str | None, int | None]]:
        """The calls for which entries of the same name say something else: in words, their tier, a size of theirs."""
        for other in self.entries:
            if (other.model, other.pattern) == (entry.model, entry.pattern) and (other.tier or other.above is not None):
                large = None if other.above is None else f"above {other.above:,} input tokens"
                size = None if other.above is None else other.above + 1
                yield ", ".join(word for word in (other.tier, large) if word), other.tier, size


NONE = OwnPrices("", ())


def day(when: datetime) -> str:
    """A time as it is written in the file, a day without its hours."""
    text = when.isoformat().replace("+00:00", "Z")
    return text.removesuffix("T00:00:00Z")
