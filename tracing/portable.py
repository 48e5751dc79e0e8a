"""A recorded run as a file to keep beside a test: a bundle with nothing in it but what a replay needs.

Ids and times are those of no machine and no day, so that a run that is recorded anew and does the same gives the same
bytes; metadata, tags, log lines, the spans of other libraries and the process are left out.
"""

import contextlib
import json
import sqlite3

from agent.canonical import column_text
from tracing.bundles import export_lines, import_lines
from tracing.file import memory_store
from tracing.seal import digest, seal_of
from tracing.store import Store

START_NS = 1_767_225_600_000_000_000  # 2026-01-01, as FixedClock
TICK_NS = 1_000_000
KEPT = ("limits", "system", "redaction")
"""What is kept of `run.attrs`."""


def portable(store: Store, run_id: str) -> str:
    """The text of the file."""
    with store.tuples() as source:
        lines = list(export_lines(source, [run_id]))
    with contextlib.closing(memory_store()) as memory:
        import_lines(lines, memory, "the run")
        _strip(memory)
        ((stripped,),) = memory.execute("select run_id from run").fetchall()
        return "".join(export_lines(memory, [stripped]))


def _strip(memory: sqlite3.Connection) -> None:
    ((row, attrs, end),) = memory.execute("select id, attrs, end_ns from run").fetchall()
    memory.execute("delete from event")
    memory.execute("delete from annotation")
    memory.execute("delete from span where kind=3")
    memory.execute("update process set host='', pid=0, born='', started_ns=?, ended_ns=?", (START_NS, START_NS))
    for at, (number,) in enumerate(memory.execute("select n from span order by n").fetchall(), 1):
        start = START_NS + TICK_NS * at
        memory.execute(
            "update span set n=?, span_id=?, parent_id=?, start_ns=?, "
            "end_ns=case when end_ns is null then null else ? end, "
            "duration_ns=case when end_ns is null then null else 0 end, "
            "attempts=case when attempts is null then null else 1 end, first_token_ns=null, "
            "cost=null, price=null, attrs=null, seal=null where n=?",
            (at, at.to_bytes(8, "big"), bytes(8), start, start, number),
        )
    kept = {key: value for key, value in json.loads(attrs or "{}").items() if key in KEPT}
    ((content,),) = memory.execute(
        "select hex(q.hash)||coalesce((select hex(m.hash) from message m where m.id=r.tip),'') "
        "from run r join body q on q.id=r.question"
    ).fetchall()
    run_id = digest([content], 16)
    memory.execute(
        "update run set run_id=?, trace_id=?, span_id=?, parent_span=null, parent_run=null, fork_step=null, kind='live', "
        "session=null, start_ns=?, end_ns=?, duration_ns=?, attrs=?, imported_ns=null, seal=null",
        (run_id.hex(), run_id, bytes(8), START_NS, end and START_NS, end and 0, column_text(kept)),
    )
    if end is not None:
        memory.execute("update run set seal=?", (seal_of(memory, row),))
