"""The defaults, arguments and class relations that the corpus states are those of httpx itself."""

from __future__ import annotations

import asyncio
import inspect
import re
import ssl
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import pytest
from httpcore._sync.connection import RETRIES_BACKOFF_FACTOR, exponential_backoff
from httpx._transports.default import _load_httpcore_exceptions


def defaults_of(function: Callable[..., Any]) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}


CLIENT_DEFAULTS = {
    "auth": None,
    "params": None,
    "headers": None,
    "cookies": None,
    "verify": True,
    "cert": None,
    "http1": True,
    "http2": False,
    "proxy": None,
    "mounts": None,
    "timeout": httpx.Timeout(5.0),
    "follow_redirects": False,
    "limits": httpx.Limits(max_connections=100, max_keepalive_connections=20),
    "max_redirects": 20,
    "event_hooks": None,
    "base_url": "",
    "transport": None,
    "trust_env": True,
    "default_encoding": "utf-8",
}
TRANSPORT_DEFAULTS = {
    "verify": True,
    "cert": None,
    "trust_env": True,
    "http1": True,
    "http2": False,
    "limits": httpx.Limits(max_connections=100, max_keepalive_connections=20),
    "proxy": None,
    "uds": None,
    "local_address": None,
    "retries": 0,
    "socket_options": None,
}


def test_the_corpus_is_about_the_installed_version() -> None:
    assert httpx.__version__.startswith("0.28.")
    about = metadata.metadata("httpx")
    assert about["Requires-Python"] == ">=3.8"
    assert set(about.get_all("Provides-Extra") or []) == {"http2", "socks", "brotli", "zstd", "cli"}


@pytest.mark.parametrize("kind", [httpx.Client, httpx.AsyncClient])
def test_a_client_has_the_documented_defaults(kind: type[httpx.Client]) -> None:
    assert defaults_of(kind) == CLIENT_DEFAULTS
    kinds = {parameter.kind for parameter in inspect.signature(kind).parameters.values()}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize("kind", [httpx.HTTPTransport, httpx.AsyncHTTPTransport])
def test_a_transport_has_the_documented_defaults(kind: type[httpx.HTTPTransport]) -> None:
    assert defaults_of(kind) == TRANSPORT_DEFAULTS


def test_the_functions_have_the_documented_defaults() -> None:
    defaults = defaults_of(httpx.request)
    set_ones = {k: v for k, v in defaults.items() if v is not None}
    assert set_ones == {
        "timeout": httpx.Timeout(5.0),
        "follow_redirects": False,
        "verify": True,
        "trust_env": True,
    }
    assert defaults.keys() == {
        *("params", "content", "data", "files", "json", "headers", "cookies", "auth"),
        *("proxy", "timeout", "follow_redirects", "verify", "trust_env"),
    }


@pytest.mark.parametrize("name", ["get", "head", "options", "delete"])
def test_the_functions_without_a_body_take_none(name: str) -> None:
    parameters = inspect.signature(getattr(httpx, name)).parameters
    assert parameters.keys().isdisjoint({"content", "data", "files", "json"})


@pytest.mark.parametrize("name", ["post", "put", "patch"])
def test_the_functions_with_a_body_take_one(name: str) -> None:
    parameters = inspect.signature(getattr(httpx, name)).parameters
    assert parameters.keys() >= {"content", "data", "files", "json"}


@pytest.mark.parametrize("name", ["verify", "proxy", "trust_env", "max_redirects", "limits"])
def test_a_single_request_of_a_client_does_not_take_what_belongs_to_the_client(name: str) -> None:
    assert name not in inspect.signature(httpx.Client.request).parameters


def test_the_small_classes_have_the_documented_defaults() -> None:
    assert defaults_of(httpx.Limits) == {
        "max_connections": None,
        "max_keepalive_connections": None,
        "keepalive_expiry": 5.0,
    }
    assert defaults_of(httpx.Proxy) == {"ssl_context": None, "auth": None, "headers": None}
    assert defaults_of(httpx.create_ssl_context) == {
        "verify": True,
        "cert": None,
        "trust_env": True,
    }
    assert defaults_of(httpx.NetRCAuth) == {"file": None}


def test_the_application_transports_have_the_documented_defaults() -> None:
    assert defaults_of(httpx.WSGITransport) == {
        "raise_app_exceptions": True,
        "script_name": "",
        "remote_addr": "127.0.0.1",
        "wsgi_errors": None,
    }
    assert defaults_of(httpx.ASGITransport) == {
        "raise_app_exceptions": True,
        "root_path": "",
        "client": ("127.0.0.1", 123),
    }


def test_an_auth_class_reads_no_body_by_default() -> None:
    assert httpx.Auth.requires_request_body is False
    assert httpx.Auth.requires_response_body is False


def test_the_digest_algorithms_are_the_documented_ones() -> None:
    plain = {"MD5", "SHA", "SHA-256", "SHA-512"}
    documented = plain | {f"{name}-SESS" for name in plain}
    assert httpx.DigestAuth._ALGORITHM_TO_HASH_FUNCTION.keys() == documented


def test_each_kind_of_timeout_is_five_seconds_by_default() -> None:
    with httpx.Client() as client:
        assert client.timeout.as_dict() == {"connect": 5.0, "read": 5.0, "write": 5.0, "pool": 5.0}


@pytest.mark.parametrize("kind", ["connect", "read", "write", "pool"])
def test_a_named_timeout_leaves_the_others_at_the_default(kind: str) -> None:
    timeout = httpx.Timeout(10.0, **{kind: 60.0}).as_dict()
    assert timeout.pop(kind) == 60.0
    assert set(timeout.values()) == {10.0}


def test_a_timeout_in_seconds_is_also_what_a_request_carries() -> None:
    with httpx.Client(timeout=3) as client:
        left_out = client.build_request("GET", "https://www.example.org/")
        disabled = client.build_request("GET", "https://www.example.org/", timeout=None)
    assert set(left_out.extensions["timeout"].values()) == {3}
    assert set(disabled.extensions["timeout"].values()) == {None}


@pytest.mark.parametrize(
    ("kind", "parents"),
    [
        (httpx.HTTPStatusError, [httpx.HTTPError]),
        (httpx.RequestError, [httpx.HTTPError]),
        (httpx.TransportError, [httpx.RequestError]),
        (httpx.DecodingError, [httpx.RequestError]),
        (httpx.TooManyRedirects, [httpx.RequestError]),
        (httpx.TimeoutException, [httpx.TransportError, httpx.RequestError, httpx.HTTPError]),
        (httpx.NetworkError, [httpx.TransportError]),
        (httpx.ProtocolError, [httpx.TransportError]),
        (httpx.ProxyError, [httpx.TransportError]),
        (httpx.UnsupportedProtocol, [httpx.TransportError]),
        (httpx.ConnectTimeout, [httpx.TimeoutException]),
        (httpx.ReadTimeout, [httpx.TimeoutException]),
        (httpx.WriteTimeout, [httpx.TimeoutException]),
        (httpx.PoolTimeout, [httpx.TimeoutException]),
        (httpx.ConnectError, [httpx.NetworkError]),
        (httpx.ReadError, [httpx.NetworkError]),
        (httpx.WriteError, [httpx.NetworkError]),
        (httpx.CloseError, [httpx.NetworkError]),
        (httpx.LocalProtocolError, [httpx.ProtocolError]),
        (httpx.RemoteProtocolError, [httpx.ProtocolError]),
        (httpx.StreamError, [RuntimeError]),
        (httpx.StreamConsumed, [httpx.StreamError]),
        (httpx.StreamClosed, [httpx.StreamError]),
        (httpx.ResponseNotRead, [httpx.StreamError]),
        (httpx.RequestNotRead, [httpx.StreamError]),
        (httpx.InvalidURL, [Exception]),
        (httpx.CookieConflict, [Exception]),
        (httpx.HTTPError, [Exception]),
    ],
)
def test_an_exception_descends_from_its_documented_parents(
    kind: type[Exception], parents: list[type[Exception]]
) -> None:
    assert kind.__base__ is parents[0]
    assert all(issubclass(kind, parent) for parent in parents)


@pytest.mark.parametrize("kind", [httpx.InvalidURL, httpx.CookieConflict, httpx.StreamError, TimeoutError])
def test_some_exceptions_are_no_http_errors(kind: type[Exception]) -> None:
    assert not issubclass(kind, httpx.HTTPError)
    assert not issubclass(httpx.TimeoutException, kind)
    assert not issubclass(httpx.HTTPError, kind)


def test_the_transports_of_httpx_never_raise_close_error() -> None:
    raised = set(_load_httpcore_exceptions().values())
    assert httpx.CloseError not in raised
    assert httpx.WriteError in raised


@pytest.mark.parametrize(
    ("status", "beginning"),
    [
        (100, "Informational response '100 Continue'"),
        (302, "Redirect response '302 Found'"),
        (404, "Client error '404 Not Found'"),
        (503, "Server error '503 Service Unavailable'"),
    ],
)
def test_raise_for_status_raises_for_any_status_that_is_not_2xx(status: int, beginning: str) -> None:
    request = httpx.Request("GET", "https://www.example.org/")
    response = httpx.Response(status, request=request)
    with pytest.raises(httpx.HTTPStatusError, match=re.escape(beginning)) as caught:
        response.raise_for_status()
    assert caught.value.response is response
    assert caught.value.request is request


def test_raise_for_status_returns_a_good_response() -> None:
    response = httpx.Response(204, request=httpx.Request("GET", "https://www.example.org/"))
    assert response.raise_for_status() is response


def test_a_transport_that_retries_waits_longer_each_time() -> None:
    assert list(islice(exponential_backoff(RETRIES_BACKOFF_FACTOR), 4)) == [0, 0.5, 1.0, 2.0]


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("all://", "http://example.org/", None),
        ("http://", "http://example.org/", "https://example.org/"),
        ("all://example.org", "https://example.org/", "https://www.example.org/"),
        ("all://*.example.org", "https://www.example.org/", "https://example.org/"),
        ("all://*example.org", "https://www.example.org/", "https://myexample.org/"),
        ("all://*example.org", "https://example.org/", None),
        ("all://*:1234", "http://example.org:1234/", "http://example.org/"),
        ("https://example.org:1234", "https://example.org:1234/", "http://example.org:1234/"),
    ],
)
def test_a_mount_pattern_matches_what_the_corpus_says(pattern: str, matching: str, other: str | None) -> None:
    mounted = httpx.MockTransport(lambda request: httpx.Response(200))
    rest = httpx.MockTransport(lambda request: httpx.Response(418))
    with httpx.Client(mounts={pattern: mounted}, transport=rest) as client:
        assert client.get(matching).status_code == 200
        if other:
            assert client.get(other).status_code == 418


def test_the_most_specific_mount_wins() -> None:
    def answering(status: int) -> httpx.MockTransport:
        return httpx.MockTransport(lambda request: httpx.Response(status))

    mounts = {
        "all://": answering(201),
        "https://": answering(202),
        "all://www.example.org": answering(203),
        "all://*:1234": answering(204),
    }
    with httpx.Client(mounts=mounts) as client:
        assert client.get("http://example.org/").status_code == 201
        assert client.get("https://example.org/").status_code == 202
        assert client.get("https://www.example.org/").status_code == 203
        assert client.get("https://www.example.org:1234/").status_code == 204


@pytest.mark.parametrize(
    ("no_proxy", "url", "direct"),
    [
        ("example.org", "http://example.org/", True),
        ("example.org", "http://www.example.org/", True),
        (".example.org", "http://www.example.org/", True),
        (".example.org", "http://example.org/", False),
        ("127.0.0.1", "http://127.0.0.1/", True),
        ("192.168.0.0/16", "http://192.168.1.1/", False),
        ("::1", "http://[::1]/", True),
        ("http://example.org", "http://example.org/", True),
        ("http://example.org", "https://example.org/", False),
        ("a.example.com, *", "http://example.org/", True),
    ],
)
def test_no_proxy_covers_what_the_corpus_says(
    no_proxy: str, url: str, direct: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", no_proxy)
    with httpx.Client() as client:
        chosen = client._transport_for_url(httpx.URL(url))
        assert (chosen is client._transport) == direct


def test_an_own_transport_switches_the_proxy_variables_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "")
    own = httpx.MockTransport(lambda request: httpx.Response(200))
    with httpx.Client(transport=own) as client:
        assert client.get("http://example.org/").status_code == 200


@pytest.mark.parametrize("scheme", ["http", "https", "socks5", "socks5h"])
def test_the_documented_proxy_schemes_are_known(scheme: str) -> None:
    httpx.Client(proxy=f"{scheme}://127.0.0.1:1").close()
    with pytest.raises(ValueError, match="Unknown scheme"):
        httpx.Client(proxy="socks4://127.0.0.1:1")


@pytest.mark.parametrize("module", ["h2", "socksio"])
def test_a_missing_extra_is_an_import_error(module: str) -> None:
    options = {"h2": "http2=True", "socksio": "proxy='socks5://127.0.0.1:1'"}
    code = f"import sys; sys.modules['{module}'] = None; import httpx; httpx.Client({options[module]})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ImportError: Using" in done.stderr


def test_the_deprecated_arguments_warn() -> None:
    with pytest.warns(DeprecationWarning, match="content="):
        httpx.Request("POST", "https://www.example.org/", data=b"raw")  # type: ignore[arg-type]
    ok = httpx.MockTransport(lambda request: httpx.Response(200))
    with (
        httpx.Client(transport=ok) as client,
        pytest.warns(DeprecationWarning, match="per-request cookies"),
    ):
        client.get("https://www.example.org/", cookies={"a": "b"})


def test_ssl_cert_file_comes_before_ssl_cert_dir_and_keylog_needs_verification(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))
    with pytest.raises(OSError, match="No such file"):
        httpx.create_ssl_context()
    monkeypatch.delenv("SSL_CERT_FILE")
    assert httpx.create_ssl_context().get_ca_certs() == []
    assert httpx.create_ssl_context(trust_env=False).get_ca_certs() != []
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "keys"))
    assert httpx.create_ssl_context().keylog_filename == str(tmp_path / "keys")
    assert httpx.create_ssl_context(verify=False).keylog_filename is None


def test_the_default_context_verifies_and_the_other_does_not() -> None:
    assert httpx.create_ssl_context().verify_mode is ssl.CERT_REQUIRED
    assert httpx.create_ssl_context().check_hostname
    assert httpx.create_ssl_context(verify=False).verify_mode is ssl.CERT_NONE


def test_netrc_reads_the_file_in_the_home_directory_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / ".netrc"
    file.write_text("machine www.example.org login ada password secret\n", encoding="utf-8")
    file.chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    own = httpx.MockTransport(lambda request: httpx.Response(200, text=request.headers.get("authorization", "none")))
    with httpx.Client(transport=own) as client:
        url = "https://www.example.org/"
        assert client.get(url, auth=httpx.NetRCAuth()).text.startswith("Basic ")
        assert client.get(url).text == "none"


def test_the_authorization_header_survives_an_upgrade_to_https() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        if request.url.scheme == "http":
            return httpx.Response(301, headers={"Location": "https://www.example.org/"})
        return httpx.Response(200, text=request.headers.get("authorization", "none"))

    with httpx.Client(transport=httpx.MockTransport(handler), follow_redirects=True) as client:
        response = client.get("http://www.example.org/", headers={"Authorization": "Bearer x"})
    assert response.text == "Bearer x"


@pytest.mark.parametrize(("status", "method"), [(301, "GET"), (302, "GET"), (303, "GET"), (307, "POST"), (308, "POST")])
def test_a_redirected_post_becomes_a_get_or_stays_as_documented(status: int, method: str) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/from":
            return httpx.Response(status, headers={"Location": "/to"})
        return httpx.Response(200, text=request.method)

    with httpx.Client(transport=httpx.MockTransport(handler), follow_redirects=True) as client:
        assert client.post("https://www.example.org/from", content=b"x").text == method


def test_a_mount_wins_over_the_variable_for_the_same_pattern(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "")
    mounted = httpx.MockTransport(lambda request: httpx.Response(201))
    with httpx.Client(mounts={"http://": mounted}) as client:
        assert client.get("http://www.example.org/").status_code == 201


def test_a_request_made_by_hand_gets_no_headers_of_the_client() -> None:
    own = httpx.MockTransport(lambda request: httpx.Response(200, json=dict(request.headers)))
    by_hand = httpx.Request("GET", "https://www.example.org/")
    with httpx.Client(transport=own, headers={"X-Own": "1"}) as client:
        assert client.send(by_hand).json() == {"host": "www.example.org"}
        del client.headers["accept"]
        assert "accept" not in client.get("https://www.example.org/").json()


def test_detection_is_not_called_while_text_is_streamed() -> None:
    called: list[bytes] = []

    def detect(content: bytes) -> str:
        called.append(content)
        return "latin-1"

    stream = httpx.ByteStream(b"caf\xe9")
    streamed = httpx.Response(200, stream=stream, default_encoding=detect)
    assert list(streamed.iter_text()) == ["caf", "\ufffd"]
    whole = httpx.Response(200, content=b"caf\xe9", default_encoding=detect)
    assert whole.text == "caf\xe9"
    assert called == [b"caf\xe9"]


def test_an_exception_in_an_application_is_raised_or_becomes_a_500() -> None:
    async def broken(scope: object, receive: object, send: object) -> None:
        raise LookupError("in the application")

    async def status(raise_app_exceptions: bool) -> int:
        transport = httpx.ASGITransport(broken, raise_app_exceptions=raise_app_exceptions)
        async with httpx.AsyncClient(transport=transport) as client:
            return (await client.get("http://app/")).status_code

    assert asyncio.run(status(raise_app_exceptions=False)) == 500
    with pytest.raises(LookupError):
        asyncio.run(status(raise_app_exceptions=True))


def test_a_mock_handler_of_an_async_client_may_be_async() -> None:
    async def handler(request: httpx.Request) -> httpx.Response:
        return httpx.Response(204)

    async def status() -> int:
        async with httpx.AsyncClient(transport=httpx.MockTransport(handler)) as client:
            return (await client.get("http://app/")).status_code

    assert asyncio.run(status()) == 204
