"""What makes an example a checked fact: a comment `# => value` or `# raises Name` beside it.

The code of a block is rewritten so that each commented statement reports what it gave. A comment
that belongs to no statement, or whose statement never ran, is itself reported: nothing goes
unchecked in silence.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import TracebackType

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

    def check(self, value: object, index: int) -> None:
        """What rewritten code calls with the value of a commented expression."""
        fact = self.facts[index]
        fact.times_checked += 1
        if not _agrees(value, fact.expected):
            self.fail(fact.line, f"expected {fact.expected}, but it is {value!r}")

    def raises(self, index: int) -> _Raises:
        """What rewritten code wraps around a statement that is said to raise."""
        return _Raises(self, self.facts[index])

    def rewritten(self, source: str, first_line: int) -> ast.Module:
        """The code of a block, with its comments turned into checks."""
        tree = ast.parse(source)
        wanted: dict[int, Fact] = {}
        for number, fact in _comments(source):
            fact.line = number + first_line - 1
            wanted[number] = fact
        _Rewriter(self, wanted, source).visit(tree)
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


def _agrees(value: object, expected: str) -> bool:
    if repr(value) == expected:
        return True
    try:
        wanted = ast.literal_eval(expected)
    except (ValueError, SyntaxError):
        return False
    return type(value) is type(wanted) and bool(value == wanted)


@dataclass
class _Raises:
    ledger: Ledger
    fact: Fact

    def __enter__(self) -> None:
        self.fact.times_checked += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        raised = kind.__name__ if kind else "nothing"
        if raised != self.fact.expected:
            self.ledger.fail(self.fact.line, f"expected {self.fact.expected}, but {raised} was raised: {error}")
        return True


class _Rewriter(ast.NodeTransformer):
    def __init__(self, ledger: Ledger, wanted: dict[int, Fact], source: str) -> None:
        self._ledger = ledger
        self._wanted = wanted
        self._lines = source.splitlines()

    def _take(self, statement: ast.stmt, kinds: tuple[str, ...]) -> int | None:
        end = statement.end_lineno or statement.lineno
        following = end + 1
        below = self._lines[end : end + 1]
        alone = any(line.lstrip().startswith("#") for line in below)
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
        call = ast.Call(ast.Name("_check_", ast.Load()), [node.value, ast.Constant(index)], [])
        return ast.copy_location(ast.Expr(call), node)

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        return self._expecting_an_exception(node)
