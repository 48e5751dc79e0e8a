"""References to runs, steps and calls: `last`, `3f2a91bc:3`, `last~2:3.2`."""

import re
from dataclasses import dataclass

from tracing.errors import NoSuchRun

_STEP = re.compile(r"(?P<run>[^:]*)(?::(?P<step>\d+)(?:\.(?P<call>\d+))?)?")


@dataclass(frozen=True, slots=True)
class Reference:
    run: str
    step: int | None = None
    call: int | None = None
    """From 1, the call's place in its step."""


def parse_reference(text: str) -> Reference:
    """Reads RUN, RUN:STEP or RUN:STEP.CALL; an empty RUN is the last one. Raises NoSuchRun."""
    match = _STEP.fullmatch(text.strip())
    if match is None:
        raise NoSuchRun(f"{text!r} names no run, step or call: write RUN, RUN:3 (a step) or RUN:3.2 (a call)")
    step, call = match["step"], match["call"]
    if len(step or "") + len(call or "") > 100:
        raise NoSuchRun(f"{text[:20]}… names no run, step or call: its number is too long")
    return Reference(match["run"] or "last", int(step) if step else None, int(call) if call else None)
