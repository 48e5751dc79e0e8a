"""What the corpus says happens on the network does happen, between httpx and a real server."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import httpx
import pytest

from .servers import Service

SHORT = 0.15


def test_a_server_that_accepts_but_never_answers_tls_is_a_connect_timeout(
    service: Service, trusting: ssl.SSLContext
) -> None:
    with (
        httpx.Client(proxy=f"http://{service.proxy.address}", verify=trusting) as client,
        pytest.raises(httpx.ConnectTimeout),
    ):
        client.get("https://silent.example.org/", timeout=httpx.Timeout(5.0, connect=SHORT))


def test_a_server_that_is_slow_to_answer_is_a_read_timeout(client: httpx.Client) -> None:
    with pytest.raises(httpx.ReadTimeout) as caught:
        client.get("/slow/5", timeout=httpx.Timeout(5.0, read=SHORT))
    assert caught.value.request.url.path == "/slow/5"


def test_a_server_that_stops_in_the_body_is_a_read_timeout(client: httpx.Client) -> None:
    timeout = httpx.Timeout(5.0, read=SHORT)
    with client.stream("GET", "/stalled", timeout=timeout) as response:
        assert response.status_code == 200
        with pytest.raises(httpx.ReadTimeout):
            response.read()


def test_a_server_that_does_not_read_is_a_write_timeout(client: httpx.Client) -> None:
    with pytest.raises(httpx.WriteTimeout):
        client.post("/never-read", content=b"x" * 30_000_000, timeout=httpx.Timeout(5.0, write=SHORT))


def test_a_pool_with_no_free_connection_is_a_pool_timeout(service: Service) -> None:
    with (
        httpx.Client(
            base_url=f"http://{service.plain.address}",
            limits=httpx.Limits(max_connections=1),
            timeout=httpx.Timeout(5.0, pool=SHORT),
            trust_env=False,
        ) as client,
        client.stream("GET", "/bytes/10"),
        pytest.raises(httpx.PoolTimeout),
    ):
        client.get("/echo")


def test_no_timeout_waits_until_the_server_is_ready(client: httpx.Client) -> None:
    client.timeout = httpx.Timeout(0.05)
    assert client.get("/slow/0.2", timeout=None).text == "at last"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/malformed", httpx.RemoteProtocolError),
        ("/disconnect", httpx.RemoteProtocolError),
        ("/redirect-nowhere", httpx.RemoteProtocolError),
        ("/reset", httpx.ReadError),
        ("/bad-gzip", httpx.DecodingError),
    ],
)
def test_a_bad_answer_raises_the_documented_exception(
    client: httpx.Client, path: str, expected: type[Exception]
) -> None:
    with pytest.raises(expected) as caught:
        client.get(path)
    assert type(caught.value) is expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("ftp://www.example.org/", httpx.UnsupportedProtocol),
        ("www.example.org", httpx.UnsupportedProtocol),
        ("https://www.example.org:port/", httpx.InvalidURL),
    ],
)
def test_a_bad_url_raises_the_documented_exception(url: str, expected: type[Exception]) -> None:
    with pytest.raises(expected):
        httpx.get(url, trust_env=False)


def test_a_refused_connection_is_a_connect_error(service: Service) -> None:
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://{service.closed_address}/", trust_env=False)


def test_a_certificate_that_is_not_trusted_is_a_connect_error(service: Service) -> None:
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        httpx.get(f"https://{service.tls.address}/", trust_env=False)


def test_tls_to_a_plain_port_is_a_connect_error(service: Service) -> None:
    with pytest.raises(httpx.ConnectError, match="WRONG_VERSION_NUMBER|record layer"):
        httpx.get(f"https://{service.plain.address}/", trust_env=False)


def test_a_tunnel_that_the_proxy_refuses_is_a_proxy_error(service: Service) -> None:
    with pytest.raises(httpx.ProxyError, match="403 Forbidden"):
        httpx.get("https://blocked.example.org/", proxy=f"http://{service.proxy.address}")


def test_a_line_break_in_a_header_is_a_local_protocol_error(client: httpx.Client) -> None:
    with pytest.raises(httpx.LocalProtocolError):
        client.get("/echo", headers={"X-Bad": "two\nlines"})


def test_twenty_redirects_are_followed_and_no_more(client: httpx.Client) -> None:
    assert client.get("/redirect/20", follow_redirects=True).status_code == 200
    with pytest.raises(httpx.TooManyRedirects):
        client.get("/redirect/21", follow_redirects=True)


def test_redirects_are_not_followed_by_default(client: httpx.Client) -> None:
    response = client.get("/redirect/1")
    assert response.status_code == 302
    assert response.next_request is not None


def test_a_generator_cannot_be_sent_again_after_a_redirect(client: httpx.Client) -> None:
    def parts() -> Iterator[bytes]:
        yield b"once"

    with pytest.raises(httpx.StreamConsumed):
        client.post("/redirect-with/307", content=parts(), follow_redirects=True)


def test_elapsed_is_known_once_the_body_is_read(client: httpx.Client) -> None:
    with client.stream("GET", "/bytes/10") as response:
        with pytest.raises(RuntimeError, match="elapsed"):
            _ = response.elapsed
        response.read()
        assert response.elapsed.total_seconds() > 0


def test_an_idle_connection_is_closed_when_its_time_is_over(service: Service) -> None:
    limits = httpx.Limits(keepalive_expiry=0.05)
    url = f"http://{service.plain.address}/echo"
    with httpx.Client(limits=limits, trust_env=False) as client:
        first = client.get(url).json()["connection"]
        time.sleep(0.1)
        assert client.get(url).json()["connection"] != first


def test_functions_use_a_new_connection_for_each_call(service: Service) -> None:
    url = f"http://{service.plain.address}/echo"
    numbers = {httpx.get(url, trust_env=False).json()["connection"] for _ in range(3)}
    assert len(numbers) == 3


def test_the_old_version_of_http_is_told_apart(client: httpx.Client) -> None:
    assert client.get("/http10").http_version == "HTTP/1.0"
    assert client.get("/echo").http_version == "HTTP/1.1"


@pytest.mark.parametrize(("http2", "version"), [(False, "HTTP/1.1"), (True, "HTTP/2")])
def test_http2_is_only_used_when_asked_for(
    service: Service, trusting: ssl.SSLContext, http2: bool, version: str
) -> None:
    with httpx.Client(http2=http2, verify=trusting, trust_env=False) as client:
        response = client.get(f"https://{service.tls.address}/echo")
    assert response.http_version == response.json()["http_version"] == version


@pytest.mark.parametrize(("options", "attempts"), [({"retries": 1}, 2), ({}, 1), ({"retries": 1, "proxy": True}, 1)])
def test_retries_count_for_direct_connections_only(service: Service, options: dict[str, object], attempts: int) -> None:
    started: list[str] = []

    def trace(name: str, info: object) -> None:
        if name == "connection.connect_tcp.started":
            started.append(name)

    closed = f"http://{service.closed_address}"
    proxy = closed if options.get("proxy") else None
    retries = 1 if "retries" in options else 0
    transport = httpx.HTTPTransport(retries=retries, proxy=proxy)
    with httpx.Client(transport=transport) as client, pytest.raises(httpx.ConnectError):
        client.get(f"{closed}/", extensions={"trace": trace})
    assert len(started) == attempts


def test_retries_do_not_cover_a_read_timeout(service: Service) -> None:
    started: list[str] = []

    def trace(name: str, info: object) -> None:
        if name.endswith("send_request_headers.started"):
            started.append(name)

    with (
        httpx.Client(transport=httpx.HTTPTransport(retries=3)) as client,
        pytest.raises(httpx.ReadTimeout),
    ):
        url = f"http://{service.plain.address}/slow/5"
        client.get(url, timeout=SHORT, extensions={"trace": trace})
    assert len(started) == 1


@pytest.mark.parametrize("path", ["/gzip", "/deflate", "/brotli", "/zstd"])
def test_compressed_bodies_are_decoded(client: httpx.Client, path: str) -> None:
    response = client.get(path)
    assert response.json() == {"encoded": response.headers["content-encoding"]}


def test_a_mixed_up_body_is_refused_before_it_is_sent(client: httpx.Client) -> None:
    async def later() -> AsyncIterator[bytes]:
        yield b"x"

    with pytest.raises(RuntimeError, match="async request with a sync Client"):
        client.post("/echo", content=later())


def test_a_closed_client_cannot_be_used_or_opened_again(client: httpx.Client) -> None:
    client.close()
    with pytest.raises(RuntimeError, match="closed"):
        client.get("/echo")
    with pytest.raises(RuntimeError, match="reopen"):
        client.__enter__()


@pytest.mark.parametrize(("verify_is_a_string", "name"), [(False, "client"), (True, None)])
def test_the_deprecated_cert_argument_works_unless_verify_is_a_string(
    service: Service, verify_is_a_string: bool, name: str | None
) -> None:
    file = str(service.ca_file)
    verify = file if verify_is_a_string else ssl.create_default_context(cafile=file)
    with pytest.warns(DeprecationWarning):
        client = httpx.Client(verify=verify, cert=str(service.client_file), trust_env=False)
    with client:
        answer = client.get(f"https://{service.tls.address}/echo").json()
    assert answer["client_certificate"] == name


def test_a_unix_socket_is_used_whatever_the_url_says(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()

        def answer_once() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi")

        thread = threading.Thread(target=answer_once)
        thread.start()
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(tmp_path / "s"))) as client:
            assert client.get("http://anywhere.example.org/").text == "hi"
        thread.join()


async def _read_timeout(client: httpx.AsyncClient) -> None:
    with pytest.raises(httpx.ReadTimeout):
        await client.get("/slow/5", timeout=httpx.Timeout(5.0, read=SHORT))


async def _pool_timeout(client: httpx.AsyncClient) -> None:
    async with client.stream("GET", "/bytes/10"):
        with pytest.raises(httpx.PoolTimeout):
            await client.get("/echo", timeout=httpx.Timeout(5.0, pool=SHORT))


async def _write_timeout(client: httpx.AsyncClient) -> None:
    with pytest.raises(httpx.WriteTimeout):
        timeout = httpx.Timeout(5.0, write=SHORT)
        await client.post("/never-read", content=b"x" * 30_000_000, timeout=timeout)


async def _sync_generator(client: httpx.AsyncClient) -> None:
    with pytest.raises(RuntimeError, match="sync request with an AsyncClient"):
        await client.post("/echo", content=iter([b"x"]))


async def _sync_iteration(client: httpx.AsyncClient) -> None:
    async with client.stream("GET", "/bytes/10") as response:
        with pytest.raises(RuntimeError, match="sync iterator on an async stream"):
            response.read()
        assert await response.aread() == b"x" * 10


@pytest.mark.parametrize("happening", [_read_timeout, _pool_timeout, _write_timeout, _sync_generator, _sync_iteration])
def test_the_async_client_raises_the_same(service: Service, happening: Callable[[httpx.AsyncClient], object]) -> None:
    async def run() -> None:
        async with httpx.AsyncClient(
            base_url=f"http://{service.plain.address}",
            limits=httpx.Limits(max_connections=1),
            trust_env=False,
        ) as client:
            await happening(client)  # type: ignore[misc]

    asyncio.run(run())
