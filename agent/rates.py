"""What the tokens of one call cost: one arithmetic for every price list, in whole nano-dollars.

Tokens fall into buckets that do not overlap: fresh, cached and written input, reasoning and other output. A provider's
`input` holds the cached tokens and its `output` the reasoning, so that charging the sums and the parts would count
tokens twice. A bucket that a price list has no rate for costs what the bucket around it costs. Every step is exact and
only the result is rounded, half to even: summing floats shows 2.4999999999476 for 2.50 after a million calls.
"""

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext

from agent.values import Usage

MOST_TOKENS = 10**9
"""No call has used more; what says so is no count of tokens."""

_EXACT = Context(prec=100)
_NANO_PER_MICRO = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """The tokens of a call, in buckets that do not overlap."""

    fresh: int
    cached: int
    cache_write: int
    output: int
    """Without the reasoning."""
    reasoning: int

    @property
    def input(self) -> int:
        return self.fresh + self.cached + self.cache_write


def tokens_of(usage: Usage) -> Tokens | str:
    """The buckets of `usage`, or why it cannot be priced: "no-usage" where the input or the output is not known,
    "bad-usage" for what no provider can mean."""
    values = (usage.input, usage.output, usage.cached, usage.cache_write, usage.reasoning)
    if any(not _is_count(value) for value in values if value is not None):
        return "bad-usage"
    if usage.input is None or usage.output is None:
        return "no-usage"
    cached, written, reasoning = usage.cached or 0, usage.cache_write or 0, usage.reasoning or 0
    if cached + written > usage.input or reasoning > usage.output:
        return "bad-usage"
    return Tokens(
        fresh=usage.input - cached - written,
        cached=cached,
        cache_write=written,
        output=usage.output - reasoning,
        reasoning=reasoning,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """US dollars per million tokens."""

    input: Decimal | None
    """None: tokens of this kind have no price."""
    output: Decimal | None
    cached: Decimal | None = None
    """None: as input."""
    cache_write: Decimal | None = None
    """None: as input."""
    reasoning: Decimal | None = None
    """None: as output."""
    call: Decimal = Decimal(0)
    """US dollars for the call itself."""

    def cost(self, tokens: Tokens) -> int | None:
        """Nano-dollars; None where tokens were used that have no price."""
        with localcontext(_EXACT):
            micro = self.call * 1_000_000
            for count, rate in (
                (tokens.fresh, self.input),
                (tokens.cached, _or(self.cached, self.input)),
                (tokens.cache_write, _or(self.cache_write, self.input)),
                (tokens.output, self.output),
                (tokens.reasoning, _or(self.reasoning, self.output)),
            ):
                if count and rate is None:
                    return None
                micro += count * (rate or 0)
            return int((micro * _NANO_PER_MICRO).to_integral_value(ROUND_HALF_EVEN))


NOTHING = Rates(input=Decimal(0), output=Decimal(0))


def _or(rate: Decimal | None, other: Decimal | None) -> Decimal | None:
    return other if rate is None else rate


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS
