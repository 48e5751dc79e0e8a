"""Signatures and schemas: what the model sees of a function, the same under every pydantic in the range."""

import asyncio
import dataclasses
import enum
import functools
import math
from typing import Annotated, Any, Literal, Optional

import pydantic
import pytest

from agent import Toolbox, ToolCall, ToolDefinitionError, tool


class Mode(enum.Enum):
    FAST = "fast"
    SLOW = "slow"


@dataclasses.dataclass
class Point:
    x: int
    label: str = "here"


class Order(pydantic.BaseModel):
    """An order."""

    items: list[str]
    note: str | None = None


@tool("Do everything.", a="a text", point="where")
def everything(  # type: ignore[no-untyped-def]
    a,
    b: int,
    c: float = 0.5,
    d: bool = False,
    e: Literal["x", "y"] = "x",
    f: Literal["only"] = "only",
    g: Mode = Mode.FAST,
    h: Optional[int] = None,  # noqa: UP045
    i: list[int] = [],  # noqa: B006
    j: dict[str, Any] = {},  # noqa: B006
    point: Point | None = None,
    order: Order | None = None,
    k: dict[str, float] | None = None,
) -> str:
    return repr((a, b, c, d, e, f, g, h, i, j, point, order, k))


def test_schemas_are_in_a_normal_form_that_no_pydantic_release_changes() -> None:
    assert everything.schema.parameters == {
        "type": "object",
        "properties": {
            "a": {"type": "string", "description": "a text"},
            "b": {"type": "integer"},
            "c": {"type": "number", "default": 0.5},
            "d": {"type": "boolean", "default": False},
            "e": {"type": "string", "enum": ["x", "y"], "default": "x"},
            "f": {"type": "string", "const": "only", "default": "only"},
            "g": {"$ref": "#/$defs/Mode", "default": "fast"},
            "h": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
            "i": {"type": "array", "items": {"type": "integer"}, "default": []},
            "j": {"type": "object", "default": {}},
            "point": {
                "anyOf": [{"$ref": "#/$defs/Point"}, {"type": "null"}],
                "default": None,
                "description": "where",
            },
            "order": {"anyOf": [{"$ref": "#/$defs/Order"}, {"type": "null"}], "default": None},
            "k": {
                "anyOf": [{"type": "object", "additionalProperties": {"type": "number"}}, {"type": "null"}],
                "default": None,
            },
        },
        "required": ["a", "b"],
        "$defs": {
            "Mode": {"type": "string", "enum": ["fast", "slow"]},
            "Point": {
                "type": "object",
                "properties": {"x": {"type": "integer"}, "label": {"type": "string", "default": "here"}},
                "required": ["x"],
            },
            "Order": {
                "type": "object",
                "description": "An order.",
                "properties": {
                    "items": {"type": "array", "items": {"type": "string"}},
                    "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
                },
                "required": ["items"],
            },
        },
    }


def call(function: Any, arguments: str) -> str:
    toolbox = Toolbox([function])
    return asyncio.run(toolbox.call(ToolCall("c", toolbox.schemas[0].name, arguments))).shown


def test_the_function_gets_real_instances_and_its_own_defaults() -> None:
    arguments = '{"a":"t","b":"2","g":"slow","h":3,"i":["4"],"point":{"x":1},"order":{"items":["tea"]},"k":{"z":1}}'
    assert call(everything, arguments) == (
        "('t', 2, 0.5, False, 'x', 'only', <Mode.SLOW: 'slow'>, 3, [4], {}, "
        "Point(x=1, label='here'), Order(items=['tea'], note=None), {'z': 1.0})"
    )


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ('{"a":"t","b":1,"e":"X"}', 'e must be one of "x", "y"; it was a string'),
        ('{"a":"t","b":1,"g":"medium"}', 'g must be one of "fast", "slow"; it was a string'),
        ('{"a":"t","b":1,"i":[1,true]}', "i.1 must be an integer; it was true or false"),
        ('{"a":"t","b":1,"point":{"x":true}}', "point.x must be an integer; it was true or false"),
        ('{"a":"t","b":1,"h":"many"}', "h must be an integer or null; it was a string"),
        ('{"a":"t","b":1,"order":{"items":7}}', "order must be an object with items, note or null"),
        ('{"b":1}', "a is required"),
    ],
)
def test_what_does_not_fit_is_refused_by_name_with_what_is_allowed(arguments: str, reason: str) -> None:
    assert reason in call(everything, arguments)


def refused(value: str) -> str:
    raise ValueError(f"{value} is not for you")


def particular(
    text: Annotated[str, pydantic.AfterValidator(refused)] = "",
    texts: list[Annotated[str, pydantic.AfterValidator(refused)]] = [],  # noqa: B006
    fives: Annotated[int, pydantic.Field(multiple_of=5)] = 5,
    pair: tuple[int, str] = (1, "a"),
    raw: bytes = b"",
    real: float = 1.0,
) -> str:
    return repr((text, texts, fives, pair, raw, real))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ('{"text":"secret"}', "text must be a string, and one that the tool's own check accepts"),
        ('{"texts":["secret"]}', "texts.0 must be a string, and one that the tool's own check accepts"),
        ('{"fives":7}', "fives must be an integer that is a multiple of 5; it was an integer"),
        ('{"pair":[1,"a",2]}', "pair must be a list of exactly 2 items; it was a list"),
        ('{"raw":"\\ud83d"}', "raw must be a string in the format binary, and one that the tool's own check accepts"),
        ('{"real":1' + "0" * 400 + "}", "real must be a number, and one that the tool's own check accepts"),
        ('{"real":"nan"}', "real must be a number; it was a string"),
        ('{"real":"1e999"}', "real must be a number; it was a string"),
    ],
)
def test_a_refusal_never_says_that_what_was_given_is_what_is_allowed(arguments: str, reason: str) -> None:
    assert call(particular, arguments).startswith(f"Error: particular was not run: {reason}. Its parameters: ")


class Inner(pydantic.BaseModel):
    a: int = 1


class Outer(pydantic.BaseModel):
    inner: Inner = Inner()


class Cat(pydantic.BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = 9


class Dog(pydantic.BaseModel):
    kind: Literal["dog"] = "dog"
    tricks: int = 0


class Open(pydantic.BaseModel, extra="allow"):
    a: int = 1


class Ignoring(pydantic.BaseModel, extra="ignore"):
    a: int = 1


def nested(
    outer: Outer = Outer(),  # noqa: B008
    open: Open = Open(),  # noqa: B008
    ignoring: Ignoring = Ignoring(),  # noqa: B008
    point: Point | None = None,
    either: Inner | Point | str = "",
    several: list[Inner] = [],  # noqa: B006
    pet: Cat | Dog = Cat(),  # noqa: B008
) -> str:
    return repr((outer, open, ignoring, point, either, several, pet))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ('{"outer":{"iner":{}}}', "outer has no field iner (its fields are: inner)"),
        ('{"outer":{"inner":{"aa":5}}}', "outer.inner has no field aa (its fields are: a)"),
        ('{"point":{"x":1,"labell":"b"}}', "point has no field labell (its fields are: x, label)"),
        ('{"several":[{"a":1},{"b":1}]}', "several.1 has no field b (its fields are: a)"),
        ('{"either":{"b":1}}', "either has no field b (its fields are: a)"),
        ('{"pet":{"kind":"dog","lives":7}}', "pet has no field lives (its fields are: kind, tricks)"),
    ],
)
def test_a_field_that_there_is_not_is_refused_at_every_depth(arguments: str, reason: str) -> None:
    assert call(nested, arguments).startswith(f"Error: nested was not run: {reason}. ")


def test_a_model_that_says_what_becomes_of_other_fields_is_asked_and_a_union_needs_one_that_takes_them() -> None:
    assert call(nested, '{"open":{"b":2},"ignoring":{"b":2},"either":{"x":3},"pet":{"kind":"dog"}}') == (
        "(Outer(inner=Inner(a=1)), Open(a=1, b=2), Ignoring(a=1), None, Point(x=3, label='here'), [], "
        "Dog(kind='dog', tricks=0))"
    )


class Renamed(pydantic.BaseModel):
    size: int = pydantic.Field(validation_alias=pydantic.AliasChoices("size", "length"))


class Deep(pydantic.BaseModel):
    size: int = pydantic.Field(default=0, validation_alias=pydantic.AliasPath("box", "size"))


class Before(pydantic.BaseModel):
    size: int

    @pydantic.model_validator(mode="before")
    @classmethod
    def read(cls, given: dict[str, Any]) -> dict[str, Any]:
        return {"size": given["length"]}


class Wrapped(pydantic.BaseModel):
    size: int

    @pydantic.model_validator(mode="wrap")
    @classmethod
    def read(cls, given: dict[str, Any], handler: Any) -> Any:
        return handler({"size": given["length"]})


class Checked(pydantic.BaseModel):
    size: int

    @pydantic.model_validator(mode="after")
    def check(self) -> "Checked":
        return self


def measured(
    renamed: Renamed | None = None,
    deep: Deep | None = None,
    before: Before | None = None,
    wrapped: Wrapped | None = None,
    checked: Checked | None = None,
) -> str:
    return repr(renamed or deep or before or wrapped or checked)


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ('{"renamed":{"length":2}}', "Renamed(size=2)"),
        ('{"deep":{"box":{"size":2}}}', "Deep(size=2)"),
        ('{"before":{"length":2}}', "Before(size=2)"),
        ('{"wrapped":{"length":2}}', "Wrapped(size=2)"),
        ('{"checked":{"size":2,"length":2}}', "Error: measured was not run: checked has no field length"),
    ],
)
def test_a_model_that_reads_more_than_its_fields_names_gets_it(arguments: str, shown: str) -> None:
    assert call(measured, arguments).startswith(shown)


@dataclasses.dataclass
class Counted:
    words: list[str]
    size: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        self.size = len(self.words)


def count(it: Counted) -> str:
    return repr(it)


def test_a_field_that_a_dataclass_sets_itself_is_not_asked_for() -> None:
    assert tool(count).schema.parameters["$defs"]["Counted"] == {
        "type": "object",
        "properties": {"words": {"type": "array", "items": {"type": "string"}}},
        "required": ["words"],
    }
    assert call(count, '{"it":{"words":["a","b"]}}') == "Counted(words=['a', 'b'], size=2)"
    assert "it has no field size (its fields are: words)" in call(count, '{"it":{"words":[],"size":2}}')


def pick(one: Literal[1, 2, None] = None, flag: Literal[0, True] = 0, odd: Literal[1, "a"] | None = None) -> str:
    return repr((one, flag, odd))


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ('{"one":1,"flag":true,"odd":1}', "(1, True, 1)"),
        ('{"one":true}', "Error: pick was not run: one must be one of 1, 2, null; it was true or false."),
        ('{"flag":false}', "Error: pick was not run: flag must be one of 0, true; it was true or false."),
        ('{"odd":true}', 'Error: pick was not run: odd must be one of 1, "a"; it was true or false.'),
    ],
)
def test_true_is_not_taken_for_a_listed_number(arguments: str, shown: str) -> None:
    assert call(pick, arguments).startswith(shown)


def test_a_default_and_a_rule_may_stand_in_a_field() -> None:
    def page(
        size: int = pydantic.Field(default=3, ge=1, description="how many"),
        start: Annotated[int, pydantic.Field(default=1)] = pydantic.Field(le=9),
        words: list[str] = pydantic.Field(default_factory=list),  # noqa: B008
        last: int | None = pydantic.Field(None, ge=2),
        first: Annotated[int, pydantic.Field(default=7)] = 8,
    ) -> str:
        return repr((size, start, words, last, first))

    def needed(start: Annotated[int, pydantic.Field(default=1)]) -> int:
        return start

    assert tool(page).schema.parameters["properties"] == {
        "size": {"type": "integer", "minimum": 1, "default": 3, "description": "how many"},
        "start": {"type": "integer", "maximum": 9, "default": 1},
        "words": {"type": "array", "items": {"type": "string"}},
        "last": {"anyOf": [{"type": "integer", "minimum": 2}, {"type": "null"}], "default": None},
        "first": {"type": "integer", "default": 8},
    }
    assert call(page, "{}") == "(3, 1, [], None, 8)"
    assert call(needed, "{}") == "1"
    assert "size must be an integer at least 1; it was an integer" in call(page, '{"size":0}')


def test_a_default_that_the_model_could_not_give_is_left_out_of_the_schema() -> None:
    def look(limit: float = math.inf, n=1, word="a"):  # type: ignore[no-untyped-def]
        return repr((limit, n, word))

    assert tool(look).schema.parameters == {
        "type": "object",
        "properties": {
            "limit": {"type": "number"},
            "n": {"type": "string"},
            "word": {"type": "string", "default": "a"},
        },
    }
    assert call(look, "{}") == "(inf, 1, 'a')"


def test_bare_tools_take_their_texts_from_docstring_and_annotations() -> None:
    @tool
    def search(query: str, mode: str = "fast", limit: Annotated[int, "how many"] = 3) -> str:
        """Search the shop.
        Args:
            query: what to look for
            mode: one of: fast, slow
        Returns:
            The hits.
        """
        return f"{query} {mode} {limit}"

    assert search.schema.description == "Search the shop."
    assert {name: schema.get("description") for name, schema in search.schema.parameters["properties"].items()} == {
        "query": "what to look for",
        "mode": "one of: fast, slow",
        "limit": "how many",
    }
    assert search("tea", limit=1) == "tea fast 1"


def test_positional_only_parameters_and_reserved_names_can_be_called() -> None:
    def odd(a: int, b: int = 2, /, model_config: str = "m", copy: str = "c", _x: int = 0, schema: str = "s") -> str:
        return f"{a} {b} {model_config} {copy} {_x} {schema}"

    assert call(odd, '{"a":1,"model_config":"M","_x":5}') == "1 2 M c 5 s"


def test_methods_are_tools_when_bound() -> None:
    class Shop:
        name = "corner"

        def greet(self, who: str) -> str:
            return f"{self.name} greets {who}"

    assert call(Shop().greet, '{"who":"Ada"}') == "corner greets Ada"


def test_annotations_are_resolved_where_the_function_was_made() -> None:
    @dataclasses.dataclass
    class Local:
        n: int

    def use(it: "Local") -> int:
        return it.n

    assert call(use, '{"it":{"n":7}}') == "7"


def takes_star(*args: int) -> None: ...


def takes_stars(**kwargs: int) -> None: ...


def takes_code(code: object) -> None: ...


def takes_object(thing: "Missing") -> None: ...  # type: ignore[name-defined]  # noqa: F821


class Endless(enum.Enum):
    ALL = math.inf


def takes_endless(how_many: Endless) -> None: ...


class Paired(enum.Enum):
    BOTH = (1, 2)


class Level(enum.StrEnum):
    LOW = "low"


def takes_pairs(pair: Paired) -> None: ...


def takes_members(mode: Literal[Mode.FAST]) -> None: ...


def takes_look_ahead(word: Annotated[str, pydantic.Field(pattern="^(?=a)")]) -> None: ...


def takes_no_pattern(word: Annotated[str, pydantic.Field(pattern="[")]) -> None: ...


class CallMe:
    def __call__(self) -> None: ...

    def search(self, word: str) -> None: ...


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (takes_star, r"takes \*args, which has no JSON form"),
        (takes_stars, r"takes \*\*kwargs, which has no JSON form"),
        (takes_object, "has an annotation that cannot be resolved"),
        (lambda: None, "a lambda has no name"),
        (functools.partial(takes_code, int), "a partial has no name"),
        (CallMe(), "a CallMe has no name"),
        (CallMe.search, r"search is a method: make the tool from the bound method, tool\(object.search\)"),
        (takes_endless, "has a parameter without a JSON form"),
        (
            takes_pairs,
            r"without a JSON form: nothing that JSON has is taken for <Paired.BOTH: \(1, 2\)>; list plain values",
        ),
        (
            takes_members,
            "without a JSON form: nothing that JSON has is taken for <Mode.FAST: 'fast'>; list plain values",
        ),
        (takes_look_ahead, "has a parameter whose rule cannot be kept to: look-around"),
        (takes_no_pattern, "has a parameter whose rule cannot be kept to: unclosed character class"),
    ],
)
def test_a_function_that_could_never_be_called_is_refused_at_registration(function: Any, said: str) -> None:
    with pytest.raises(ToolDefinitionError, match=said):
        Toolbox([function])


def test_a_member_that_is_its_own_value_may_be_listed() -> None:
    def set_level(level: Literal[Level.LOW]) -> str:
        return repr(level)

    assert call(set_level, '{"level":"low"}') == "<Level.LOW: 'low'>"


@pytest.mark.parametrize("name", ["my tool!", "a.b", "", "x" * 65, "tööl"])
def test_a_name_that_a_provider_would_refuse_is_refused_at_registration(name: str) -> None:
    def named() -> None: ...

    named.__name__ = name
    with pytest.raises(ToolDefinitionError, match="cannot be a tool's name"):
        Toolbox([named])


def test_two_tools_of_one_name_and_texts_for_no_parameter_are_refused() -> None:
    with pytest.raises(ToolDefinitionError, match="two tools are named 'everything'"):
        Toolbox([everything, everything])
    with pytest.raises(ToolDefinitionError, match="has no parameter colour"):

        @tool("Paint.", colour="which")
        def paint(shade: str) -> str:
            return shade
