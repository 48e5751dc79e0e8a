"""Runs of a store become the lines of a bundle, each text and message once, before the first run that needs it.

What comes before a run follows from the run alone (its chain from the first message on, its spans by number), so the
same runs give the same lines from whatever store. Nothing is exported that is not what its hash names.
"""

import hashlib
import itertools
import sqlite3
from collections.abc import Iterable, Iterator

from tracing.bundling import lines as bundle_lines
from tracing.chain import hash_of
from tracing.errors import NoSuchRun, StoreError


def export_lines(connection: sqlite3.Connection, run_ids: Iterable[str]) -> Iterator[str]:
    """The lines of a bundle of these runs. The connection gives rows as tuples. Raises NoSuchRun, and StoreError for a
    text or a message that is not what was hashed."""
    lines, runs, total = 0, 0, hashlib.sha256()
    for line in itertools.chain((bundle_lines.header(),), _Exporter(connection).lines(run_ids)):
        lines += 1
        runs += line.startswith('{"run":')
        total.update(f"{line}\n".encode())
        yield f"{line}\n"
    yield f"{bundle_lines.end(lines, runs, total.hexdigest())}\n"


class _Exporter:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._bodies: set[int] = set()
        self._messages: set[int] = set()
        """Row ids of what was written."""

    def lines(self, run_ids: Iterable[str]) -> Iterator[str]:
        for run_id, row in self._sorted(run_ids):
            yield from self._needed(run_id, row)
            for kind, fields in bundle_lines.facts(self._connection, row):
                yield bundle_lines.checked(kind, fields)
            for fields in bundle_lines.annotations(self._connection, run_id):
                yield bundle_lines.checked("annotation", fields)

    def _sorted(self, run_ids: Iterable[str]) -> list[tuple[str, int]]:
        found = []
        for run_id in set(run_ids):
            row = self._connection.execute("select start_ns, run_id, id from run where run_id=?", (run_id,)).fetchone()
            if row is None:
                raise NoSuchRun(f"there is no run {run_id} (see: viewer list)")
            found.append(row)
        return [(run_id, row) for _, run_id, row in sorted(found)]

    def _needed(self, run_id: str, row: int) -> Iterator[str]:
        """The texts and messages of a run that were not written yet."""
        query = (
            "select settings, tools, question, start_tip, tip, answer, "
            "exists (select 1 from process p where p.id=run.process) from run where id=?"
        )
        settings, tools, question, opening, tip, answer, process = self._connection.execute(query, (row,)).fetchone()
        try:
            if not process:
                raise _Damaged("the process that wrote it is missing")
            yield from self._texts(settings, tools, question)
            yield from self._chain(opening)
            spans = "select settings, tools, request_tip, raw, response, result, whole from span where run=? order by n"
            for settings, tools, request, raw, response, result, whole in self._connection.execute(spans, (row,)):
                yield from self._texts(settings, tools)
                yield from self._chain(request)
                yield from self._texts(raw)
                yield from self._chain(response)
                yield from self._texts(result, whole)
            yield from self._chain(tip)
            yield from self._texts(answer)
        except _Damaged as damaged:
            raise StoreError(
                f"run {run_id[:8]} cannot be exported: {damaged} (see: viewer check --hashes)"
            ) from damaged

    def _texts(self, *rows: int | None) -> Iterator[str]:
        for row in rows:
            if row is None or row in self._bodies:
                continue
            self._bodies.add(row)
            found = self._connection.execute("select hash, text, raw, gone from body where id=?", (row,)).fetchone()
            if found is None:
                raise _Damaged("one of its texts is missing")
            digest, text, raw, gone = found
            if gone:
                yield bundle_lines.hashed("body", {"hash": digest.hex(), "gone": True})
                continue
            exact = text.encode() if raw is None else raw
            if hashlib.sha256(exact).digest() != digest:
                raise _Damaged("one of its texts is not what was hashed")
            said = bundle_lines.said(exact.decode("utf-8", "surrogatepass"))
            yield bundle_lines.hashed("body", {"hash": digest.hex(), **said})

    def _chain(self, tip: int | None) -> Iterator[str]:
        query = (
            "select m.hash, m.parent, p.hash, m.depth, p.depth, m.role, m.body, b.hash, m.envelope from message m "
            "left join message p on p.id=m.parent left join body b on b.id=m.body where m.id=?"
        )
        new = []
        while tip is not None and tip not in self._messages:
            row = self._connection.execute(query, (tip,)).fetchone()
            if row is None or (row[1] is not None and row[2] is None) or (row[6] is not None and row[7] is None):
                raise _Damaged("one of its messages is missing")
            digest, parent, parent_hash, depth, parent_depth, role, body, body_hash, envelope = row
            # The depth also ends a chain that was made to run in a circle.
            if (
                hash_of(parent_hash, role, body_hash, envelope) != digest
                or depth != (-1 if parent is None else parent_depth) + 1
            ):
                raise _Damaged("one of its messages is not what was hashed")
            self._messages.add(tip)
            fields = {"hash": digest.hex(), "parent": parent_hash and parent_hash.hex(), "depth": depth, "role": role,
                      "body": body_hash and body_hash.hex(), "envelope": envelope}  # fmt: skip
            new.append((body, {name: value for name, value in fields.items() if value is not None}))
            tip = parent
        for body, fields in reversed(new):
            yield from self._texts(body)
            yield bundle_lines.hashed("message", fields)


class _Damaged(Exception):
    """The store does not hold what was written."""
