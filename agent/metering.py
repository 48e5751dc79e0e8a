"""What a run has spent so far, for the limit of cost.

Each answer is priced as it comes, by the rules of `agent.pricing`, so that the run stops before the next request once
the limit is reached. A model without a price cannot be limited, and that is said at the start.
"""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from agent.errors import described, warn
from agent.limits import Limits, Meter
from agent.ports import Budget, Model, Tell
from agent.sync import in_thread
from agent.values import Charge, Request, Response, Usage

if TYPE_CHECKING:
    from agent.pricing import PriceBook, Priced


class MeteredModel:
    """A model whose answers are priced; `spent` is what they cost so far, in nano-dollars."""

    def __init__(self, model: Model, prices: "PriceBook") -> None:
        self.info = model.info
        self.spent = 0
        self._model, self._prices = model, prices
        self._warned = False

    async def check(self) -> None:
        """Warns where nothing is known of the model's price. The price list is loaded here, in a thread."""
        if (await in_thread(lambda: self._price(Usage(input=1, output=1), None, None))).cost is None:
            self._warn(f"there is no price for {self.info.name!r}: give one with --prices or $PLAYHEAD_PRICES")

    async def respond(self, request: Request, tell: Tell) -> Response:
        response = await self._model.respond(request, tell)
        if response.replayed:
            return response
        priced = self._price(response.usage, response.model, response.tier, response.charges)
        if priced.cost is None:
            self._warn(f"an answer of {response.model or self.info.name} has no price ({priced.price})")
        self.spent += priced.cost or 0
        return response

    def _price(
        self, usage: Usage, response_model: str | None, tier: str | None, charges: tuple[Charge, ...] = ()
    ) -> "Priced":
        from agent.pricing import Priced

        try:
            return self._prices.price_call(
                model=self.info.name,
                response_model=response_model,
                provider=self.info.provider,
                when=datetime.now(UTC),
                usage=usage,
                tier=tier,
                charges=charges,
            )
        except Exception as error:  # noqa: BLE001 - an answer that was paid for must not be lost for its price
            return Priced(cost=None, price=f"none:{described(error)}")

    def _warn(self, why: str) -> None:
        if not self._warned:
            self._warned = True
            warn(f"max_cost_usd cannot be kept to: {why}")


async def metered(model: Model, limits: Limits, prices: "PriceBook | None") -> tuple[Model, Budget]:
    """The budget that `limits` ask for, and `model`, with its price where that is limited."""
    if limits.max_cost_usd is None:
        return model, Meter(limits)
    from agent.pricing import PriceBook

    counted = MeteredModel(model, prices or PriceBook.configured())
    await counted.check()
    return counted, Meter(limits, spent=lambda: counted.spent)
