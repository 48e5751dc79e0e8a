"""What makes an example a checked fact: a comment `# => value` or `# raises Name` beside it.

The code of a block is rewritten so that each commented statement reports what it gave. A comment
that belongs to no statement, or whose statement never ran, is itself reported: nothing goes
unchecked in silence.
"""

from __future__ import annotations

import ast
import contextlib
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_GIVES, _RAISES = "# => ", "# raises "


@dataclass
class Fact:
    """One comment, and what became of it."""

    line: int
    kind: str
    expected: str
    times_checked: int = 0


@dataclass
class Ledger:
    """All the facts of a document and all that was found wrong with them."""

    facts: list[Fact] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def fail(self, line: int, message: str) -> None:
        self.failures.append(f"line {line}: {message}")

    def unchecked(self) -> None:
        """Report the facts whose statement was never run."""
        for fact in self.facts:
            if not fact.times_checked:
                self.fail(fact.line, f"never checked: {fact.expected}")

    def helpers(self, namespace: dict[str, Any]) -> dict[str, Any]:
        """The functions that rewritten code calls."""

        def check(value: Any, index: int) -> None:
            fact = self.facts[index]
            fact.times_checked += 1
            if not _agrees(value, fact.expected, namespace):
                self.fail(fact.line, f"expected {fact.expected}, but it is {value!r}")

        @contextlib.contextmanager
        def raises(index: int) -> Iterator[None]:
            fact = self.facts[index]
            fact.times_checked += 1
            try:
                yield
            except Exception as error:
                if type(error).__name__ != fact.expected:
                    self.fail(fact.line, f"expected {fact.expected}, but it raised {error!r}")
            else:
                self.fail(fact.line, f"expected {fact.expected}, but nothing was raised")

        return {"_check_": check, "_raises_": raises}

    def rewritten(self, source: str, first_line: int) -> ast.Module:
        """The code of a block, with its comments turned into checks."""
        tree = ast.parse(source)
        wanted: dict[int, Fact] = {}
        for number, fact in _comments(source):
            fact.line = number + first_line - 1
            wanted[number] = fact
        tree = _Rewriter(self, wanted, source).visit(tree)
        for fact in wanted.values():
            self.fail(fact.line, f"belongs to no statement: {fact.expected}")
        ast.increment_lineno(tree, first_line - 1)
        return ast.fix_missing_locations(tree)


def _comments(source: str) -> Iterator[tuple[int, Fact]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            for kind in (_GIVES, _RAISES):
                if token.string.startswith(kind):
                    yield token.start[0], Fact(0, kind, token.string.removeprefix(kind).strip())


def _agrees(value: Any, expected: str, namespace: dict[str, Any]) -> bool:
    if repr(value) == expected:
        return True
    try:
        wanted = eval(expected, dict(namespace))
    except Exception:
        return False
    return type(value) is type(wanted) and bool(value == wanted)


class _Rewriter(ast.NodeTransformer):
    def __init__(self, ledger: Ledger, wanted: dict[int, Fact], source: str) -> None:
        self._ledger = ledger
        self._wanted = wanted
        self._lines = source.splitlines()

    def _take(self, statement: ast.stmt, kinds: tuple[str, ...]) -> int | None:
        end = statement.end_lineno or statement.lineno
        following = end + 1
        alone = following <= len(self._lines) and self._lines[following - 1].lstrip().startswith("#")
        for number in (end, following) if alone else (end,):
            fact = self._wanted.get(number)
            if fact and fact.kind in kinds:
                del self._wanted[number]
                self._ledger.facts.append(fact)
                return len(self._ledger.facts) - 1
        return None

    def _expecting_an_exception(self, statement: ast.stmt) -> ast.stmt:
        index = self._take(statement, (_RAISES,))
        if index is None:
            return statement
        call = ast.Call(ast.Name("_raises_", ast.Load()), [ast.Constant(index)], [])
        return ast.copy_location(ast.With([ast.withitem(call)], [statement]), statement)

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        index = self._take(node, (_GIVES,))
        if index is None:
            return self._expecting_an_exception(node)
        call = ast.Call(
            ast.Name("_check_", ast.Load()), [node.value, ast.Constant(index)], []
        )
        return ast.copy_location(ast.Expr(call), node)

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        return self._expecting_an_exception(node)
