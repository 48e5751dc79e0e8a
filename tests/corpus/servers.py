"""The pretend service of the corpus, on loopback: examples are only true if a real server agrees.

One service answers in four ways: plain HTTP, TLS (HTTP/1.1 and HTTP/2), behind an HTTP proxy, and
behind a SOCKS5 proxy. Whatever host a proxy is asked for, this service answers in its place.
"""

from __future__ import annotations

import base64
import contextlib
import email.parser
import email.policy
import gzip
import hashlib
import itertools
import json
import re
import socket
import socketserver
import ssl
import struct
import tempfile
import threading
import zlib
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, parse_qsl, urlsplit
from urllib.request import parse_http_list, parse_keqv_list

import brotli  # type: ignore[import-untyped]
import h2.config
import h2.connection
import h2.events
import h2.exceptions
import trustme
import zstandard

LOOPBACK = "127.0.0.1"
NAMES_IN_THE_CERTIFICATE = (
    "www.example.org",
    "api.example.org",
    "example.org",
    "silent.example.org",
    "blocked.example.org",
    LOOPBACK,
)
USER, PASSWORD = "ada", "secret"
CHALLENGE = 'Digest realm="example", nonce="abc123", qop="auth", algorithm=SHA-256'


@dataclass(frozen=True)
class Received:
    """A request, in the same form whichever protocol brought it."""

    method: str
    scheme: str
    host: str
    target: str
    headers: dict[str, str]
    body: bytes
    http_version: str
    connection: int
    proxy: str | None = None
    client_certificate: str | None = None

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> str:
        return urlsplit(self.target).query


@dataclass(frozen=True)
class Reply:
    """A response, in the same form whichever protocol takes it away."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = field(default=())


def _text(text: str, *headers: tuple[str, str], status: int = 200) -> Reply:
    return Reply(status, text.encode(), (("content-type", "text/plain; charset=utf-8"), *headers))


def _json(value: object, *headers: tuple[str, str], status: int = 200) -> Reply:
    return Reply(status, json.dumps(value).encode(), (("content-type", "application/json"), *headers))


def _parsed_json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


def _single(values: list[str]) -> str | list[str]:
    return values[0] if len(values) == 1 else values


def _multipart(content_type: str, body: bytes) -> tuple[dict[str, str], dict[str, list[str]]]:
    head = f"Content-Type: {content_type}\r\n\r\n".encode()
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
    form: dict[str, str] = {}
    files: dict[str, list[str]] = {}
    for part in message.iter_parts():
        name = str(part.get_param("name", header="content-disposition"))
        content = part.get_payload(decode=True)
        text = content.decode() if isinstance(content, bytes) else ""
        filename = part.get_filename()
        if filename is None:
            form[name] = text
        else:
            files[name] = [filename, part.get_content_type(), text]
    return form, files


def _echo(request: Received, *headers: tuple[str, str]) -> Reply:
    content_type = request.headers.get("content-type", "")
    form: dict[str, str] = {}
    files: dict[str, list[str]] = {}
    if content_type.startswith("multipart/form-data"):
        form, files = _multipart(content_type, request.body)
    elif content_type == "application/x-www-form-urlencoded":
        form = dict(parse_qsl(request.body.decode()))
    return _json(
        {
            "method": request.method,
            "url": f"{request.scheme}://{request.host}{request.target}",
            "args": {k: _single(v) for k, v in parse_qs(request.query, True).items()},
            "headers": request.headers,
            "text": request.body.decode("utf-8", "replace"),
            "json": _parsed_json(request.body),
            "form": form,
            "files": files,
            "http_version": request.http_version,
            "connection": request.connection,
            "proxy": request.proxy,
            "proxy_auth": request.headers.get("proxy-authorization"),
            "client_certificate": request.client_certificate,
        },
        *headers,
    )


def _sha256(*parts: str) -> str:
    return hashlib.sha256(":".join(parts).encode()).hexdigest()


def _digest_is_right(request: Received) -> bool:
    scheme, _, fields = request.headers.get("authorization", "").partition(" ")
    if scheme != "Digest":
        return False
    given = parse_keqv_list(parse_http_list(fields))
    who = _sha256(USER, "example", PASSWORD)
    what = _sha256(request.method, given["uri"])
    expected = _sha256(who, "abc123", given["nc"], given["cnonce"], given["qop"], what)
    return given["username"] == USER and given["response"] == expected


def _encoded(coding: str, body: bytes) -> Reply:
    return Reply(200, body, (("content-type", "application/json"), ("content-encoding", coding)))


def _authenticated(request: Received) -> Reply | None:
    given = request.headers.get("authorization", "")
    if request.path == "/basic":
        expected = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if given == f"Basic {expected}":
            return _echo(request)
        return _text("who are you?", ("www-authenticate", 'Basic realm="example"'), status=401)
    if request.path == "/digest":
        if _digest_is_right(request):
            return _echo(request)
        return _text("who are you?", ("www-authenticate", CHALLENGE), status=401)
    if request.path == "/token":
        if request.method == "POST":
            return _json({"token": "fresh"})
        return _echo(request) if given == "Bearer fresh" else _text("stale", status=401)
    return None


def _compressed(path: str) -> Reply | None:
    if path == "/gzip":
        return _encoded("gzip", gzip.compress(b'{"encoded": "gzip"}'))
    if path == "/deflate":
        return _encoded("deflate", zlib.compress(b'{"encoded": "deflate"}'))
    if path == "/brotli":
        return _encoded("br", brotli.compress(b'{"encoded": "br"}'))
    if path == "/zstd":
        return _encoded("zstd", zstandard.ZstdCompressor().compress(b'{"encoded": "zstd"}'))
    if path == "/bad-gzip":
        return _encoded("gzip", b"this was never compressed")
    return None


def _redirected(path: str) -> Reply | None:
    if path == "/loop":
        return _text("again", ("location", "/loop"), status=302)
    if path == "/redirect-out":
        return _text("elsewhere", ("location", "https://api.example.org/echo"), status=302)
    if path == "/redirect-nowhere":
        return _text("nowhere", ("location", "https://www.example.org:port/"), status=302)
    if found := re.fullmatch(r"/redirect/(\d+)", path):
        left = int(found[1]) - 1
        return _text("moved", ("location", f"/redirect/{left}" if left else "/echo"), status=302)
    if found := re.fullmatch(r"/redirect-with/(\d+)", path):
        return _text("moved", ("location", "/echo"), status=int(found[1]))
    return None


def answer(request: Received) -> Reply:
    """What the pretend service says to a request."""
    path = request.path
    if reply := _authenticated(request) or _compressed(path) or _redirected(path):
        return reply
    if path == "/":
        return Reply(200, b"<h1>Example</h1>", (("content-type", "text/html; charset=utf-8"),))
    if path == "/echo":
        return _echo(request)
    if path == "/cookies/set":
        return _echo(request, *(("set-cookie", f"{k}={v}; Path=/") for k, v in parse_qsl(request.query)))
    if path == "/links":
        return _text("page 1", ("link", '<https://www.example.org/links?page=2>; rel="next"'))
    if found := re.fullmatch(r"/status/(\d+)", path):
        return _text("", status=int(found[1]))
    if found := re.fullmatch(r"/lines/(\d+)", path):
        return _text("".join(f"line {n}\n" for n in range(1, int(found[1]) + 1)))
    if found := re.fullmatch(r"/bytes/(\d+)", path):
        return Reply(200, b"x" * int(found[1]), (("content-type", "application/octet-stream"),))
    return _text("no such page", status=404)


class Server(socketserver.ThreadingTCPServer):
    """A listener whose connections all end when it is told to stop."""

    allow_reuse_address = True
    daemon_threads = False
    request_queue_size = 64
    connections = itertools.count(1)

    def __init__(
        self,
        handler: type[Connection],
        tls: ssl.SSLContext,
        proxy: str | None = None,
        starts_with_tls: bool = False,
    ) -> None:
        self.tls = tls
        self.proxy = proxy
        self.starts_with_tls = starts_with_tls
        self.stopping = threading.Event()
        self.open_sockets: set[socket.socket] = set()
        super().__init__((LOOPBACK, 0), handler, bind_and_activate=False)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        self.server_bind()
        self.server_activate()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self.server_address[1]}"

    def stop(self) -> None:
        self.stopping.set()
        self.shutdown()
        for open_socket in list(self.open_sockets):
            with contextlib.suppress(OSError):
                open_socket.shutdown(socket.SHUT_RDWR)
        self.server_close()
        self._thread.join()


class Connection(BaseHTTPRequestHandler):
    """One connection: HTTP/1.1 to begin with, TLS and HTTP/2 when the client asks for them."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server
    connection: socket.socket
    request: socket.socket

    def setup(self) -> None:
        self.number = next(Server.connections)
        self.proxy = self.server.proxy
        self.tunnel_host: str | None = None
        self.scheme = "http"
        self.server.open_sockets.add(self.request)
        super().setup()

    def finish(self) -> None:
        with contextlib.suppress(OSError):
            super().finish()
        self.server.open_sockets.discard(self.connection)
        self.connection.close()

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError, ssl.SSLError, TimeoutError):
            if self.begin():
                super().handle()

    def begin(self) -> bool:
        return self.start_tls() if self.server.starts_with_tls else True

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: a request is no news."""

    def start_tls(self) -> bool:
        """Take up TLS; false if the connection was HTTP/2 and is therefore over already."""
        plain = self.connection
        self.connection = self.server.tls.wrap_socket(plain, server_side=True)
        self.server.open_sockets.discard(plain)
        self.server.open_sockets.add(self.connection)
        self.rfile.close()
        self.rfile = self.connection.makefile("rb")
        self.scheme = "https"
        if self.connection.selected_alpn_protocol() != "h2":
            return True
        self.serve_http2()
        return False

    def handle_one_request(self) -> None:
        self.raw_requestline = self.rfile.readline(65537)
        if not self.raw_requestline or not self.parse_request():
            self.close_connection = True
        elif self.command == "CONNECT":
            self.connect()
        else:
            self.exchange()

    def connect(self) -> None:
        self.tunnel_host = self.path.rpartition(":")[0]
        if self.tunnel_host.startswith("blocked."):
            self.send(Reply(403))
            return
        self.connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        if self.tunnel_host.startswith("silent."):
            self.be_silent()
        elif not self.start_tls():
            self.close_connection = True

    def be_silent(self) -> None:
        self.close_connection = True
        while self.connection.recv(4096):
            pass

    def received(self) -> Received:
        url = urlsplit(self.path)
        target = self.path if not url.netloc else url._replace(scheme="", netloc="").geturl()
        headers: dict[str, str] = {}
        for name, value in self.headers.items():
            headers[name.lower()] = f"{headers[name.lower()]}, {value}" if name.lower() in headers else value
        return Received(
            method=self.command,
            scheme=self.scheme,
            host=headers.get("host", ""),
            target=target or "/",
            headers=headers,
            body=self.read_body(headers),
            http_version="HTTP/1.1",
            connection=self.number,
            proxy=self.proxy,
            client_certificate=self.client_name(),
        )

    def client_name(self) -> str | None:
        if not isinstance(self.connection, ssl.SSLSocket):
            return None
        certificate: Any = self.connection.getpeercert()
        names = dict(pair[0] for pair in certificate["subject"]) if certificate else {}
        return names.get("commonName")

    def read_body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding") != "chunked":
            return self.rfile.read(int(headers.get("content-length", "0")))
        body = b""
        while size := int(self.rfile.readline() or b"0", 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def exchange(self) -> None:
        path = urlsplit(self.path).path
        if not self.misbehave(path):
            request = self.received()
            self.send(Reply(403) if request.host.startswith("blocked.") else answer(request))

    def misbehave(self, path: str) -> bool:
        """The pages on which the server breaks off, stalls or talks nonsense."""
        if found := re.fullmatch(r"/slow/([\d.]+)", path):
            self.received()
            self.server.stopping.wait(float(found[1]))
            self.send(Reply(200, b"at last"))
            return True
        if path == "/never-read":
            self.server.stopping.wait(10)
        elif path == "/stalled":
            self.connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nfirst")
            self.server.stopping.wait(10)
        elif path == "/http10":
            self.received()
            self.connection.sendall(b"HTTP/1.0 200 OK\r\n\r\nold")
        elif path == "/malformed":
            self.connection.sendall(b"THIS IS NOT HTTP\r\n\r\n")
        elif path == "/reset":
            self.received()
            linger_not = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_not)
            self.rfile.close()
            self.wfile.close()
            self.connection.close()
        elif path != "/disconnect":
            return False
        self.close_connection = True
        return True

    def send(self, reply: Reply) -> None:
        try:
            phrase = HTTPStatus(reply.status).phrase
        except ValueError:
            phrase = ""
        lines = [f"HTTP/1.1 {reply.status} {phrase}"]
        lines += [f"{name}: {value}" for name, value in reply.headers]
        lines.append(f"content-length: {len(reply.body)}")
        head = "\r\n".join(lines).encode() + b"\r\n\r\n"
        self.connection.sendall(head if self.command == "HEAD" else head + reply.body)

    def serve_http2(self) -> None:
        self.close_connection = True
        config = h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        protocol = h2.connection.H2Connection(config=config)
        protocol.initiate_connection()
        self.connection.sendall(protocol.data_to_send())
        heads: dict[int, dict[str, str]] = {}
        bodies: dict[int, bytes] = {}
        while data := self.connection.recv(65536):
            for event in protocol.receive_data(data):
                if isinstance(event, h2.events.RequestReceived):
                    assert event.stream_id is not None and event.headers is not None
                    heads[event.stream_id] = {str(k): str(v) for k, v in event.headers}
                    bodies[event.stream_id] = b""
                elif isinstance(event, h2.events.DataReceived):
                    assert event.stream_id is not None and event.data is not None
                    bodies[event.stream_id] += event.data
                    size = event.flow_controlled_length or 0
                    protocol.acknowledge_received_data(size, event.stream_id)
                elif isinstance(event, h2.events.StreamEnded):
                    assert event.stream_id is not None
                    stream = event.stream_id
                    self.answer_http2(protocol, stream, heads.pop(stream), bodies.pop(stream))
            self.connection.sendall(protocol.data_to_send())

    def answer_http2(
        self,
        protocol: h2.connection.H2Connection,
        stream: int,
        head: dict[str, str],
        body: bytes,
    ) -> None:
        headers = {name: value for name, value in head.items() if not name.startswith(":")}
        request = Received(
            method=head[":method"],
            scheme=head[":scheme"],
            host=head[":authority"],
            target=head[":path"],
            headers=headers,
            body=body,
            http_version="HTTP/2",
            connection=self.number,
            proxy=self.proxy,
            client_certificate=self.client_name(),
        )
        reply = answer(request)
        protocol.send_headers(stream, [(":status", str(reply.status)), *reply.headers])
        step = protocol.max_outbound_frame_size
        for start in range(0, len(reply.body), step):
            protocol.send_data(stream, reply.body[start : start + step])
        protocol.end_stream(stream)


class SocksConnection(Connection):
    """A connection that begins with a SOCKS5 greeting."""

    def begin(self) -> bool:
        _version, count = self.rfile.read(2)
        if 2 in self.rfile.read(count):
            self.connection.sendall(b"\x05\x02")
            self.rfile.read(1)
            self.rfile.read(self.rfile.read(1)[0])
            self.rfile.read(self.rfile.read(1)[0])
            self.connection.sendall(b"\x01\x00")
        else:
            self.connection.sendall(b"\x05\x00")
        kind = self.rfile.read(4)[3]
        self.rfile.read(4 if kind == 1 else 16 if kind == 4 else self.rfile.read(1)[0])
        port = int.from_bytes(self.rfile.read(2), "big")
        self.connection.sendall(b"\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00")
        return self.start_tls() if port == 443 else True


class Service:
    """The pretend service with all its front doors, for as long as the `with` block lasts."""

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            self.ca_file = folder / "ca.pem"
            self.client_file = folder / "client.pem"
            tls = self._certificates()
            self.plain = self._start(stack, Server(Connection, tls))
            self.tls = self._start(stack, Server(Connection, tls, starts_with_tls=True))
            self.proxy = self._start(stack, Server(Connection, tls, proxy="http"))
            self.socks = self._start(stack, Server(SocksConnection, tls, proxy="socks5"))
            closed = stack.enter_context(socket.socket())
            closed.bind((LOOPBACK, 0))
            self.closed_address = f"{LOOPBACK}:{closed.getsockname()[1]}"
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    @staticmethod
    def _start(stack: contextlib.ExitStack, server: Server) -> Server:
        stack.callback(server.stop)
        return server

    def _certificates(self) -> ssl.SSLContext:
        authority = trustme.CA()
        authority.cert_pem.write_to_path(str(self.ca_file))
        client = authority.issue_cert("client@example.org", common_name="client")
        client.private_key_and_cert_chain_pem.write_to_path(str(self.client_file))
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(*NAMES_IN_THE_CERTIFICATE).configure_cert(tls)
        authority.configure_trust(tls)
        tls.verify_mode = ssl.CERT_OPTIONAL
        tls.set_alpn_protocols(["h2", "http/1.1"])
        return tls

    @property
    def environment(self) -> dict[str, str]:
        """The variables that lead httpx to this service, whatever host it is asked for."""
        return {
            "HTTP_PROXY": f"http://{self.proxy.address}",
            "HTTPS_PROXY": f"http://{self.proxy.address}",
            "NO_PROXY": LOOPBACK,
            "SSL_CERT_FILE": str(self.ca_file),
        }

    @property
    def addresses(self) -> dict[str, str]:
        """The addresses that documents write, and the ones that they really have."""
        return {
            f"{LOOPBACK}:8000": self.plain.address,
            f"{LOOPBACK}:8443": self.tls.address,
            f"{LOOPBACK}:8080": self.proxy.address,
            f"{LOOPBACK}:1080": self.socks.address,
            f"{LOOPBACK}:9999": self.closed_address,
        }
