"""What users of httpx would ask, and the lines of the corpus that answer it.

A place is a file and a phrase that stands in the answering lines as it is, so the list survives edits around it.
Where the corpus says the same thing more than once, each such place is right.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    path: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    places: tuple[Place, ...]


def _ask(text: str, *places: tuple[str, str]) -> Question:
    return Question(text, tuple(Place(path, anchor) for path, anchor in places))


ANSWERED = (
    _ask(
        "How many kinds of timeout does httpx have, and what does each control?",
        ("advanced/timeouts.md", "`connect`: the longest time to wait"),
    ),
    _ask(
        "What is the overall time limit for a request, can I cap the total duration?",
        ("advanced/timeouts.md", "httpx has no timeout for a request as a whole"),
    ),
    _ask(
        "How do I make it wait forever and never time out?",
        ("advanced/timeouts.md", "`timeout=None` disables the timeout"),
        ("quickstart.md", "or `timeout=None` to wait for ever"),
    ),
    _ask(
        "Which package do I need to install for SOCKS proxies?",
        ("index.md", "`httpx[socks]` adds SOCKS proxy support"),
        ("advanced/proxies.md", "SOCKS5 proxies need the extra `httpx[socks]`"),
        ("troubleshooting.md", "a `socks5://` proxy needs `httpx[socks]`"),
    ),
    _ask("What is the oldest Python version I can run this on?", ("index.md", "It needs Python 3.8 or newer")),
    _ask(
        "Can I send a body with a DELETE request?",
        ("quickstart.md", 'To send a body with DELETE, use `httpx.request("DELETE", url, json=...)`.'),
        ("compatibility.md", 'Use `httpx.request("DELETE", url, json=...)`'),
    ),
    _ask(
        "How can I upload several files under the same form field?",
        ("quickstart.md", "For several files under one name, pass a list of pairs"),
    ),
    _ask(
        "How do I download a huge file without loading it all into memory?",
        ("quickstart.md", "The body is then not loaded into memory"),
    ),
    _ask(
        "What User-Agent is sent by default?",
        ("quickstart.md", "The default `User-Agent` header is"),
    ),
    _ask(
        "Does a POST become a GET after a 303 redirect?",
        ("quickstart.md", "A POST that is redirected with 301, 302 or 303 turns into a GET"),
    ),
    _ask(
        "Do I have to await response.json() in async code?",
        ("async.md", "and methods such as `response.json()` are not awaited"),
    ),
    _ask(
        "Can one AsyncClient be shared between several threads or event loops?",
        ("async.md", "Do not share it between threads"),
    ),
    _ask(
        "Does it work with trio or curio?",
        ("async.md", "curio and other async libraries are not supported"),
        ("async.md", "With trio nothing has to be configured"),
    ),
    _ask(
        "How do I switch HTTP/2 on?",
        ("http2.md", "To enable HTTP/2, install the extra `httpx[http2]` and pass `http2=True`"),
    ),
    _ask(
        "How can I check which HTTP version a response came over?",
        ("http2.md", '`response.http_version` is `"HTTP/1.0"`'),
        ("troubleshooting.md", "Print `response.http_version`"),
    ),
    _ask("Is HTTP/3 supported?", ("http2.md", "HTTP/3 is not supported")),
    _ask(
        "How do I make the client ignore proxy settings from the environment?",
        ("environment_variables.md", "With `trust_env=False` httpx ignores all of these variables"),
        ("advanced/proxies.md", "Pass `trust_env=False` to ignore them"),
        ("troubleshooting.md", "pass `trust_env=False`"),
    ),
    _ask(
        "Can NO_PROXY contain a CIDR address range?",
        ("environment_variables.md", "An address range such as `192.168.0.0/16` is not understood"),
    ),
    _ask(
        "Is REQUESTS_CA_BUNDLE respected?",
        ("environment_variables.md", "The variables `REQUESTS_CA_BUNDLE` and `CURL_CA_BUNDLE` are not read"),
        ("compatibility.md", "httpx does not read `REQUESTS_CA_BUNDLE`"),
    ),
    _ask(
        "Which exception should I catch for any failed request, including bad statuses?",
        ("exceptions.md", "Catch `httpx.HTTPError` for everything"),
        ("quickstart.md", "`httpx.HTTPError` covers both failed requests"),
    ),
    _ask(
        "When is RemoteProtocolError raised?",
        ("exceptions.md", "`RemoteProtocolError` means that the server broke the protocol"),
    ),
    _ask(
        "Is InvalidURL a subclass of HTTPError?",
        ("exceptions.md", "`InvalidURL` means that the URL cannot be parsed"),
        ("exceptions.md", "`httpx.HTTPError` does not cover `InvalidURL`"),
        ("exceptions.md", "`HTTPError`, `InvalidURL` and `CookieConflict` derive directly"),
        ("exceptions.md", "not an `HTTPError`"),
    ),
    _ask(
        "What happens when two cookies have the same name?",
        ("exceptions.md", "several cookies have that name"),
    ),
    _ask(
        "How do I turn on debug logging to see what happens on the network?",
        ("logging.md", "Set the level `DEBUG` to see the connection being made"),
        ("logging.md", "log each step of the networking, at level `DEBUG`"),
    ),
    _ask(
        "How can I silence the INFO lines that are logged for each request?",
        ("logging.md", "can silence the request lines by raising the level of the logger"),
    ),
    _ask(
        "I get CERTIFICATE_VERIFY_FAILED, what does it mean?",
        ("troubleshooting.md", "means that the server's certificate was not"),
    ),
    _ask(
        "Why do I see 'Connection refused'?",
        ("troubleshooting.md", "Connection refused` means that nothing listens"),
    ),
    _ask(
        "Why is there a TypeError about an unexpected keyword argument 'proxies'?",
        ("troubleshooting.md", "`proxies=` and `app=` were removed in httpx 0.28"),
        ("advanced/proxies.md", "There is no `proxies=` argument in httpx 0.28"),
    ),
    _ask(
        "What replaces requests.Session when I migrate?",
        ("compatibility.md", "| `requests.Session()` | `httpx.Client()` |"),
    ),
    _ask(
        "Is there an equivalent of response.ok?",
        ("compatibility.md", "| `response.ok` | `response.is_success` |"),
        ("compatibility.md", "`response.is_success` is true for 2xx only, whereas `response.ok`"),
    ),
    _ask(
        "What happens to query parameters whose value is None?",
        ("compatibility.md", "requests leaves out parameters whose value is `None`"),
        ("quickstart.md", "The values `True`, `False` and `None` become"),
    ),
    _ask(
        "Which arguments does httpx.Client take and what are their defaults?",
        ("api.md", "| Argument | Default | Meaning |"),
    ),
    _ask("How do I get a modified copy of a URL object?", ("api.md", "`copy_with()` gives a changed copy")),
    _ask(
        "Can I set a base URL so that I only have to write paths?",
        ("advanced/clients.md", "`base_url=` is put before relative URLs"),
    ),
    _ask(
        "How are headers set on the client combined with those of a single request?",
        ("advanced/clients.md", "`headers`, `params` and `cookies` are merged"),
    ),
    _ask(
        "How do I limit the number of redirects?",
        ("advanced/clients.md", "Change it with `max_redirects=`"),
    ),
    _ask(
        "How do I use digest authentication?",
        ("advanced/authentication.md", "`httpx.DigestAuth` sends a request, gets a 401 response"),
        ("quickstart.md", "Digest authentication uses `httpx.DigestAuth`"),
    ),
    _ask(
        "How do I send a bearer token?",
        ("advanced/authentication.md", "A token that does not change is simply a header of the client"),
    ),
    _ask(
        "Is the Authorization header kept when a redirect goes to a different host?",
        ("advanced/authentication.md", "The `Authorization` header is removed when a redirect leads to another origin"),
    ),
    _ask(
        "How do I turn off certificate verification?",
        ("advanced/ssl.md", "`verify=False` accepts any certificate"),
        ("advanced/ssl.md", "## Disabling verification: verify=False"),
    ),
    _ask(
        "How do I use mutual TLS with a client certificate?",
        ("advanced/ssl.md", "For a client certificate (mutual TLS), load it into the context"),
    ),
    _ask(
        "How can I route only some hosts through a proxy?",
        ("advanced/proxies.md", "Map a pattern to `None`"),
        ("advanced/proxies.md", "`mounts=` maps a URL pattern to a transport"),
        ("advanced/proxies.md", "or `mounts=` to choose by URL"),
    ),
    _ask(
        "My proxy needs a username and password, where do they go?",
        ("advanced/proxies.md", "Put the user name and password into the proxy URL"),
        ("environment_variables.md", "User name and password for the proxy can be part of the address"),
    ),
    _ask(
        "How many connections does the pool hold at most?",
        ("advanced/resource-limits.md", "`max_connections`: the largest number of connections open at once"),
    ),
    _ask(
        "How long are idle connections kept open?",
        ("advanced/resource-limits.md", "`keepalive_expiry`: seconds that an idle connection is kept open"),
    ),
    _ask(
        "How do I retry failed connections?",
        ("advanced/transports.md", "`httpx.HTTPTransport(retries=3)` makes up to three"),
        ("index.md", "`httpx.HTTPTransport(retries=1)` retries connecting only"),
        ("compatibility.md", "requests mounts an adapter with a number of retries"),
    ),
    _ask(
        "How can I mock responses in my tests?",
        ("advanced/transports.md", "`httpx.MockTransport(handler)` calls your function"),
    ),
    _ask(
        "Can I talk to a server over a Unix domain socket?",
        ("advanced/transports.md", "connects to that socket, whatever host the URL has"),
    ),
    _ask(
        "Can I call a FastAPI or other ASGI application directly without running a server?",
        ("advanced/transports.md", "`httpx.ASGITransport(app=app)` calls an ASGI application"),
    ),
    _ask(
        "How do I run a function before every request is sent?",
        ("advanced/event-hooks.md", "A `request` hook runs when the request is complete"),
        ("advanced/event-hooks.md", "Event hooks are functions that a client calls for every request"),
    ),
    _ask(
        "Why can't I read response.text inside a response hook?",
        ("advanced/event-hooks.md", "Inside a response hook, call `response.read()` before"),
    ),
    _ask(
        "How do I connect to an IP address but verify the certificate for a host name?",
        ("advanced/extensions.md", "Use it to connect to an IP address while verifying a host name"),
        ("advanced/ssl.md", "The `sni_hostname` extension sets the name"),
    ),
    _ask(
        "What does the trace extension do?",
        ("advanced/extensions.md", '`extensions={"trace": function}` calls the function'),
    ),
    _ask(
        "What encoding is used when the server does not send a charset?",
        ("advanced/text-encodings.md", "Without a charset, httpx uses UTF-8"),
        ("compatibility.md", "Without a charset in the `Content-Type` header, httpx decodes text as UTF-8"),
        ("troubleshooting.md", "The server did not name its character set, so httpx used UTF-8"),
        ("api.md", "encoding of text without a charset"),
    ),
    _ask(
        "How do I plug in chardet to detect the encoding automatically?",
        ("advanced/text-encodings.md", "`default_encoding` can be a function that takes the bytes"),
        ("advanced/text-encodings.md", "With `chardet` the function would be"),
    ),
)

ABSENT = (
    "How do I verify the signature of an incoming webhook?",
    "Does httpx support GraphQL subscriptions?",
    "How do I start a WebSocket server?",
    "Which database does httpx store its cache in?",
    "How do I configure a retry budget with exponential jitter?",
    "Can I generate a client from an OpenAPI schema?",
    "How do I limit the bandwidth of a download to 1 MB per second?",
    "How do I publish messages to a Kafka topic?",
    "Is there a circuit breaker?",
    "How do I enable response caching with ETags?",
    "How do I use Kerberos or NTLM single sign-on?",
    "How do I set up a rate limiter for an API with quotas?",
)
