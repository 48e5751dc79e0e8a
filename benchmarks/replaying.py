"""How many steps a second a replay takes: a run is read from its store, every hash recomputed, and replayed.

uv run python benchmarks/replaying.py
"""

import argparse
import tempfile
import time
from pathlib import Path

from agent import Agent, Limits, ScriptedModel, Toolbox, tool
from tracing import Recorder, Store, replay


@tool("Read a page.")
async def read_page(number: int) -> str:
    return f"page {number}: " + f"{number * 7919:09} " * 300


def agent(steps: int) -> Agent:
    script = [{"tool_calls": [{"name": "read_page", "arguments": {"number": number}}]} for number in range(steps)]
    limits = Limits(max_steps=steps + 1)
    return Agent(model=ScriptedModel([*script, "done"]), tools=Toolbox([read_page]), system="Read.", limits=limits)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=1000)
    steps = parser.parse_args().steps
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder, "traces.db")
        with Recorder(db) as recorder:
            recorder.run_sync(agent(steps), "Read everything.")
        for who in (None, agent(steps)):
            start = time.perf_counter()
            with Store(db) as store:
                recording = store.recording()
            read = time.perf_counter()
            report = replay(recording, who)
            end = time.perf_counter()
            print(
                f"{report.outcome}, {'with' if who else 'without'} an agent: read in {read - start:.3f} s, replayed in "
                f"{end - read:.3f} s, {report.steps / (end - start):,.0f} steps a second"
            )


if __name__ == "__main__":
    main()
