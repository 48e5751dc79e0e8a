"""The numbers and defaults in the running text are those of httpx: prose has no code to run."""

from __future__ import annotations

import inspect
import re
from typing import Any

import httpx
import pytest

from .documents import text_of


def defaults_of(kind: type) -> dict[str, Any]:
    return {p.name: p.default for p in inspect.signature(kind).parameters.values()}


CLIENT = defaults_of(httpx.Client)
LIMITS: httpx.Limits = CLIENT["limits"]
TIMEOUT: httpx.Timeout = CLIENT["timeout"]
SECONDS = f"{TIMEOUT.read:g} seconds"
REDIRECTS = CLIENT["max_redirects"]


def table_in(name: str, heading: str) -> dict[str, str]:
    """The first two columns of the table below a heading."""
    section = text_of(name).partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"(?m)^\| `(\w+)` \| ([^|]+?) \|", section))


def test_the_table_of_client_arguments_has_the_real_defaults() -> None:
    written = table_in("api.md", "Client and AsyncClient")
    assert {k: eval(v.strip("`"), vars(httpx).copy()) for k, v in written.items()} == CLIENT


def test_the_table_of_transport_arguments_has_the_real_defaults() -> None:
    written = table_in("advanced/transports.md", "HTTPTransport: the default")
    real = defaults_of(httpx.HTTPTransport)
    limits: httpx.Limits = real.pop("limits")
    assert written.pop("limits") == (
        f"{limits.max_connections} connections, {limits.max_keepalive_connections} kept alive"
    )
    assert written == {name: f"`{default}`" for name, default in real.items()}


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("advanced/timeouts.md", f"by default: {SECONDS} of network inactivity end a request."),
        ("advanced/timeouts.md", f"Each of the four is {TIMEOUT.connect} seconds by default."),
        ("quickstart.md", f"by default httpx raises after {SECONDS} of network inactivity."),
        ("index.md", f"A timeout on every operation: {SECONDS} of network inactivity by default."),
        ("compatibility.md", f"httpx has a default timeout of {SECONDS} of"),
        ("advanced/resource-limits.md", f"at once. The default is {LIMITS.max_connections}."),
        (
            "advanced/resource-limits.md",
            f"kept open. The default is {LIMITS.max_keepalive_connections}.",
        ),
        ("advanced/resource-limits.md", f"The default is {LIMITS.keepalive_expiry} seconds."),
        ("advanced/resource-limits.md", f"the pool timeout, which is {TIMEOUT.pool:g} seconds by"),
        ("async.md", f"opens up to {LIMITS.max_connections} connections by default."),
        ("troubleshooting.md", f"`max_connections`, which is {LIMITS.max_connections} by default."),
        ("troubleshooting.md", f"The server sent nothing for {SECONDS}, the default."),
        ("quickstart.md", f"At most {REDIRECTS} redirects are followed; the next raises"),
        ("exceptions.md", f"which is {REDIRECTS} by default."),
        ("compatibility.md", f"At most {REDIRECTS} redirects are followed by default in httpx"),
        ("advanced/clients.md", f"A client follows at most {REDIRECTS} redirects"),
        ("advanced/text-encodings.md", f'is `"{CLIENT["default_encoding"]}"` unless you change it'),
        ("advanced/transports.md", f"`retries` is {defaults_of(httpx.HTTPTransport)['retries']}."),
        ("index.md", f"These pages describe httpx version {httpx.__version__.rpartition('.')[0]}."),
    ],
)
def test_a_sentence_about_a_default_has_the_real_value(name: str, sentence: str) -> None:
    assert sentence in text_of(name)


@pytest.mark.parametrize("kind", ["Connect", "Read", "Write", "Pool"])
def test_each_kind_of_timeout_stands_beside_the_exception_that_it_raises(kind: str) -> None:
    lines = text_of("advanced/timeouts.md").splitlines()
    [first] = [n for n, line in enumerate(lines) if line.startswith(f"- `{kind.lower()}`: ")]
    assert f"httpx raises `httpx.{kind}Timeout`" in lines[first + 1]
