"""A local OpenAI-compatible server that answers as a test tells it, with all the faults that real ones have."""

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-planted-0123456789abcdef"


@dataclass
class Reply:
    """One answer: a JSON body or raw bytes, or server-sent events; then perhaps a fault."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    events: Sequence[Any] | None = None
    done: bool = True
    """Whether the events end with [DONE]."""
    hang: float = 0
    """Seconds of silence before anything is sent."""
    cut: bool = False
    """Whether the connection breaks off after what was sent."""


def completion(content: str | None = "done", calls: Sequence[Any] = (), finish: str | None = None, **more: Any) -> Any:
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = list(calls)
    choice = {"index": 0, "message": message, "finish_reason": finish or ("tool_calls" if calls else "stop")}
    usage = {"prompt_tokens": 100, "completion_tokens": 40, "prompt_tokens_details": {"cached_tokens": 64}}
    return {"id": "c1", "object": "chat.completion", "model": "m-2026", "choices": [choice], "usage": usage, **more}


def call(name: str, arguments: str, call_id: str | None = "x") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"model": "m-2026", "choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


@dataclass
class Server:
    url: str
    requests: list[dict[str, Any]]
    keys: list[str | None]
    headers: list[dict[str, str]]


@contextmanager
def model_server(replies: Sequence[Reply | Any]) -> Iterator[Server]:
    """Serves the replies in turn, the last one for ever; a plain object is a completion's body."""
    waiting = [reply if isinstance(reply, Reply) else Reply(reply) for reply in replies]
    lock = threading.Lock()
    seen = Server("", [], [], [])
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            with lock:
                seen.requests.append(json.loads(self.rfile.read(length)))
                seen.keys.append(self.headers["authorization"])
                seen.headers.append({key.lower(): value for key, value in self.headers.items()})
                reply = waiting.pop(0) if len(waiting) > 1 else waiting[0]
            over.wait(reply.hang)
            if over.is_set():
                self.close_connection = True
                return
            if reply.events is not None:
                self._stream(reply)
            else:
                raw = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
                self._head(reply, {"content-type": "application/json", "content-length": str(len(raw))})
                self.wfile.write(raw[: len(raw) // 2] if reply.cut else raw)
            if reply.cut:
                self.close_connection = True

        def _head(self, reply: Reply, headers: dict[str, str]) -> None:
            self.send_response(reply.status)
            for key, value in {**headers, **reply.headers}.items():
                self.send_header(key, value)
            self.end_headers()

        def _stream(self, reply: Reply) -> None:
            self._head(reply, {"content-type": "text/event-stream", "connection": "close"})
            for event in reply.events or ():
                if isinstance(event, float):
                    time.sleep(event)
                    continue
                text = event if isinstance(event, str) else json.dumps(event)
                self.wfile.write(f"data: {text}\n\n".encode())
                self.wfile.flush()
            if reply.done and not reply.cut:
                self.wfile.write(b"data: [DONE]\n\n")
            self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            """The test looks at what was asked; nobody needs a line on stderr."""

        def handle(self) -> None:
            try:
                super().handle()
            except ConnectionError:
                return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    seen.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield seen
    finally:
        over.set()
        server.shutdown()
        thread.join()
        server.server_close()
