"""Any OpenAI-compatible server, through the openai SDK (chat completions).

The SDK is imported at the first request, and its own retries are off: each attempt is ours, and recorded. One client
per event loop, closed with the loop. Keys go into the client and nowhere else: error texts are freed of them.
"""

import asyncio
import contextlib
import json
import os
import time
import weakref
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agent.models.accumulate import Accumulator
from agent.models.retrying import Failed, Retries, attempted, retry_after
from agent.models.servers import NoServer, Server, server_for, unconfigured
from agent.models.wire import error_in, first_choice, read, to_response, to_usage
from agent.ports import FirstToken, ModelInfo, Tell, TextDelta
from agent.values import Charge, Request, Response

if TYPE_CHECKING:
    from openai import AsyncOpenAI


class OpenAIModel:
    """A model of an OpenAI-compatible server.

    Without arguments, the model that the environment configures (`LLM_MODEL`, `LLM_BASE_URL`, `LLM_API_KEY`, see
    README). With `stream`, text is told as it comes. `timeout` is for one attempt, in seconds: to the first byte, and
    between two pieces. Where no server is configured, it can be made and its runs be replayed, but the first request
    raises NoServer; a model without a name raises it at once.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        extra_body: Mapping[str, Any] | None = None,
        stream: bool = False,
        timeout: float = 60.0,
        retries: Retries = Retries(),
    ) -> None:
        self._missing: NoServer | None = None
        if base_url is not None:
            server = Server(model=model or "default", base_url=base_url.rstrip("/"), api_key=api_key or "none")
        else:
            try:
                server = server_for(model, os.environ)
            except NoServer as error:
                self._missing, server = error, unconfigured(model, error)
        self.info = ModelInfo(name=server.model, provider=server.provider)
        self._server = server
        self._key = api_key or server.api_key
        self._extra_body = dict(server.extra_body if extra_body is None else extra_body)
        self._stream = stream
        self._timeout = timeout
        self._retries = retries
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = weakref.WeakKeyDictionary()

    def check(self) -> None:
        """Raises NoServer where no server is configured."""
        if self._missing is not None:
            raise self._missing

    async def respond(self, request: Request, tell: Tell) -> Response:
        self.check()
        client = await self._client()
        charges: list[Charge] = []

        async def attempt() -> Response:
            try:
                return await self._ask(client, request, tell)
            except Failed as error:
                if error.charge is not None:
                    charges.append(error.charge)
                raise
            except asyncio.CancelledError as error:  # it was under way, and nobody will say what it cost
                charges.append(getattr(error, "charge", None) or Charge(usage=None))
                raise

        try:
            response = await attempted(attempt, self._retries, tell)
        except BaseException as error:
            error.charges = tuple(charges)  # type: ignore[attr-defined]  # for the record, see tracing.run_trace
            raise
        return replace(response, charges=tuple(charges)) if charges else response

    async def _ask(self, client: "AsyncOpenAI", request: Request, tell: Tell) -> Response:
        """One attempt. Raises Failed."""
        import openai

        body: dict[str, Any] = {
            **request.settings,
            "model": self._server.model,
            "messages": [message.to_dict() for message in request.messages],
        }
        if request.tools:
            body["tools"] = [schema.to_dict() for schema in request.tools]
        if self._stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        body |= self._extra_body
        try:
            async with client.chat.completions.with_streaming_response.create(
                model=body.pop("model"), messages=body.pop("messages"), extra_body=body
            ) as raw:
                if self._stream and "json" not in (raw.headers.get("content-type") or ""):
                    return await self._streamed(raw, request, tell)
                text = await raw.text()
        except openai.APIStatusError as error:
            wait = retry_after(error.response.headers.get("retry-after"), time.time())
            charge = _charge(error.body if isinstance(error.body, Mapping) else {}, only_known=True)
            raise Failed(self._clean(_said(error)), status=error.status_code, wait=wait, charge=charge) from None
        except openai.APITimeoutError:
            text = f"no answer from {self._server.base_url} within {self._timeout:g} seconds"
            raise Failed(text, charge=Charge(usage=None)) from None
        except openai.APIConnectionError as error:
            cause = error.__cause__
            text = f"{type(cause).__name__}: {cause}" if cause is not None else str(error)
            raise Failed(self._clean(f"cannot reach {self._server.base_url}: {text}")) from None
        return self._read(text, request)

    def _read(self, text: str, request: Request) -> Response:
        """An unstreamed answer; a body that holds none is the provider's error, also with status 200."""
        try:
            completion = json.loads(text)
        except ValueError:
            start = " ".join(text[:80].split())
            raise Failed(
                self._clean(f"the answer is not JSON: {start!r}" if start else "the answer is empty")
            ) from None
        _raise_error(completion, self._clean)
        try:
            message, finish = first_choice(completion)
            usage, model = read(completion, "usage"), read(completion, "model")
            tier = read(completion, "service_tier")
            return to_response(message, step=request.step, usage=usage, finish=finish, model=model, tier=tier)
        except (TypeError, ValueError) as error:
            raise Failed(self._clean(str(error)), charge=_charge(completion)) from None

    async def _streamed(self, raw: Any, request: Request, tell: Tell) -> Response:
        answer = Accumulator()
        is_done = False
        try:
            async for line in raw.iter_lines():
                data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
                if data == "[DONE]":
                    is_done = True
                    break
                if not data:
                    continue
                was_empty = answer.is_empty
                text = answer.add(_chunk(data))
                if was_empty and not answer.is_empty:
                    tell(FirstToken())
                if text:
                    tell(TextDelta(text))
                if answer.error is not None:
                    _raise_error({"error": answer.error, **answer.told()}, self._clean)
        except asyncio.CancelledError as error:
            error.charge = _charge(answer.told())  # type: ignore[attr-defined]
            raise
        except Exception as error:
            if isinstance(error, Failed):
                if error.charge is None and not answer.is_empty:
                    error.charge = _charge(answer.told())
                raise
            text = self._clean(f"the stream broke off: {type(error).__name__}: {error}")
            raise Failed(text, charge=_charge(answer.told(), only_known=answer.is_empty)) from None
        if not is_done and answer.finish is None:
            charge = _charge(answer.told(), only_known=answer.is_empty)
            raise Failed("the stream ended before the answer did", charge=charge)
        try:
            return to_response(
                answer.message(), step=request.step, usage=answer.usage, finish=answer.finish, model=answer.model,
                tier=answer.tier,
            )  # fmt: skip
        except (TypeError, ValueError) as error:
            raise Failed(self._clean(str(error)), charge=_charge(answer.told())) from None

    def _clean(self, text: str) -> str:
        """A server's words without our key."""
        return text.replace(self._key, "[api key]") if len(self._key) >= 6 else text

    async def _client(self) -> "AsyncOpenAI":
        loop = asyncio.get_running_loop()
        held = self._clients.get(loop)
        if held is None:
            # The loop closes its open asynchronous generators before it ends itself, and with this one the client.
            holder = self._open_client()
            held = self._clients[loop] = (holder, await anext(holder))
        client: AsyncOpenAI = held[1]
        return client

    async def _open_client(self) -> "AsyncGenerator[AsyncOpenAI, None]":
        import openai

        # Its own environment rules are switched off: neither another key nor an organisation goes to this server.
        headers = {"OpenAI-Organization": openai.Omit(), "OpenAI-Project": openai.Omit()}
        client = openai.AsyncOpenAI(
            api_key=self._key,
            base_url=self._server.base_url,
            timeout=self._timeout,
            max_retries=0,
            default_headers=headers,  # type: ignore[arg-type]
        )
        try:
            yield client
        finally:
            with contextlib.suppress(Exception):
                await client.close()


def _chunk(data: str) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        raise Failed(f"the stream holds a line that is not JSON: {data[:80]!r}") from None


def _raise_error(completion: Any, clean: Any) -> None:
    error = error_in(completion)
    if not error:
        return
    text = read(error, "message") if isinstance(error, Mapping) else error
    code = read(error, "code") if isinstance(error, Mapping) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else None
    charge = _charge(completion, only_known=True)
    raise Failed(clean(f"the provider answered with an error: {text}"), status=status, charge=charge)


def _charge(completion: Any, *, only_known: bool = False) -> Charge | None:
    """What a failed attempt is charged for, by what came of it. With `only_known`, None where nothing says so: an error
    costs nothing by itself."""
    usage = to_usage(read(completion, "usage"))
    is_known = usage.input is not None and usage.output is not None
    if only_known and not is_known:
        return None
    model, tier = read(completion, "model"), read(completion, "service_tier")
    return Charge(
        usage=usage if is_known else None,
        model=model if isinstance(model, str) else None,
        tier=tier if isinstance(tier, str) else None,
    )


def _said(error: Any) -> str:
    """A status error in words: the status, and the server's message."""
    body = error.body
    message = read(body, "message") if isinstance(body, Mapping) else None
    text = message or " ".join(str(error.response.text)[:200].split()) if _is_read(error) else message
    return f"status {error.status_code}: {text or 'no further words'}"


def _is_read(error: Any) -> bool:
    try:
        return bool(error.response.text is not None)
    except Exception:  # noqa: BLE001 - a response whose body was not read
        return False
