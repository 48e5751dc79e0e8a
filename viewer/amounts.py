"""Money in words: from nano-dollars to what a person reads."""

NANO = 1_000_000_000
"""Nano-dollars of a dollar."""


def dollars(nano: int, *, at_least: bool = False) -> str:
    """Cents, and for less than a dollar as many digits as it takes to see four of the amount, so that a small sum is not
    $0.00; a lower bound is marked with ≥ and rounded down."""
    amount = abs(nano)
    digits = 2 if amount >= NANO or amount == 0 else max(13 - len(str(amount)), 2)
    unit = 10 ** max(9 - digits, 0)
    digits = min(digits, 9)
    shown = (amount if at_least else amount + unit // 2) // unit
    whole, part = divmod(shown, 10**digits)
    decimals = f"{part:0{digits}}"
    decimals = decimals[:2] + decimals[2:].rstrip("0")
    return f"{'≥' if at_least else ''}{'-' if nano < 0 else ''}${whole:,}.{decimals}"
