"""Finding what a command line names: a user's agent, a model, a text in a file, the embedded documents."""

import contextlib
import importlib
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agent.agents import Agent
from agent.errors import described
from agent.models.scripted import ScriptedModel
from agent.ports import Model


class LoadError(Exception):
    """What was named cannot be loaded; the text is one sentence that says what to do."""


DOCS = "docs:"
"""What names the documentation agent, of the embedded documents or, with a folder behind it, of others."""


DEMO = "demo:"
"""What names the agent of the demo."""


def load_agent(name: str, folder: str | Path | None = None) -> Agent:
    """The Agent of `module:attribute`, importable from `folder` (the current one), or the documentation agent of
    `docs:` or `docs:DIR`. Raises LoadError."""
    if name == DEMO:
        from agent.demo import demo_model

        return replace(docs_agent(None, demo_model())[0], name="demo")
    if name.startswith(DOCS):
        return docs_agent(name.removeprefix(DOCS) or None)[0]
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise LoadError(f"{name!r} names no agent: write MODULE:ATTRIBUTE, e.g. myapp.agents:support")
    if "/" in module_name or os.sep in module_name or module_name.endswith(".py"):
        raise LoadError(
            f"{name!r} names a file: write its module, importable from the folder you run in, e.g. myapp.agents:support"
        )
    if (here := str(folder or os.getcwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        with contextlib.redirect_stdout(sys.stderr):  # stdout is the answer's, or data
            module = importlib.import_module(module_name)
            found = getattr(module, attribute, None)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever a user's module raises
        why = " ".join(described(error).split())
        raise LoadError(f"cannot import {module_name} ({why}): run from its folder, or mend it") from error
    if isinstance(found, Agent):
        return found
    what = (
        f"has no {attribute}" if found is None else f"has {attribute}, but it is a {type(found).__name__}, not an Agent"
    )
    agents = [key for key, value in vars(module).items() if isinstance(value, Agent)]
    hint = f"; its agents: {', '.join(agents)}" if agents else ""
    raise LoadError(f"the module {module_name} ({getattr(module, '__file__', None) or 'built in'}) {what}{hint}")


def docs_agent(folder: str | Path | None, model: Model | None = None) -> tuple[Agent, Sequence[str]]:
    """The documentation agent, and what is to be said of its documents; without a folder, of the embedded ones.
    Raises LoadError."""
    from agent.docs import SYSTEM_PROMPT, Docs, DocsError, docs_toolbox
    from agent.models.keyword import KeywordModel

    try:
        docs = Docs(folder if folder is not None else embedded_docs())
    except DocsError as error:
        raise LoadError(str(error)) from error
    model = KeywordModel() if model is None else model
    return Agent(name="docs", model=model, tools=docs_toolbox(docs), system=SYSTEM_PROMPT), docs.faults


def load_model(spec: str | None, body: str | None = None, *, stream: bool = False) -> Model:
    """The model of `keyword`, `script:FILE`, `openai:NAME` or a bare NAME of the configured server. Raises LoadError,
    and ScriptError for a bad script."""
    if spec == "keyword":
        from agent.models.keyword import KeywordModel

        return KeywordModel()
    if spec is not None and spec.startswith("script:"):
        if not (file := spec.removeprefix("script:")):
            raise LoadError("script: names no file: write script:FILE")
        return ScriptedModel.load(file)
    from agent.models.openai_model import OpenAIModel
    from agent.models.servers import NoServer, extra_body

    try:
        model = OpenAIModel(spec, extra_body=extra_body(body, "--extra-body"), stream=stream)
        model.check()
        return model
    except NoServer as error:
        raise LoadError(f"{error}; or use the model keyword, or script:FILE") from error


def text_or_file(value: str) -> str:
    """`value` itself, or the text of the file that `@FILE` names. Raises LoadError."""
    if not value.startswith("@"):
        return value
    if value == "@":
        raise LoadError("@ names no file: write @FILE")
    try:
        with Path(value[1:]).open(encoding="utf-8-sig", newline="") as file:  # its line ends as they are
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise LoadError(f"cannot read {value[1:]}: {reason}") from error


def embedded_docs() -> Path:
    """The documents that come with the package."""
    packaged = Path(__file__).parent / "httpx-docs"
    return packaged if packaged.is_dir() else Path(__file__).parent.parent / "data" / "httpx-docs"
