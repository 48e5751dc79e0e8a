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
    _ask(
        "What is the default timeout?",
        ("advanced/timeouts.md", "Each of the four is 5.0 seconds"),
        ("advanced/timeouts.md", "httpx has timeouts everywhere and by default"),
        ("quickstart.md", "Every request has a timeout: by default"),
        ("compatibility.md", "httpx has a default timeout of 5 seconds"),
    ),
    _ask(
        "Can I set different timeouts for connecting and for reading?",
        ("advanced/timeouts.md", "means 60 seconds to connect"),
    ),
    _ask(
        "Are timed out requests retried?",
        ("advanced/timeouts.md", "A `ReadTimeout` is never retried"),
        ("advanced/transports.md", "Retries cover connecting only"),
    ),
    _ask(
        "Does httpx follow redirects automatically?",
        ("quickstart.md", "httpx does not follow redirects by default"),
        ("compatibility.md", "httpx does not follow redirects by default"),
        ("troubleshooting.md", "httpx does not follow redirects by default"),
        ("index.md", "Redirects are not followed by default"),
    ),
    _ask(
        "How do I post a JSON body?",
        ("quickstart.md", "`json=` encodes the value"),
    ),
    _ask(
        "How do I send form data?",
        ("quickstart.md", "A dictionary in `data=` is sent as an HTML form"),
    ),
    _ask(
        "What's the difference between response.text and response.content?",
        ("quickstart.md", "`response.text` is the decoded text"),
    ),
    _ask(
        "How do I make httpx raise an exception on 404?",
        ("quickstart.md", "call `response.raise_for_status()`"),
        ("index.md", "call `response.raise_for_status()`"),
        ("exceptions.md", "`HTTPStatusError` is raised by `response.raise_for_status()`"),
    ),
    _ask(
        "How can I show a progress bar while downloading?",
        ("quickstart.md", "suits a progress bar"),
        ("advanced/clients.md", "## Watching the progress of a download"),
    ),
    _ask(
        "How do I make a lot of requests concurrently?",
        ("async.md", "`asyncio.gather` runs requests concurrently"),
    ),
    _ask(
        "How do I close an async client?",
        ("async.md", "Closing a client: `await client.aclose()`"),
        ("async.md", "Use `async with`, or call"),
    ),
    _ask(
        "Why is HTTP/2 not used for plain http URLs?",
        ("http2.md", "HTTP/2 is negotiated in the TLS handshake"),
    ),
    _ask(
        "What do I gain from HTTP/2?",
        ("http2.md", "HTTP/2 helps when many requests go to one host"),
        ("http2.md", "Many requests share one TCP connection"),
    ),
    _ask(
        "Which environment variables are read?",
        ("environment_variables.md", "httpx reads a few environment variables"),
        ("environment_variables.md", "| `HTTP_PROXY` | proxy for"),
    ),
    _ask(
        "Does the client read my .netrc file?",
        ("advanced/authentication.md", "httpx does not read a netrc file by itself"),
        ("environment_variables.md", "httpx does not read a netrc file unless"),
        ("compatibility.md", "httpx does not use a netrc file unless"),
        ("advanced/authentication.md", "looks up the host in a netrc file"),
    ),
    _ask(
        "How do I write a custom authentication scheme that refreshes tokens?",
        ("advanced/authentication.md", "Subclass `httpx.Auth` and write `auth_flow`"),
        ("advanced/authentication.md", "This one fetches a new token"),
    ),
    _ask(
        "How can I turn off auth for a single request?",
        ("advanced/authentication.md", "`auth=None` on a request switches off"),
        ("advanced/clients.md", "`auth=None` on a request sends no authentication"),
    ),
    _ask(
        "Can I use a self-signed certificate?",
        ("advanced/ssl.md", "Make an `ssl.SSLContext` and pass it as"),
        ("troubleshooting.md", "For a private authority, trust it"),
    ),
    _ask(
        "How do I trust the certificates of my operating system?",
        ("advanced/ssl.md", "To trust the authorities of the operating system"),
    ),
    _ask(
        "Can I use SOCKS5 proxies?",
        ("advanced/proxies.md", "SOCKS5 proxies need the extra"),
    ),
    _ask(
        "What happens if the proxy refuses the connection?",
        ("advanced/proxies.md", "When the proxy refuses the tunnel"),
        ("exceptions.md", "`ProxyError` means that the proxy refused"),
    ),
    _ask(
        "What happens when all connections in the pool are busy?",
        ("advanced/resource-limits.md", "A request that finds no free connection waits"),
        ("troubleshooting.md", "All connections are in use"),
        ("advanced/timeouts.md", "A `PoolTimeout` means that all connections"),
    ),
    _ask(
        "How do I disable keep-alive?",
        ("advanced/resource-limits.md", "`max_keepalive_connections=0` closes each connection"),
    ),
    _ask(
        "Where can I set the source IP address that connections come from?",
        ("advanced/transports.md", "local address to connect from"),
    ),
    _ask(
        "How do I test my Flask or Django app without a network?",
        ("advanced/transports.md", "`httpx.WSGITransport(app=app)` calls a WSGI application"),
    ),
    _ask(
        "How do I write my own transport class?",
        ("advanced/transports.md", "Subclass `httpx.BaseTransport` and write"),
    ),
    _ask(
        "Are hooks called for redirected requests too?",
        ("advanced/event-hooks.md", "Hooks run once for each request that is really sent"),
    ),
    _ask(
        "How do I get the TLS version of a connection?",
        ("advanced/extensions.md", 'stream.get_extra_info("ssl_object").version()'),
        ("advanced/extensions.md", "`network_stream` gives access"),
    ),
    _ask(
        "How can I override the SNI hostname?",
        ("advanced/extensions.md", "`sni_hostname` sets the server name"),
        ("advanced/ssl.md", "The `sni_hostname` extension sets"),
    ),
    _ask(
        "How do I change the character encoding of a response?",
        ("advanced/text-encodings.md", "Assign `response.encoding` before the first use"),
        ("troubleshooting.md", "Set `response.encoding` before"),
    ),
    _ask(
        "What does response.json() do with UTF-16?",
        ("advanced/text-encodings.md", "accepts UTF-8, UTF-16 and UTF-32"),
    ),
    _ask(
        "How can I see the request that will be sent, before sending it?",
        ("advanced/clients.md", "`client.build_request()` makes an `httpx.Request`"),
    ),
    _ask(
        "Is Client thread safe?",
        ("advanced/clients.md", "can be shared between threads"),
    ),
    _ask(
        "Are the values of Authorization headers hidden when printed?",
        ("api.md", "are hidden when headers are printed"),
    ),
    _ask(
        "How do I join a relative URL?",
        ("api.md", "`join()` resolves a reference"),
    ),
    _ask(
        "What does StreamConsumed mean?",
        ("exceptions.md", "`StreamConsumed` means that"),
    ),
    _ask(
        "What is raised when the server closes the connection without a response?",
        ("exceptions.md", "it closed the connection before the response was complete"),
        ("exceptions.md", "Server disconnected without"),
        ("troubleshooting.md", "`httpx.RemoteProtocolError` with this message"),
    ),
    _ask(
        "My request fails with 'Request URL is missing an http:// or https:// protocol'",
        ("troubleshooting.md", "with this message: the URL has no scheme"),
    ),
    _ask(
        "I get strange characters in the text, why?",
        ("troubleshooting.md", "The server did not name its character set"),
    ),
    _ask(
        "Can the log lines contain secrets from the URL?",
        ("logging.md", "keep secrets out of URLs"),
    ),
    _ask(
        "Why does a parameter with value True become true in the URL?",
        ("quickstart.md", "The values `True`, `False` and `None` become"),
        ("compatibility.md", "Booleans become `true`"),
    ),
    _ask(
        "Does it decompress brotli?",
        ("index.md", "adds decoding of brotli"),
        ("quickstart.md", "Compressed bodies are decoded for you"),
        ("index.md", "Decoding of gzip and deflate"),
        ("quickstart.md", "gives bytes after decompression (gzip, deflate, brotli, zstandard)"),
    ),
    _ask(
        "What are the default values of the connection limits?",
        ("advanced/resource-limits.md", "`max_connections`: the largest number"),
        ("advanced/resource-limits.md", "default.max_connections "),
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
    "How do I configure OAuth2 client credentials?",
    "How do I upload to S3?",
    "Can I throttle requests per host?",
    "How do I use gRPC?",
    "What is the license of this project?",
    "How do I record and replay cassettes?",
    "How can I run it in Docker?",
    "How do I contribute a patch to the project?",
    "Does it support DNS over HTTPS?",
    "How do I export metrics to Prometheus?",
    "How do I validate a JWT?",
    "Who maintains httpx?",
    "How do I render templates with Jinja?",
    "What is the best pizza in Naples?",
    "How do I send email attachments?",
    "Is there a plugin for pytest?",
    "How do I stub responses with respx?",
    "How do I configure a load balancer?",
)

HANDBOOK = {
    "welcome.md": """\
# Welcome to the allotment

The garden has forty plots on a slope south of the railway. Everybody may walk on the grass paths.

## Opening hours

The gate is unlocked from six in the morning until sunset. In winter it stays shut on Mondays.

## Fees

| Plot | Fee per year |
| --- | --- |
| small, 50 square metres | 60 euros |
| large, 120 square metres | 135 euros |

New members also pay a deposit of 80 euros. They get it back when they leave the plot tidy.
""",
    "soil/compost.md": """\
# Compost

A heap needs air, moisture and a mix of green and brown material.

## What goes on the heap

- Grass cuttings, in thin layers so that they do not turn slimy.
- Coffee grounds and crushed eggshells.
- Torn cardboard and dry leaves, about half of the whole.

Cooked food, meat and cheese attract rats: leave them out.

## Turning

Turn the heap with a fork every three weeks. It is ready after about nine months,
when it is dark and smells of forest.

## The heap smells

A smell of rotten eggs means that it is too wet. Mix in torn cardboard and turn it.
""",
    "soil/liming.md": """\
# Liming

Sour soil is improved with lime in autumn, never together with manure.

## Measuring acidity

Take a test strip from the shed, stir a spoon of earth into rain water and wait five minutes.
Below pH 6 spread 200 grams of lime on each square metre.

Blueberries and rhododendrons want sour soil and get no lime at all.
""",
    "plants/tomatoes.md": """\
# Tomatoes

## Sowing

Sow indoors in the middle of March, one centimetre deep. Seedlings show after eight to ten days.

## Planting out

Plants move outside after the last frost, usually in the third week of May.
Leave 60 centimetres between them.

## Brown spots on the leaves

Brown spots that spread from the lowest leaves are blight. Cut off the affected leaves at once, put
them into the bin and not on the heap, and keep the foliage dry: water only the roots.

## Side shoots

Pinch out the shoots between stem and leaf once a week, so that the fruit gets the strength.
""",
    "rules/water.md": """\
# Water

Rain water from the butts is free for everyone. Tap water costs 2 euros per cubic metre.

## Hosepipes

Hosepipes are forbidden between 10 and 18 o'clock from June to August. Watering cans are always allowed.

## When the pump fails

1. Switch off the main fuse in the shed.
2. Ring the warden; the number is on the door.
3. Do not open the housing yourself.
""",
    "rules/animals.md": """\
# Animals

Dogs stay on a lead. Chickens may be kept on large plots only, at most six, and no cockerel.

Bees are welcome: a hive stands at least five metres from the nearest path, and the keeper shows a
certificate of health each spring.
""",
}
"""A folder about something else, to see that nothing in the model is about httpx."""

HANDBOOK_ANSWERED = (
    _ask("When is the gate open?", ("welcome.md", "The gate is unlocked from six")),
    _ask("How much does a large plot cost per year?", ("welcome.md", "| large, 120 square metres | 135 euros |")),
    _ask("Do I get my deposit back?", ("welcome.md", "They get it back when they leave")),
    _ask(
        "How often do I have to turn the compost?", ("soil/compost.md", "Turn the heap with a fork every three weeks")
    ),
    _ask("Can I put cheese on the compost heap?", ("soil/compost.md", "Cooked food, meat and cheese attract rats")),
    _ask("My compost stinks of rotten eggs, what should I do?", ("soil/compost.md", "means that it is too wet")),
    _ask("How do I measure how sour the soil is?", ("soil/liming.md", "Take a test strip from the shed")),
    _ask("Which plants must not be limed?", ("soil/liming.md", "Blueberries and rhododendrons want sour soil")),
    _ask("How deep are tomatoes sown?", ("plants/tomatoes.md", "one centimetre deep")),
    _ask("What are the brown spots on my tomato leaves?", ("plants/tomatoes.md", "are blight")),
    _ask("At what times may I use a hosepipe?", ("rules/water.md", "Hosepipes are forbidden between 10 and 18")),
    _ask("The pump has stopped working, whom do I call?", ("rules/water.md", "Ring the warden")),
    _ask("How many chickens may I keep?", ("rules/animals.md", "Chickens may be kept on large plots only")),
    _ask(
        "How far from the path must a beehive be?", ("rules/animals.md", "at least five metres from the nearest path")
    ),
)

HANDBOOK_ABSENT = (
    "How do I prune roses?",
    "Is there a toilet on the site?",
    "Which fertiliser is best for pumpkins?",
    "How do I set a connection timeout?",
)
