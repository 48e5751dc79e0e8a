"""What importing and asking for help costs: importing defines names, and heavy libraries wait until they are needed."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import agent
import tracing

ROOT = Path(__file__).parent.parent
HEAVY = ("openai", "pydantic", "jsonschema", "opentelemetry", "genai_prices", "sqlite_utils")


def python(code: str, *arguments: str, cwd: Path) -> str:
    command = [sys.executable, "-c", code, *arguments]
    env = {"PYTHONPATH": str(ROOT), "PATH": ""}
    return subprocess.run(
        command, cwd=cwd, env=env, capture_output=True, text=True, check=True, encoding="utf-8"
    ).stdout


LOADED = """
import sys
name, *arguments = sys.argv[1:]
sys.argv = [name, *arguments]
import importlib
try:
    importlib.import_module(name + ".cli").main()
except SystemExit as ended:
    assert ended.code in (0, None), ended.code
print("LOADED", *sorted({module.partition(".")[0] for module in sys.modules}))
"""


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("agent", ["--help"]), ("agent", ["ask", "--help"]), ("viewer", ["--help"]), ("viewer", ["list"])],
)
def test_help_and_list_load_no_heavy_library(tmp_path: Path, name: str, arguments: list[str]) -> None:
    with tracing.Recorder(tmp_path / "traces.db") as recorder:
        recorder.run_sync(agent.Agent(model=agent.ScriptedModel(["a"])), "q")
    loaded = python(LOADED, name, *arguments, cwd=tmp_path).rpartition("LOADED")[2].split()
    assert "click" in loaded
    assert not set(HEAVY) & set(loaded)


@pytest.mark.parametrize("name", ["agent", "tracing", "viewer"])
def test_importing_a_package_loads_nothing_but_itself_and_does_nothing(tmp_path: Path, name: str) -> None:
    code = f"""
import sys, threading, warnings
sys.addaudithook(lambda event, args: print(event, args) if event in ("open", "socket.connect") and
                 not str(args[0]).endswith((".py", ".pyc")) and "pycache" not in str(args[0]) else None)
sys.dont_write_bytecode = True
import {name}
print(threading.active_count(), *sorted(m for m in sys.modules if m.partition(".")[0] in {(name, *HEAVY)!r}))
"""
    assert python(code, cwd=tmp_path) == f"1 {name}\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("package", [agent, tracing])
def test_every_public_name_is_there_and_is_in_dir(package: object) -> None:
    names = package.__all__  # type: ignore[attr-defined]
    assert sorted(names) == dir(package)
    for name in names:
        assert getattr(package, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        package.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_third_party_libraries_stand_where_the_design_puts_them() -> None:
    allowed = {
        "agent": {
            "click",
            "docstring_parser",
            "genai_prices",
            "jsonschema",
            "openai",
            "pydantic",
            "pydantic_core",
            "structlog",
        },
        "tracing": {"opentelemetry", "pydantic", "sqlite_utils", "structlog"},
        "viewer": {"click", "pytest", "rich", "sqlite_utils"},
    }
    ours, standard = set(allowed), sys.stdlib_module_names
    for package, names in allowed.items():
        for path in (ROOT / package).rglob("*.py"):
            found = set()
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Import):
                    found |= {alias.name.partition(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module:
                    found.add(node.module.partition(".")[0])
            assert found - standard - ours <= names, path
            rendering = path.name in ("render.py", "cli.py", "__main__.py", "playhead.py")
            assert "rich" not in found or rendering, path
            assert "openai" not in found or path.name == "openai_model.py", path
