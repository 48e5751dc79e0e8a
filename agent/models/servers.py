"""Which server a model name means, and which key goes there: never a key to an address that is not its own."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

DEFAULT_URL = "https://api.deepseek.com"
DEFAULT_MODEL = "deepseek-flash"
OPENAI_URL = "https://api.openai.com/v1"
DEFAULT_BODY = {"thinking": {"type": "disabled"}}
"""Sent to the default server, unless told otherwise."""


class NoServer(ValueError):
    """A model name for which no server is configured; the text says what to set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    model: str
    base_url: str
    api_key: str = field(repr=False)
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    provider: str = "openai"


def server_for(name: str | None, env: Mapping[str, str]) -> Server:
    """The server of a bare NAME, of `openai:NAME`, or (None) the configured model. Raises NoServer.

    With any `LLM_*` set, that is the server for all of them: `LLM_API_KEY` goes to `LLM_BASE_URL`. Without, only
    `openai:NAME` has one: `OPENAI_API_KEY` goes to `OPENAI_BASE_URL`, or to OpenAI's own address.
    """
    is_openai = name is not None and name.startswith("openai:")
    bare = None if name is None else name.removeprefix("openai:")
    if bare == "":
        raise NoServer("the model has no name: write openai:NAME")
    if any(env.get(key) for key in ("LLM_API_KEY", "LLM_BASE_URL", "LLM_MODEL")):
        url = (env.get("LLM_BASE_URL") or DEFAULT_URL).rstrip("/")
        body = extra_body(env.get("LLM_EXTRA_BODY"), "LLM_EXTRA_BODY")
        if body is None:
            body = DEFAULT_BODY if url == DEFAULT_URL else {}
        key = env.get("LLM_API_KEY")
        if not key and url == DEFAULT_URL:
            raise NoServer(f"no key for {url}: set LLM_API_KEY, or LLM_BASE_URL to a server that needs none")
        return Server(
            model=bare or env.get("LLM_MODEL") or DEFAULT_MODEL,
            base_url=url,
            api_key=key or "none",
            extra_body=body,
            provider="deepseek" if "deepseek.com" in url else "openai",
        )
    if is_openai and bare is not None:
        url = (env.get("OPENAI_BASE_URL") or OPENAI_URL).rstrip("/")
        key = env.get("OPENAI_API_KEY")
        if not key and url == OPENAI_URL:
            raise NoServer("no key for OpenAI: set OPENAI_API_KEY, or OPENAI_BASE_URL to a server that needs none")
        return Server(model=bare, base_url=url, api_key=key or "none")
    what = "the model" if bare is None else repr(bare)
    raise NoServer(
        f"no server is configured for {what}: set LLM_BASE_URL, LLM_API_KEY and LLM_MODEL, or write openai:NAME"
    )


def unconfigured(name: str | None, why: NoServer) -> Server:
    """The server of a model that cannot be asked, by the name it would have: it can still be replayed."""
    is_openai = name is not None and name.startswith("openai:")
    bare = DEFAULT_MODEL if name is None else name.removeprefix("openai:")
    if not bare:
        raise why
    return Server(model=bare, base_url="", api_key="", provider="openai" if is_openai else "deepseek")


def extra_body(text: str | None, where: str) -> dict[str, Any] | None:
    """A JSON object from an option or a variable; None where it is not given. Raises NoServer."""
    if not text:
        return None
    try:
        value = json.loads(text)
    except ValueError as error:
        raise NoServer(f"{where} is not JSON ({error})") from error
    if not isinstance(value, dict):
        raise NoServer(f"{where} must be a JSON object")
    return value
