"""Canonical JSON: one text for one value, for any value, and back again."""

import dataclasses
import json
import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum, IntEnum, StrEnum
from typing import Any

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.canonical import to_json, to_text

ANY_TEXT = st.text(st.characters(exclude_categories=()))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(
            st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT | st.binary() | st.tuples(st.integers()),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Kind(StrEnum):
    A = "a"


@dataclasses.dataclass
class Point:
    x: int
    more: Any = None


class Shape(pydantic.BaseModel):
    name: str


class Unprintable:
    def __str__(self) -> str:
        raise ValueError("no")


class Elsewhere:
    """Like a proxy outside its request: any attribute that is asked for raises."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("working outside of the request")

    def __str__(self) -> str:
        return "elsewhere"


class Broken(Mapping[str, int]):
    def __getitem__(self, key: str) -> int:
        raise OSError("gone")

    def __iter__(self) -> Iterator[str]:
        return iter("ab")

    def __len__(self) -> int:
        return 2


@dataclasses.dataclass
class Lazy:
    x: int

    def __getattribute__(self, name: str) -> Any:
        if name == "x":
            raise OSError("not loaded")
        return super().__getattribute__(name)


def joined(value: Any) -> Any:
    """A high and a low surrogate that stand together are one character to JSON."""
    return json.loads(json.dumps(value))


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def itself() -> Any:
    value: dict[str, Any] = {"a": 1}
    value["b"] = [value]
    return value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None, "é"]}, '{"a":[true,null,"é"],"b":1}'),
        ((1, 2.5, -0.0), "[1,2.5,-0.0]"),
        ([float("nan"), float("inf"), float("-inf")], '["NaN","Infinity","-Infinity"]'),
        ({float("nan"): 1, None: 2, True: 3, 7: 4, b"k": 5}, '{"7":4,"NaN":1,"k":5,"null":2,"true":3}'),
        ({10: "a", 9: "b"}, '{"10":"a","9":"b"}'),
        (b"caf\xc3\xa9 \xff", '"café \\\\xff"'),
        ({3, 1, 2}, "[1,2,3]"),
        ({"a", 1, None}, '["a",1,null]'),
        ({(1, 2): "tuple"}, '{"[1,2]":"tuple"}'),
        ([Colour.RED, Level.HIGH, Kind.A, {Kind.A: Colour.RED}], '["red",3,"a",{"a":"red"}]'),
        (Point(1, [Point(2)]), '{"more":[{"more":null,"x":2}],"x":1}'),
        (Shape(name="round"), '{"name":"round"}'),
        ("a\ud83eb", '"a\\ud83eb"'),
        (itself(), '{"a":1,"b":["<contains itself>"]}'),
        (Point, f'"{Point}"'),
        (Unprintable(), '"<Unprintable that cannot be shown: ValueError>"'),
    ],
)
def test_every_kind_of_value_has_its_text(value: Any, text: str) -> None:
    assert to_text(value) == text


def test_a_value_that_stands_twice_is_no_cycle() -> None:
    shared = {"a": 1}
    assert to_text([shared, shared, {"x": shared, "y": b"z"}]) == '[{"a":1},{"a":1},{"x":{"a":1},"y":"z"}]'


@pytest.mark.parametrize(
    "make", [Broken, Unprintable, Elsewhere, lambda: Lazy(1), lambda: {"a": [Broken()]}, lambda: [Elsewhere(), b"x"]]
)
def test_a_value_that_raises_when_it_is_looked_at_does_not_raise_here(make: Callable[[], Any]) -> None:
    json.loads(to_text(make()))


def test_what_is_nested_deeper_than_100_levels_is_replaced_wherever_it_stands() -> None:
    assert json.loads(to_text(nested(100))) == nested(100)
    assert "<nested deeper than 100 levels>" in to_text(nested(101))
    assert "<nested deeper than 100 levels>" in to_text([nested(150), b"bytes"])
    assert "<nested deeper than 100 levels>" in to_text(nested(100_000))


def test_the_text_of_a_value_does_not_depend_on_how_deep_the_code_is_that_asks() -> None:
    def deeper(levels: int) -> str:
        return to_text(nested(400)) if levels == 0 else deeper(levels - 1)

    assert deeper(600) == to_text(nested(400))


@pytest.mark.parametrize("digits", [10, 3999, 4100, 4299, 4400, 100_000])
def test_an_integer_has_the_same_text_alone_and_among_others_and_can_be_read_back(digits: int) -> None:
    value = 10**digits
    alone = to_text(value)
    assert to_text([value, b"x"]) == f'[{alone},"x"]'
    assert json.loads(alone) in (value, f"an integer of {value.bit_length()} bits")


@given(JSON)
def test_reading_the_text_gives_the_value_back(value: Any) -> None:
    text = to_text(value)
    text.encode()
    assert json.loads(text) == joined(value)
    assert json.loads(to_json(value)) == joined(value)


@given(ODD)
def test_any_value_has_a_strict_text_that_is_the_same_each_time(value: Any) -> None:
    text = to_text(value)
    text.encode()
    assert "NaN" not in re.sub(r'"(\\.|[^"\\])*"', "", text)
    assert to_text(json.loads(text)) == text
    assert to_text(value) == text


@given(st.dictionaries(st.integers() | st.text("abc"), st.integers()), st.randoms(use_true_random=False))
def test_the_order_of_keys_in_a_dict_does_not_matter(value: dict[Any, int], random: Any) -> None:
    items = list(value.items())
    random.shuffle(items)
    assert to_text(dict(items)) == to_text(value)
    assert to_text({str(key): item for key, item in value.items()}) == to_text(value)


def test_text_that_is_kept_as_a_text_keeps_the_order_of_its_keys() -> None:
    assert to_json({"b": 1, "a": b"\xff"}) == '{"b":1,"a":"\\\\xff"}'
