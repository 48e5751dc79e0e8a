"""The commands that take runs out of a store, bring them in, and look whether they are as they were written.

`import` is the one command of a reader's tool that writes runs, and the only one that makes a store.
"""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agent.command_line import outcome
from agent.terminal import json_text, visible
from viewer.objects import list_of
from viewer.options import db_option, failure, find_whole_run, json_option, opened, path_of, where

if TYPE_CHECKING:
    from tracing.checking import Finding, Looked
    from tracing.store import Store

STDIO = "-"


@click.command()
@db_option
@click.argument("runs", metavar="[RUN]...", nargs=-1)
@click.option("-o", "--output", metavar="FILE", default=STDIO, help="The file to write. [default: stdout]")
@click.option("--all", "all_", is_flag=True, help="All runs of the store.")
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
@click.pass_context
def export(context: click.Context, runs: tuple[str, ...], output: str, all_: bool, force: bool, db: str | None) -> None:
    """Write runs as a bundle, a file that `import` reads again without loss (by default the last run)."""
    from tracing.bundles import export as write
    from tracing.bundles import export_lines

    if runs and all_:
        raise click.UsageError("give runs, or --all, not both")
    with opened(context, db) as store:
        ids = _all_ids(store) if all_ else [find_whole_run(store, run) for run in runs or ("last",)]
        if output == STDIO:
            stdout, size, count = sys.stdout.buffer, 0, len(set(ids))
            with store.tuples() as connection:
                for line in export_lines(connection, ids):
                    size += len(encoded := line.encode())
                    stdout.write(encoded)
        else:
            path = Path(output)
            _may_replace(path, path_of(context, db), force)
            count = write(store, ids, path)
            size = path.stat().st_size if path.is_file() else 0
    click.echo(f"exported {_count(count, 'run')}{f', {_size(size)}' if size else ''}", err=True)


@click.command("import")
@db_option
@click.argument("file", metavar="FILE")
@json_option
@click.pass_context
def import_(context: click.Context, file: str, as_json: bool, db: str | None) -> None:
    """Read in a bundle (- for stdin), or all runs of another store. A run that is there already stays as it is."""
    from tracing.bundles import import_into, import_stream
    from tracing.errors import TraceError

    store, command = Path(path_of(context, db)), f"viewer list{where(context, db)}"
    try:
        imported = import_stream(store, sys.stdin.buffer, "stdin") if file == STDIO else import_into(store, Path(file))
    except TraceError as error:
        raise failure(str(error)) from error
    if as_json:
        click.echo(json_text({"schema": 1, "new": imported.new, "known": imported.known, "next": [command]}))
        return
    there = "was" if imported.known == 1 else "were"
    known = f", {imported.known} {there} there already" if imported.known else ""
    click.echo(f"imported {_count(imported.new, 'run')}{known}")
    click.echo(f"next: {command}")


@click.command()
@db_option
@click.option("--hashes", is_flag=True, help="Look at every text, message and seal.")
@json_option
@click.pass_context
def check(context: click.Context, hashes: bool, as_json: bool, db: str | None) -> None:
    """Look whether the store is whole, and with --hashes whether each run is as it was written.

    Exit code 1 where something is not.
    """
    from tracing.checking import check as find
    from tracing.checking import looked_at

    with opened(context, db) as store:
        found, looked = find(store, hashes=hashes), looked_at(store)
    faults = sum(finding.is_fault for finding in found)
    outcome(1 if faults else 0)
    if as_json:
        rows = [{"place": one.place, "what": one.what, "is_fault": one.is_fault} for one in found]
        counts = {"hashes": hashes, "runs": looked.runs, "texts": looked.texts, "messages": looked.messages}
        click.echo(json_text({**list_of(rows, len(rows)), "faults": faults, **counts}))
    else:
        _show(found, looked, faults, hashes)


def _show(found: "list[Finding]", looked: "Looked", faults: int, hashes: bool) -> None:
    for finding in found:
        click.echo(visible(f"{finding.place}: {finding.what}").replace("\n", " "))
    outcome = (
        f"{_count(faults, 'thing')} {'is' if faults == 1 else 'are'} not as {'it was' if faults == 1 else 'they were'} written"
        if faults
        else "all as they were written"
        if hashes
        else "nothing is missing (with --hashes, each is held against its hash)"
    )
    texts, messages = _count(looked.texts, "text"), _count(looked.messages, "message")
    click.echo(f"{_count(looked.runs, 'run')}, {texts}, {messages}: {outcome}")


def _all_ids(store: "Store") -> list[str]:
    with store.tuples() as connection:
        return [run_id for (run_id,) in connection.execute("select run_id from run")]


def _may_replace(path: Path, store: str, force: bool) -> None:
    try:
        is_store = path.exists() and os.path.samefile(path, store)
        is_there = path.is_file()
        if is_store:
            raise failure(f"{path} is the store itself: give another file")
        if path.is_dir():
            raise failure(f"{path} is a folder: give the path of a file, e.g. {path / 'runs.jsonl'}")
        if is_there and not force:
            raise failure(f"{path} is there already: give another file, or --force to replace it")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "the system does not take such a path"
        raise failure(f"cannot write {path} ({reason}): give another file") from error


def _count(value: int, noun: str) -> str:
    return f"{value:,} {noun}{'s' if value != 1 else ''}"


def _size(size: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"
