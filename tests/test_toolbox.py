"""Tools behind their port: every failure is an observation that tells the model what to do next."""

import asyncio
import contextvars
import dataclasses
import functools
import json
import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent import Observation, Toolbox, ToolCall, ToolDefinitionError, tool


@tool("Repeat a text.", text="what to repeat", times="how often")
def repeat(text: str, times: int = 1) -> str:
    return text * times


@tool("Say when.")
def now() -> str:
    return "now"


def call(toolbox: Toolbox, name: str, arguments: str) -> Observation:
    return asyncio.run(toolbox.call(ToolCall("c1", name, arguments)))


def returning(value: Any) -> Toolbox:
    def give() -> Any:
        return value

    return Toolbox([give])


def raising(error: BaseException) -> Toolbox:
    def fail() -> None:
        raise error

    return Toolbox([fail])


@pytest.mark.parametrize("arguments", ["", "  ", "null", "{}", "\ufeff{}"])
def test_no_arguments_in_any_form_call_a_tool_that_needs_none(arguments: str) -> None:
    assert call(Toolbox([now]), "now", arguments) == Observation(shown="now", whole="now")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("", "text is required"),
        ("null", "text is required"),
        ('{"text": "a", "times": true}', "times must be an integer; it was true or false"),
        ('{"text": "a", "times": 2.5}', "times must be an integer; it was a number"),
        ('{"text": "a", "times": "two"}', "times must be an integer; it was a string"),
        ('{"text": 7}', "text must be a string; it was an integer"),
        ('{"text": "a", "often": 2}', "there is no parameter often (the parameters are: text, times)"),
        ("[1]", "they must be a JSON object, not a list"),
        ('"x"', "they must be a JSON object, not a string; send the object itself"),
        ("7", "they must be a JSON object, not an integer"),
        ('"{\\"text\\": \\"a\\"}"', "they must be a JSON object, not a string"),
        ('{"text": "a",}', "they are not valid JSON"),
        ("{text: 1}", "they are not valid JSON"),
        ('{"text": "a', "they are not valid JSON"),
        ("{'text': 'a'}", "they are not valid JSON"),
        ('{"text": "a"} Done!', "they are not valid JSON (Extra data, at character 15)"),
        ('{"text": "a"}{"text": "b"}', "they are not valid JSON"),
        ('{"text": "a", "text": "b"}', "a key stands in them twice"),
        ('{"text": NaN}', "NaN is not JSON"),
        ('{"times": 1e999}', "they hold a number that is too large"),
        ('{"times": ' + "9" * 5000 + "}", "they hold a number with too many digits"),
        ("[" * 100_000, "they are nested deeper than 100 levels"),
        ('{"text": ' + "[" * 200 + "]" * 200 + "}", "they are nested deeper than 100 levels"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_with_the_reason_and_the_tool_is_not_run(
    arguments: str, reason: str
) -> None:
    observation = call(Toolbox([repeat]), "repeat", arguments)
    assert observation.error == "bad_arguments"
    assert reason in observation.shown
    assert "Its parameters: text (a string, required); times (an integer)." in observation.shown


@pytest.mark.parametrize(
    ("arguments", "result"),
    [
        ('{"text": "ab", "times": "2"}', "abab"),
        ('{"text": "ab", "times": 2.0}', "abab"),
        ('{"text": "a\nb"}', "a\nb"),
        ('{"text": "\\ud83d"}', "\ufffd"),
    ],
)
def test_arguments_whose_meaning_is_plain_are_taken(arguments: str, result: str) -> None:
    assert call(Toolbox([repeat]), "repeat", arguments).shown == result


def test_a_refusal_never_quotes_the_value() -> None:
    assert "hunter2" not in call(Toolbox([repeat]), "repeat", '{"text": "a", "times": "hunter2"}').shown


@pytest.mark.parametrize("name", ["repaet", "", "\x1b[2J"])
def test_an_unknown_tool_is_told_which_there_are(name: str) -> None:
    observation = call(Toolbox([repeat, now]), name, "{}")
    assert observation.error == "unknown_tool"
    assert observation.shown.endswith("The tools are: repeat, now.")


class Awkward:
    def __str__(self) -> str:
        raise RuntimeError("no")


class Panic(BaseException):
    """As a library written in Rust raises it."""


@dataclasses.dataclass
class Point:
    x: int
    y: float


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("text", "text"),
        ("", ""),
        (None, "null"),
        (True, "true"),
        (7, "7"),
        (b"\xff\x00a", "\\xff\x00a"),
        ({"b": 1, "a": [None]}, '{"a":[null],"b":1}'),
        ({3, 1}, "[1,3]"),
        (Path("a/b"), "a/b"),
        (Point(1, float("nan")), '{"x":1,"y":"NaN"}'),
        (Awkward(), "<Awkward that cannot be shown: RuntimeError>"),
    ],
)
def test_whatever_a_tool_returns_becomes_text_by_one_rule(value: Any, shown: str) -> None:
    assert call(returning(value), "give", "") == Observation(shown=shown, whole=shown)


def test_what_cannot_be_sent_is_replaced_for_the_model_and_kept_whole() -> None:
    assert call(returning("a\udc00b"), "give", "") == Observation(shown="a\ufffdb", whole="a\udc00b")


def test_a_generator_is_read_out_in_the_tools_own_time() -> None:
    assert call(returning(number * 2 for number in range(3)), "give", "").shown == "[0,2,4]"

    def endless() -> Iterator[int]:
        while True:
            time.sleep(0.001)
            yield 1

    assert call(Toolbox([endless]).with_options("endless", timeout=0.05), "endless", "").error == "timeout"

    def breaking() -> Iterator[int]:
        yield 1
        raise ValueError("half way")

    assert call(Toolbox([breaking]), "breaking", "").error == "ValueError"

    async def stream() -> AsyncIterator[int]:
        yield 1
        yield 2

    assert call(Toolbox([stream]), "stream", "").shown == "[1,2]"


def count_to(last: int) -> Iterator[int]:
    yield from range(last)


async def count_to_in_place(last: int) -> AsyncIterator[int]:
    for number in range(last):
        yield number


@pytest.mark.parametrize("function", [count_to, count_to_in_place])
def test_a_generator_is_read_to_ten_thousand_items_and_what_has_more_says_so(function: Callable[..., Any]) -> None:
    toolbox = Toolbox([function]).with_options(function.__name__, max_chars=100_000)
    note = "[the first 10,000 items; there are more, which were not asked for: ask for less]\n"
    items = "[" + ",".join(str(number) for number in range(10_000)) + "]"
    assert call(toolbox, function.__name__, '{"last": 10000}') == Observation(shown=items, whole=items)
    more = call(toolbox, function.__name__, '{"last": 10001}')
    assert more == Observation(shown=note + items, whole=note + items, truncated=True)
    assert call(Toolbox([function]), function.__name__, '{"last": 25000}').shown.startswith(note)


def test_an_endless_async_generator_that_never_waits_ends_with_its_timeout_and_is_closed() -> None:
    closed = []

    async def forever() -> AsyncIterator[int]:
        try:
            while True:
                time.sleep(0.001)  # noqa: ASYNC251
                yield 1
        finally:
            closed.append(True)

    assert call(Toolbox([forever]).with_options("forever", timeout=0.05), "forever", "").error == "timeout"
    assert closed == [True]


def test_what_is_to_be_awaited_or_read_out_is_so_wherever_it_comes_from() -> None:
    async def gives_a_generator() -> Any:
        return (number for number in range(3))

    async def gives_a_coroutine() -> Any:
        async def inner() -> list[int]:
            return [0, 1, 2]

        return inner()

    @functools.wraps(count_to_in_place)
    def wrapped() -> Any:
        return count_to_in_place(3)

    del wrapped.__wrapped__  # its own signature: it takes nothing
    for function in (gives_a_generator, gives_a_coroutine, wrapped):
        assert call(Toolbox([function]), function.__name__, "").shown == "[0,1,2]"


def test_a_tools_own_timeout_error_is_not_taken_for_ours() -> None:
    observation = call(raising(TimeoutError("upstream")).with_options("fail", timeout=30), "fail", "")
    assert (observation.error, observation.shown) == ("TimeoutError", "Error: fail raised TimeoutError: upstream")


def test_a_type_that_raises_while_it_is_made_is_an_observation() -> None:
    @dataclasses.dataclass
    class Picky:
        n: int

        def __post_init__(self) -> None:
            raise KeyError("no")

    def use(it: Picky) -> str:
        return "used"

    observation = call(Toolbox([use]), "use", '{"it": {"n": 1}}')
    assert observation.error == "bad_arguments"
    assert "do not make what it takes (KeyError)" in observation.shown


def test_a_name_too_long_for_a_tool_is_not_quoted_whole() -> None:
    name = "x" * 64
    assert call(Toolbox([now]), name + "y", "").shown == f"Error: there is no tool '{name}…'. The tools are: now."


def test_our_own_words_are_cut_as_well() -> None:
    assert len(call(Toolbox([now]), "x" * 10**6, "").shown) <= 3000


WITH_COUNT = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
EITHER = {"type": "string", "anyOf": [{"pattern": "^a"}, {"pattern": "^b"}]}


@pytest.mark.parametrize(
    ("schema", "given", "shown"),
    [
        ({"type": "number"}, "3", "3"),
        ({"type": "number"}, "9007199254740993", "9007199254740993"),
        ({"type": "integer", "maximum": 5}, "99", "must be an integer at most 5"),
        ({"type": ["integer", "null"]}, "null", "null"),
        ({"enum": ["a", "b"]}, '"c"', 'must be one of "a", "b"'),
        ({"type": "array", "items": {"type": "integer"}}, '[1, "x"]', "v.1 must be an integer; it was a string"),
        ({}, '{"any": [1]}', '{"any":[1]}'),
        ({"type": "integer"}, '" 2 "', "2"),
        ({"type": "integer"}, "2.0", "2"),
        ({"type": "integer"}, "true", "v must be an integer; it was true or false"),
        ({"type": "number"}, '"1e999"', "v must be a number; it was a string"),
        ({"type": "number"}, '"' + "9" * 5000 + '"', "v must be a number; it was a string"),
        ({"type": "boolean"}, '"true"', "true"),
        ({"type": ["integer", "string"]}, '"2"', "2"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, '"2"', "2"),
        ({"allOf": [{"type": "integer"}, {"minimum": 3}]}, '"2"', "v must be at least 3; it was an integer"),
        ({"type": ["string", "null"], "enum": ["a", None]}, '"A"', 'v must be one of "a", null; it was a string'),
        ({"const": 5}, "6", "v must be 5; it was an integer"),
        ({"enum": [0.5, 1.0]}, "7", "v must be one of 0.5, 1.0; it was an integer"),
        ({"enum": ("a", "b")}, '"c"', 'v must be one of "a", "b"; it was a string'),
        (WITH_COUNT, '{"n": "abc"}', "v.n must be an integer; it was a string"),
        (WITH_COUNT, '{"n": "3"}', '{"n":3}'),
        (WITH_COUNT, '{"n": 3, "m": 1}', "v has no field m (its fields are: n)"),
        ({"type": "array", "items": WITH_COUNT}, "[{}]", "v.0.n is required"),
        ({"type": "array", "minItems": 2}, "[1]", "v must be a list with at least 2 items; it was a list"),
        ({"type": "array", "uniqueItems": True}, "[1, 1]", "v must be a list without the same item twice"),
        ({"type": "integer", "multipleOf": 5}, "7", "v must be an integer that is a multiple of 5"),
        ({"$ref": "#/$defs/few"}, "4", "v must be an integer at most 3; it was an integer"),
        ({"$ref": "#/$defs/few"}, '"3"', "3"),
        (EITHER, "5", "v must be a string that matches ^a or that matches ^b; it was an integer"),
        ({"type": "string", "pattern": "^(?!x)"}, '"xa"', "v must be a string that matches ^(?!x)"),
        ({"not": {"type": "null"}}, "null", 'v must keep to {"not": {"type": "null"}}'),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "const": 5}, "6", "v must be 5; it was an integer"),
        ({"multipleOf": 0.01}, "19.99", "19.99"),
        ({"multipleOf": 0.01}, "1e300", "1e+300"),
        ({"type": "number", "multipleOf": 0.01}, "19.995", "must be a number that is a multiple of 0.01; it was"),
        (
            {"x-order": 1, "x-enum": 1, "example": 3, "tsType": "N", "markdownDescription": "a", "discriminator": {}},
            "5",
            "5",
        ),
        ({"type": ["string", "number"], "oneOf": [{"type": "string"}, {"minimum": 3}]}, "1", "v must be a string or"),
        ({"patternProperties": {"^n": {"type": "integer"}}}, '{"n1": "2", "m": "2"}', '{"m":"2","n1":2}'),
        ({"dependentSchemas": {"a": {"properties": {"b": {"type": "integer"}}}}}, '{"a": 1, "b": "2"}', '"b":2'),
        ({"if": {"type": "string"}, "then": {"type": "integer"}}, '"2"', "2"),
        ({"if": {"type": "object"}, "else": {"type": "integer"}}, '"2"', "2"),
        ({"type": "number"}, '".5"', "0.5"),
        ({"type": "integer"}, '"5."', "5"),
        ({"type": "integer"}, '"٣"', "v must be an integer; it was a string"),
        ({"properties": {"w": False}}, '{"w": 1}', "v.w must be left out"),
        ({"propertyNames": False}, '{"w": 1}', "the schema allows no such value for v"),
    ],
)
def test_a_hand_written_schema_is_kept_to(schema: dict[str, Any], given: str, shown: str) -> None:
    parameters = {
        "type": "object",
        "properties": {"v": schema},
        "required": ["v"],
        "$defs": {"few": {"type": "integer", "maximum": 3}},
    }
    toolbox = Toolbox.from_schemas([{"name": "same", "parameters": parameters}], {"same": lambda v: v})
    assert shown in call(toolbox, "same", f'{{"v": {given}}}').shown


OR_NULL = {"anyOf": [{"type": "integer"}, {"type": "null"}]}


@pytest.mark.parametrize(
    ("schema", "given", "kept"),
    [
        (OR_NULL, 2.0, 2),
        ({"oneOf": [{"type": "integer"}, {"type": "null"}]}, 2.0, 2),
        ({"type": "array", "items": OR_NULL}, [1.0, "2", None], [1, 2, None]),
        ({"anyOf": [WITH_COUNT, {"type": "null"}]}, {"n": 2.0}, {"n": 2}),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "2", "2"),
        ({"enum": [1, 2]}, 1.0, 1),
        ({"enum": [1, 2]}, "2", 2),
        ({"const": 5}, 5.0, 5),
        ({"enum": ["1", 2]}, "1", "1"),
        ({"type": "number"}, 2.0, 2.0),
    ],
)
def test_a_whole_number_is_an_integer_wherever_the_schema_says_so(schema: Any, given: Any, kept: Any) -> None:
    toolbox = Toolbox.from_schemas([with_v(**schema)], {"f": lambda v=None: repr(v)})
    assert call(toolbox, "f", json.dumps({"v": given})).shown == repr(kept)


ALIKE = [
    {
        "type": "object",
        "properties": {"args": {"type": "array", "items": {"$ref": "#/$defs/J"}}, key: {}},
        "required": ["args"],
    }
    for key in ("a", "b")
]


def joined(operator: str) -> dict[str, Any]:
    inner = {"args": {"type": "array", "items": {"$ref": "#/$defs/J"}}, "op": {"const": operator}}
    return {"type": "object", "properties": inner, "required": ["op", "args"], "additionalProperties": False}


COMPARED = {
    "type": "object",
    "properties": {"op": {"const": "eq"}, "value": {"type": "integer"}},
    "required": ["op", "value"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("branches", "value", "ends"),
    [
        ([joined("and"), joined("or"), joined("not"), COMPARED], "3", '"value":3'),
        ([joined("and"), joined("or"), joined("not"), COMPARED], "x", "f was not run: "),
        ([*ALIKE, COMPARED], "3", '"value":3'),
        ([*ALIKE, COMPARED], "x", "f was not run: "),
    ],
)
def test_a_tree_of_unions_is_read_in_the_time_of_its_size(branches: Any, value: str, ends: str) -> None:
    tree: Any = {"op": "eq", "value": value}
    for _ in range(25):
        tree = {"op": "and", "args": [tree]}
    parameters = {"properties": {"v": {"$ref": "#/$defs/J"}}, "$defs": {"J": {"anyOf": branches}}}
    toolbox = Toolbox.from_schemas([definition(**parameters)], {"f": lambda v=None: v})
    assert ends in call(toolbox, "f", json.dumps({"v": tree})).shown


@pytest.mark.parametrize(
    "reference", ["#/$defs/L/anyOf/0", "#/$defs/L%5Bint%5D", "#/$defs/L[int]", "#few", "#/$defs/a~1b"]
)
def test_a_reference_inside_a_schema_is_followed_in_each_of_its_forms(reference: str) -> None:
    few = {"type": "integer", "maximum": 3}
    inner = {"L": {"anyOf": [few]}, "L[int]": few, "a/b": few, "anchored": {**few, "$anchor": "few"}}
    one = definition(properties={"v": {"$ref": reference}}, **{"$defs": inner, "$id": "https://shop.test/order"})
    toolbox = Toolbox.from_schemas([one], {"f": lambda v=None: v})
    assert call(toolbox, "f", '{"v": "2"}').shown == "2"
    assert "v must be an integer at most 3; it was an integer" in call(toolbox, "f", '{"v": 4}').shown


def test_one_fault_is_told_once_and_what_may_not_be_given_is_named() -> None:
    one = definition(properties={"v": {}, "w": False}, unevaluatedProperties=False)
    toolbox = Toolbox.from_schemas([one], {"f": lambda v=None, w=None: v})
    start = "Error: f was not run: "
    assert call(toolbox, "f", '{"u": 1}').shown.startswith(
        f"{start}there is no parameter u (the parameters are: v, w). Its parameters: "
    )
    assert call(toolbox, "f", '{"w": 1}').shown.startswith(f"{start}w must be left out. Its parameters: ")


def test_a_schema_that_refers_to_itself_and_says_its_draft_is_kept_to_all_the_way() -> None:
    one = definition(
        properties={"v": {"$ref": "#"}, "n": {"multipleOf": 0.01}},
        **{"$schema": "https://json-schema.org/draft/2020-12/schema"},
    )
    toolbox = Toolbox.from_schemas([one], {"f": lambda v=None, n=None: v})
    assert call(toolbox, "f", '{"v": {"v": {"n": 19.99}}}').shown == '{"v":{"n":19.99}}'


def definition(**schema: Any) -> dict[str, Any]:
    return {"name": "f", "parameters": {"type": "object", **schema}}


def with_v(**schema: Any) -> dict[str, Any]:
    return definition(properties={"v": schema})


@pytest.mark.parametrize(
    ("definitions", "said"),
    [
        (with_v(exclusiveMinimum=True), "is no JSON Schema (2020-12) at properties.v.exclusiveMinimum: "),
        (with_v(pattern="["), "is no JSON Schema (2020-12) at properties.v.pattern: "),
        (
            with_v(pattern=r"\p{L}"),
            r"(2020-12) at properties.v.pattern: Python's re cannot read the pattern '\\p{L}' (bad ",
        ),
        (
            with_v(patternProperties={r"\p{L}": {}}),
            "(2020-12) at properties.v.patternProperties: Python's re cannot read",
        ),
        (with_v(pattern="x{4294967299}"), "cannot be kept to: the repetition number is too large"),
        (
            with_v(**json.loads('{"items":' * 300 + "{}" + "}" * 300)),
            "is nested too deeply to be kept to: put parts of",
        ),
        (with_v(type="objct"), "is no JSON Schema (2020-12) at properties.v.type: "),
        (definition(required=True), "is no JSON Schema (2020-12) at required: "),
        (definition(required=["x"]), "the schema of the tool f requires 'x': give it in its properties"),
        (with_v(default=float("nan")), "the schema of the tool f is no JSON: "),
        (with_v(enum={1}), "the schema of the tool f is no JSON: "),
        (with_v(nullable=True), "the schema of the tool f has 'nullable', which cannot be kept to: leave it out"),
        (with_v(items={"nullable": True}), "the schema of the tool f has 'nullable', which cannot be kept to"),
        (with_v(**{"$ref": "#/$defs/none"}), "refers to '#/$defs/none', which is not in it: put it into $defs"),
        (with_v(**{"$ref": "other.json"}), "refers to 'other.json', which is not in it: put it into $defs"),
        (with_v(**{"$ref": "#/properties/v"}), "refers to '#/properties/v', which only refers to itself"),
        (with_v(allOf=[{"$ref": "#/properties/v"}]), "refers to '#/properties/v', which only refers to itself"),
        (definition(allOf=[{"$ref": "#"}]), "refers to '#', which only refers to itself: give its type"),
        (with_v(**{"$ref": "#/x-types/A"}), "refers to '#/x-types/A', which is not in it: put it into $defs"),
        (with_v(**{"$ref": "#/properties/v/anyOf/1", "anyOf": [{}]}), "anyOf/1', which is not in it"),
        (with_v(minimun=1), "has 'minimun', which is no keyword: did you mean 'minimum'?"),
        (with_v(oneof=[{}]), "has 'oneof', which is no keyword: did you mean 'oneOf'?"),
        (with_v(dependencies={"a": ["b"]}), "has 'dependencies', which cannot be kept to: leave it out"),
        (with_v(additionalItems=False), "has 'additionalItems', which cannot be kept to: leave it out"),
        (with_v(**{"$dynamicRef": "#a"}), "has '$dynamicRef', which cannot be kept to: leave it out"),
        (with_v(**{"$id": "other"}), "has '$id', which cannot be kept to: leave it out"),
        (definition(additionalProperties=True), "allows more than its properties (none): give its function **kwargs"),
        ({"name": "f", "parameters": "{}"}, "the schema of the tool f must be that of an object"),
        ({"name": "f", "cache_control": {}}, "has 'cache_control', which cannot be sent: leave it out"),
        ({"name": ["f"]}, "there is no function for the tool ['f']"),
    ],
)
def test_a_hand_written_schema_that_cannot_be_kept_to_is_refused_at_registration(
    definitions: dict[str, Any], said: str
) -> None:
    with pytest.raises(ToolDefinitionError, match=re.escape(said)):
        Toolbox.from_schemas([definitions], {"f": lambda v=None: v})


@pytest.mark.parametrize(
    ("definitions", "functions", "said"),
    [
        ({"name": "f"}, {"f": len}, "the definitions must be a list of dicts"),
        ('[{"name": "f"}]', {"f": len}, "the definitions must be a list of dicts"),
        (["f"], {"f": len}, "a tool's definition must be a dict with name, description and parameters, not a str"),
        ([{"name": "f"}], [len], "the functions must be a dict by name"),
        ([{"name": "f"}], {"f": None}, "what is given for the tool f is a NoneType: give a function"),
    ],
)
def test_what_is_no_definition_or_no_function_is_refused(definitions: Any, functions: Any, said: str) -> None:
    with pytest.raises(ToolDefinitionError, match=re.escape(said)):
        Toolbox.from_schemas(definitions, functions)


def test_a_hand_written_schema_that_allows_more_gives_more_to_its_function() -> None:
    one = definition(additionalProperties={"type": "string"}, required=["k"])
    toolbox = Toolbox.from_schemas([one], {"f": lambda **given: given})
    assert call(toolbox, "f", '{"k": "v"}').shown == '{"k":"v"}'
    assert "k must be a string; it was an integer" in call(toolbox, "f", '{"k": 5}').shown
    assert "k is required" in call(toolbox, "f", "{}").shown


def test_a_rule_for_the_arguments_as_a_whole_is_told_as_it_stands() -> None:
    one = definition(properties={"a": {}, "b": {}}, anyOf=[{"required": ["a"]}, {"required": ["b"]}])
    toolbox = Toolbox.from_schemas([one], {"f": lambda a=None, b=None: [a, b]})
    assert call(toolbox, "f", '{"b": 1}').shown == "[null,1]"
    rule = 'the arguments must keep to {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}. Its parameters'
    assert rule in call(toolbox, "f", "{}").shown


def test_strict_and_anthropics_form_of_a_definition_reach_the_model() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    one = {"name": "f", "description": "Do it.", "input_schema": schema, "strict": True}
    toolbox = Toolbox.from_schemas([one], {"f": lambda a: a})
    assert toolbox.schemas[0].to_dict() == {
        "type": "function",
        "function": {"name": "f", "description": "Do it.", "parameters": schema, "strict": True},
    }


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (ValueError("too hot"), "ValueError", "Error: fail raised ValueError: too hot"),
        (KeyError("city"), "KeyError", "Error: fail raised KeyError: 'city'"),
        (StopIteration(), "StopIteration", "Error: fail raised StopIteration."),
        (SystemExit(3), "SystemExit", "Error: fail raised SystemExit: 3"),
        (TimeoutError("slow"), "TimeoutError", "Error: fail raised TimeoutError: slow"),
        (MemoryError(), "MemoryError", "Error: fail raised MemoryError."),
        (GeneratorExit(), "GeneratorExit", "Error: fail raised GeneratorExit."),
        (Panic("index out of bounds"), "Panic", "Error: fail raised Panic: index out of bounds"),
    ],
)
def test_an_exception_in_a_tool_becomes_its_type_and_text(error: BaseException, kind: str, said: str) -> None:
    async def fail() -> None:
        raise error

    assert call(raising(error), "fail", "") == Observation(shown=said, whole=said, error=kind)
    if not isinstance(error, StopIteration | GeneratorExit):  # which mean something else in a coroutine
        assert call(Toolbox([fail]), "fail", "") == Observation(shown=said, whole=said, error=kind)


def test_a_keyboard_interrupt_in_a_tool_is_not_swallowed() -> None:
    with pytest.raises(KeyboardInterrupt):
        call(raising(KeyboardInterrupt()), "fail", "")


@pytest.mark.parametrize("is_async", [True, False])
def test_a_tool_that_hangs_is_given_up_after_its_timeout(is_async: bool) -> None:
    release = threading.Event()

    async def wait_async() -> None:
        await asyncio.sleep(60)

    def wait() -> None:
        release.wait(60)

    waiting: Callable[..., Any] = wait_async if is_async else wait
    toolbox = Toolbox([waiting]).with_options(waiting.__name__, timeout=0.05)
    observation = call(toolbox, waiting.__name__, "")
    release.set()
    assert observation.error == "timeout"
    assert "gave no answer within 0.05 seconds" in observation.shown


def test_sync_tools_run_in_a_thread_of_their_own_with_the_callers_context() -> None:
    who = contextvars.ContextVar("who", default="nobody")

    def where() -> str:
        return f"{who.get()} {threading.current_thread() is threading.main_thread()}"

    async def main() -> str:
        who.set("me")
        return (await Toolbox([where]).call(ToolCall("c", "where", ""))).shown

    assert asyncio.run(main()) == "me False"


def test_sync_tools_of_one_message_do_not_wait_for_each_other() -> None:
    meet = threading.Barrier(2, timeout=10)

    def arrive() -> str:
        meet.wait()
        return "met"

    async def main() -> list[Observation]:
        toolbox = Toolbox([arrive])
        return await asyncio.gather(*(toolbox.call(ToolCall(str(number), "arrive", "")) for number in range(2)))

    assert [observation.shown for observation in asyncio.run(main())] == ["met", "met"]


def test_a_long_result_is_cut_after_a_line_and_the_whole_is_kept() -> None:
    lines = "\n".join(f"line {number:04}" for number in range(600))
    observation = call(returning(lines), "give", "")
    kept, _, note = observation.shown.rpartition("\n")
    assert observation.truncated
    assert observation.whole == lines
    assert len(observation.shown) <= 3000
    assert lines.startswith(kept + "\n")
    assert note == f"[cut: the first {len(kept):,} of 5,999 characters]"


@pytest.mark.parametrize("size", [2999, 3000, 3001, 3050])
def test_a_result_is_cut_only_beyond_the_limit_and_never_inside_a_character(size: int) -> None:
    text = "é😀" * (size // 2) + "x" * (size % 2)
    observation = call(returning(text), "give", "")
    assert observation.truncated == (size > 3000)
    assert len(observation.shown) == min(size, 3000)


def no_hint(arguments: Any, shown: str, whole: str) -> str | None:
    return None


def broken_hint(arguments: Any, shown: str, whole: str) -> str | None:
    raise LookupError(arguments["nothing"])


@pytest.mark.parametrize("read_on", [no_hint, broken_hint])
def test_a_cut_result_without_a_call_that_reads_on_says_only_that_it_is_cut(read_on: Any) -> None:
    toolbox = returning("x" * 5000).with_options("give", read_on=read_on)
    assert call(toolbox, "give", "").shown.splitlines()[-1] == "[cut: the first 2,957 of 5,000 characters]"


def test_per_tool_options_leave_the_other_tools_and_the_first_toolbox_as_they_were() -> None:
    first = Toolbox([repeat, now])
    second = first.with_options("repeat", max_chars=200)
    long = '{"text": "a", "times": 500}'
    assert (call(first, "repeat", long).truncated, call(second, "repeat", long).truncated) == (False, True)
    assert first.schemas == second.schemas


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"name": "repaet"}, "there is no tool 'repaet' to set options for; there are: repeat"),
        ({"name": "repeat", "max_chars": 10}, "max_chars of repeat must be at least 200"),
        ({"name": "repeat", "max_chars": "3000"}, "max_chars of repeat must be at least 200, as an int, not '3000'"),
        ({"name": "repeat", "max_chars": 500.5}, "max_chars of repeat must be at least 200, as an int, not 500.5"),
        ({"name": "repeat", "timeout": 0}, "timeout of repeat must be more than 0 seconds"),
        ({"name": "repeat", "timeout": "5"}, "more than 0 seconds, or None for no limit, not '5'"),
        ({"name": "repeat", "timeout": float("nan")}, "more than 0 seconds, or None for no limit, not nan"),
        ({"name": "repeat", "read_on": "read_doc"}, "read_on of repeat must be a function"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ToolDefinitionError, match=said):
        Toolbox([repeat]).with_options(**options)


@pytest.mark.parametrize("tools", [now, len, "now", None])
def test_a_toolbox_of_what_is_no_list_says_how_to_write_it(tools: Any) -> None:
    with pytest.raises(ToolDefinitionError, match=r"write Toolbox\(\[tool\]\)"):
        Toolbox(tools)


def test_hand_written_schemas_and_plain_functions_make_a_toolbox() -> None:
    parameters = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    }
    definition = {"type": "function", "function": {"name": "add", "description": "Add.", "parameters": parameters}}
    toolbox = Toolbox.from_schemas([definition], {"add": lambda a, b: a + b})
    assert toolbox.schemas[0].to_dict() == definition
    assert call(toolbox, "add", '{"a": 3, "b": "4"}').shown == "7"
    assert call(toolbox, "add", '{"a": 3}').error == "bad_arguments"


def test_a_definition_without_its_function_or_the_other_way_round_is_refused() -> None:
    definition = {"name": "add", "parameters": {"type": "object", "properties": {"a": {}}, "required": ["a"]}}
    with pytest.raises(ToolDefinitionError, match="there is no function for the tool 'add'"):
        Toolbox.from_schemas([definition], {})
    with pytest.raises(ToolDefinitionError, match="there is no definition for the function 'sub'"):
        Toolbox.from_schemas([definition], {"add": lambda a: a, "sub": lambda: None})
    with pytest.raises(ToolDefinitionError, match="does not take its schema's parameters"):
        Toolbox.from_schemas([definition], {"add": lambda x: x})


def test_an_abandoned_sync_tool_does_not_keep_the_loop_from_ending() -> None:
    started = time.monotonic()
    release = threading.Event()

    def hang() -> None:
        release.wait(30)

    async def main() -> None:
        task = asyncio.create_task(Toolbox([hang]).call(ToolCall("c", "hang", "")))
        await asyncio.sleep(0.02)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())
    release.set()
    assert time.monotonic() - started < 10


TEXT = {"type": "string"}
A, B = ({"properties": {name: TEXT}, "required": [name]} for name in "ab")


@pytest.mark.parametrize(
    ("schema", "fits", "refused", "reason"),
    [
        ({"type": "object", "allOf": [A]}, '{"a":"x"}', '{"b":"x"}', "there is no parameter b (the parameters are: a)"),
        ({"type": "object", "allOf": [A], "unevaluatedProperties": False}, '{"a":"x"}', "{}", "a is required"),
        ({"type": "object", "oneOf": [A, B]}, '{"b":"x"}', '{"c":"x"}', "there is no parameter c (the parameters are: a, b)"),
        ({"type": "object", "allOf": [{"$ref": "#/$defs/A"}], "$defs": {"A": A}}, '{"a":"x"}', '{"a":5}', "a must be a string; it was an integer"),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"type": "object", **A}}}, '{"a":"x"}', "{}", "a is required"),
    ],
)  # fmt: skip
def test_what_a_part_of_a_hand_written_schema_names_is_a_parameter(
    schema: dict[str, Any], fits: str, refused: str, reason: str
) -> None:
    toolbox = Toolbox.from_schemas([{"name": "f", "inputSchema": schema}], {"f": lambda **given: "ran"})
    assert call(toolbox, "f", fits).shown == "ran"
    assert reason in call(toolbox, "f", refused).shown


@pytest.mark.parametrize("key", ["note", "cost", "num", "requiredIf", "definition", "types", "multiple", "x-order"])
def test_a_remark_that_is_like_a_keyword_is_no_misspelt_one(key: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", key: "said"}}, "required": ["a"]}
    assert (
        call(Toolbox.from_schemas([{"name": "f", "parameters": schema}], {"f": lambda a: a}), "f", '{"a":"x"}').shown
        == "x"
    )


def test_the_items_of_an_iterable_are_looked_at_before_the_tool_runs() -> None:
    def total(numbers: Iterable[int]) -> int:
        return sum(numbers)

    assert call(Toolbox([total]), "total", '{"numbers":["1",2.0]}').shown == "3"
    refused = call(Toolbox([total]), "total", '{"numbers":[1,"SECRET"]}')
    assert (refused.error, "numbers.1 must be an integer" in refused.shown) == ("bad_arguments", True)
