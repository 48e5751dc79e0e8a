"""Secrets are taken out and nothing else is, whatever they stand in and wherever a result was cut.

No key in here is one: prefixes are put before characters that a seeded generator draws.
"""

import json
import random
import string
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import example, given
from hypothesis import strategies as st

from agent import Agent, Limits, ScriptedModel, Toolbox, tool
from agent.observing import cut as cut_short
from tracing import Recorder, Store, replay
from tracing.cleaning import clean_json
from tracing.redaction import MAX_CUTS, Redaction

ALNUM = string.ascii_letters + string.digits


def drawn(length: int, alphabet: str = ALNUM) -> str:
    """Random characters, the same for the same arguments; a digit and both cases among them, as in any real key."""
    rng = random.Random(f"{length} {alphabet}")
    return "".join(rng.choice(alphabet) for _ in range(length - 4)) + "".join(
        next((one for one in kind if one in alphabet), alphabet[0]) for kind in ("Qq7", "k3", "7w", "Zz9")
    )


TOKEN = drawn(40)
HEX = string.digits + "abcdef"
API_KEYS = {
    "openai": "sk-" + drawn(48),
    "openai project": "sk-" + "proj-" + drawn(60) + "_-" + drawn(62),
    "openai service account": "sk-" + "svcacct-" + drawn(50) + "-_" + drawn(20),
    "anthropic": "sk-" + "ant-api03-" + drawn(40) + "_" + drawn(50) + "-AA",
    "openrouter": "sk-" + "or-v1-" + drawn(64, HEX),
    "deepseek": "sk-" + drawn(32, HEX),
    "langfuse": "sk-" + "lf-" + str(uuid.UUID(int=random.Random(1).getrandbits(128))),
    "google": "AI" + "za" + drawn(20) + "-_" + drawn(13),
    "aws": "AK" + "IA" + drawn(16, string.ascii_uppercase + "234567"),
    "aws temporary": "AS" + "IA" + drawn(16, string.ascii_uppercase + "234567"),
    **{f"github {letter}": f"gh{letter}_" + drawn(36) for letter in "pousr"},
    "github fine-grained": "github_" + "pat_" + drawn(22) + "_" + drawn(59),
    "gitlab": "glpat" + "-" + drawn(20),
    "gitlab that begins with a separator": "glpat" + "-" + "_-" + drawn(18),
    "gitlab routable": "glpat" + "-" + drawn(27) + ".01." + drawn(9, HEX),
    "slack bot": "xox" + "b-" + "1234567890-1234567890-" + drawn(24),
    "slack app": "xap" + "p-1-" + "A0123456789-1234567890-" + drawn(64, HEX),
    "stripe": "sk_" + "live_" + drawn(24),
    "stripe restricted": "rk_" + "live_" + drawn(24),
    "stripe test": "sk_" + "test_" + drawn(99),
    "stripe webhook": "whsec" + "_" + drawn(32),
    "hugging face, letters only": "hf" + "_" + "".join(random.Random(3).choices(string.ascii_letters, k=34)),
    "groq": "gsk" + "_" + drawn(52),
    "xai": "xai" + "-" + drawn(80),
    "replicate": "r8" + "_" + drawn(37),
    "perplexity": "pplx" + "-" + drawn(48),
    "npm": "npm" + "_" + drawn(36),
    "pypi": "pypi" + "-" + "AgEIcHlwaS5vcmc" + drawn(140),
    "sendgrid": "SG" + "." + drawn(22) + "." + drawn(43),
    "digitalocean": "dop" + "_v1_" + drawn(64, HEX),
    "shopify": "shpat" + "_" + drawn(32, HEX),
    "docker": "dckr" + "_pat_" + drawn(10) + "-" + drawn(16),
    "google oauth": "GOC" + "SPX-" + drawn(28),
    "nvidia": "nvapi" + "-" + drawn(64),
    "tavily": "tvly" + "-dev-" + drawn(32),
    "notion": "ntn" + "_" + drawn(46),
    "linear": "lin_" + "api_" + drawn(40),
    "langsmith": "lsv2_" + "pt_" + drawn(32, HEX) + "_" + drawn(10, HEX),
    "grafana": "glsa" + "_" + drawn(32) + "_" + drawn(8, HEX),
    "cerebras": "csk" + "-" + drawn(48, string.ascii_lowercase + string.digits),
}
JWT = "ey" + "J" + drawn(30) + ".ey" + "J" + drawn(60) + "." + drawn(43)
DASHES = "-" * 5
PEM = (
    f"{DASHES}BEGIN RSA PRIVATE KEY{DASHES}\n"
    + "".join(drawn(64, ALNUM + "+/"[: 1 + number % 2]) + "\n" for number in range(4))
    + f"{drawn(30)}==\n{DASHES}END RSA PRIVATE KEY{DASHES}"
)
SECRETS = [*API_KEYS.values(), JWT, PEM]


def redacted(text: str) -> str:
    return Redaction().for_run()(text)


@pytest.mark.parametrize("key", API_KEYS.values(), ids=API_KEYS)
@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "Use {} now.",
        'KEY="{}"',
        "key={}&x=1",
        "キー：{}です",
        '{{"a": "x\\n{}\\n"}}',
        "({})",
        "q=%22{}%22",
        "[{}]",
    ],
)
def test_a_key_is_replaced_and_nothing_beside_it(key: str, around: str) -> None:
    if around.startswith("q=") and key.startswith(("xox", "xapp", "GOC", "nvapi", "tvly", "glpat")):
        around = "q=%22{}"  # their tokens may be percent-encoded, so what follows is taken for theirs
    assert redacted(around.format(key)) == around.format("[redacted:api_key#1]")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"Authorization: Bearer {TOKEN}", "Authorization: Bearer [redacted:bearer#1]"),
        (f"-H 'authorization: bearer {TOKEN}.'", "-H 'authorization: bearer [redacted:bearer#1].'"),
        (f'{{"Authorization":"Bearer {TOKEN}+a\\/b=="}}', '{"Authorization":"Bearer [redacted:bearer#1]"}'),
        (f"Bearer {JWT}", "Bearer [redacted:jwt#1]"),
        (f"Bearer {API_KEYS['openai']}.", "Bearer [redacted:api_key#1]."),
        (f"token: {JWT}", "token: [redacted:jwt#1]"),
        (f"unsigned {JWT.rpartition('.')[0]}", "unsigned [redacted:jwt#1]"),
        (f"aws_secret_access_key = {TOKEN}", "aws_secret_access_key = [redacted:api_key#1]"),
        (f"export AWS_SECRET_ACCESS_KEY='{TOKEN}'", "export AWS_SECRET_ACCESS_KEY='[redacted:api_key#1]'"),
        (f'{{"SecretAccessKey": "{TOKEN}"}}', '{"SecretAccessKey": "[redacted:api_key#1]"}'),
        (f'"{{\\"secretAccessKey\\":\\"{TOKEN}\\"}}"', '"{\\"secretAccessKey\\":\\"[redacted:api_key#1]\\"}"'),
        (f"aws-secret-access-key: {TOKEN}", "aws-secret-access-key: [redacted:api_key#1]"),
        ("postgresql+psycopg://me:hunter2@db:5432/x", "postgresql+psycopg://me:[redacted:password#1]@db:5432/x"),
        ("redis://:p@ss:w#rd?@host/0 b@c", "redis://:[redacted:password#1]@host/0 b@c"),
        ("https://me@x.org:%C3%A4b@host", "https://me@x.org:[redacted:password#1]@host"),
        ('{"url":"amqp:\\/\\/me:a\\\\b@host"}', '{"url":"amqp:\\/\\/me:[redacted:password#1]@host"}'),
        (f"a\n{PEM}\nb", "a\n[redacted:private_key#1]\nb"),
        (json.dumps({"a": PEM, "b": 1}), '{"a": "[redacted:private_key#1]", "b": 1}'),
        (json.dumps(PEM[:-35]), '"[redacted:private_key#1]"'),
        (json.dumps(json.dumps([PEM[:150]])), '"[\\"[redacted:private_key#1]\\"]"'),
        (f"'{PEM[:200]}' b", "'[redacted:private_key#1]' b"),
        (PEM[:200] + "\n", "[redacted:private_key#1]\n"),
        (PEM.replace("\n", " "), "[redacted:private_key#1]"),
        (PEM.replace("RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK"), "[redacted:private_key#1]"),
        ("\n".join(f"{n}: {line}" for n, line in enumerate(PEM.split("\n"))), "0: [redacted:private_key#1]"),
    ],
)
def test_what_is_named_or_enclosed_is_replaced_alone(text: str, expected: str) -> None:
    assert redacted(text) == expected


IDS = random.Random(5)
INNOCENT = [
    "The session's auth secret, a password and a token: the api_key is never shown, nor is Bearer authentication.",
    "bearer token-based-authentication-scheme, Bearer <token>, Bearer ${TOKEN}, Bearer YOUR_ACCESS_TOKEN_GOES_HERE",
    "task-based and risk-free desk-lamps: ask-me-anything-about-this-topic-now-or-in-2030, my-sk-" + drawn(40),
    "sk-, sk-..., sk-xxxx, sk-proj-..., sk-ant-..., sk-your-api-key-goes-here-please, sk-proj-your_key_here",
    "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx and sk-proj-XXXXXXXXXXXXXXXXXXXX1234",
    '<div class="sk-toggleable__content" id="sk-container-id-1"><label class="sk-estimator-doc-link fitted">',
    "the hf_hub_download function, npm_config_registry_of_the_project, gsk_, ghp_, glpat-, AKIA, AIza, xoxb-",
    "See pypi-publish-action-for-trusted-publishers-v1 and https://example.org/a-long-slug-of-2024-that-goes-on-and-on",
    f"commit {drawn(40, HEX)} {uuid.UUID(int=IDS.getrandbits(128))} run_{drawn(32, HEX)} sha256:{drawn(64, HEX)}",
    f"call_abc123 call_{drawn(24)} toolu_{drawn(24)} chatcmpl-{drawn(29)} fc_{drawn(48)} msg_{drawn(32)} {drawn(32)}",
    "data:image/png;base64," + drawn(5000, ALNUM + "+/") + "==",
    "/usr/lib/python3.11/site-packages/sk-learn/data/model-00001-of-00002.safetensors C:\\new\\task\\file_name.txt",
    "http://localhost:8080/@scope/package@1.2.3, git@github.com:owner/name.git, a@b.c, https://user@host:80/x",
    'f"postgres://{user}:{password}@{host}" postgres://me:${PASSWORD}@db postgres://me:****@db',
    "A file begins with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY----- as you know.".replace(
        "-----END PRIVATE KEY-----", "its end"
    ),
    "-----BEGIN PUBLIC KEY-----\n" + drawn(64) + "\n-----END PUBLIC KEY-----",
    "-----BEGIN CERTIFICATE-----\n" + drawn(64) + "\n-----END CERTIFICATE-----",
    "aws_access_key_id and aws_secret_access_key are read from ~/.aws/credentials; AccessKey: see above",
    "eyJ is how JSON begins in base64: eyJhbGciOiJIUzI1NiJ9 is a header. JSON, SG.1, SG.Foo.Bar",
    "----------------------------------------------- | ---------------- | ____________________________",
    "[redacted:api_key#1] and postgres://me:[redacted:password#2]@db and Bearer [redacted:bearer#3]",
]


@pytest.mark.parametrize("text", INNOCENT)
def test_what_is_no_secret_stays_the_same_object(text: str) -> None:
    redactor = Redaction().for_run()
    assert redactor(text) is text
    assert redactor.count == 0


def test_documentation_code_and_a_recorded_run_hold_nothing_but_passwords_in_urls() -> None:
    root = Path(__file__).parent.parent
    files = [
        *root.glob("data/**/*.md"),
        *root.glob("agent/*.py"),
        *root.glob("tracing/*.py"),
        *root.glob("data/runs/plain.jsonl"),
    ]
    assert len(files) > 50
    policy = Redaction()
    found = [span for file in files for span in policy.find(file.read_text(encoding="utf-8"))]
    assert {(span.kind, span.secret) for span in found} <= {
        ("password", one) for one in ("pw", "secret", "[secure]", "password")
    }


def test_a_secret_keeps_its_number_over_all_kinds_and_texts_of_a_run() -> None:
    policy = Redaction()
    redactor = policy.for_run()
    one, two = API_KEYS["openai"], API_KEYS["groq"]
    assert redactor(f"{two} {one} {two}") == "[redacted:api_key#1] [redacted:api_key#2] [redacted:api_key#1]"
    assert redactor(f"redis://a:pw@b Bearer {TOKEN}") == "redis://a:[redacted:password#3]@b Bearer [redacted:bearer#4]"
    assert redactor(f"Bearer {one}") == "Bearer [redacted:api_key#2]"
    assert redactor.count == 4
    assert policy.for_run()(one) == "[redacted:api_key#1]"


def test_a_number_that_stands_in_the_history_is_not_given_again() -> None:
    redactor = Redaction().for_run()
    assert redactor(API_KEYS["npm"]) == "[redacted:api_key#1]"
    told = f"[redacted:api_key#7] [redacted:own#3] [redacted:x#{'9' * 5000}] {API_KEYS['xai']}"
    assert redactor(told) == told.replace(API_KEYS["xai"], "[redacted:api_key#8]")
    assert redactor(API_KEYS["npm"] + " " + API_KEYS["aws"]) == "[redacted:api_key#1] [redacted:api_key#9]"
    assert redactor.count == 3


def test_secrets_that_overlap_become_one() -> None:
    redactor = Redaction({"pin": r"PIN (?P<secret>\d{4})", "line": "code .*?;"}).for_run()
    assert (
        redactor("PIN 1234, code PIN 5678; PIN 1234") == "PIN [redacted:pin#1], [redacted:line#2] PIN [redacted:pin#1]"
    )
    assert redactor(f"redis://a:{API_KEYS['groq']}:x@b") == "redis://a:[redacted:password#3]@b"


def test_own_patterns_stand_beside_the_defaults_or_alone() -> None:
    text = f"customer 12345, {API_KEYS['groq']}"
    own = {"customer": r"customer (?P<secret>\d+)"}
    assert Redaction(own).for_run()(text) == "customer [redacted:customer#1], [redacted:api_key#2]"
    alone = Redaction(own, defaults=False).for_run()
    assert alone(text) == f"customer [redacted:customer#1], {API_KEYS['groq']}"
    assert Redaction({"either": r"id (?:(?P<secret>\d)|none)"}).for_run()("id none") == "[redacted:either#1]"
    assert Redaction(defaults=False).for_run()(text) is text


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        ({"a": "("}, "the pattern for a is no regular expression (missing ), unterminated subpattern at position 0): correct '('"),
        ({"a": 5}, "the pattern for a is no regular expression (first argument must be string or compiled pattern): correct 5"),
        ({"a": "x*"}, "the pattern for a matches the empty text: make 'x*' ask for a character"),
        ({"A": "x"}, "'A' cannot name a kind of secrets: give up to 31 of a-z, 0-9 and _, a letter first, as in customer_id"),
        ({"a" * 32: "x"}, f"'{'a' * 32}' cannot name a kind of secrets: give up to 31 of a-z, 0-9 and _, a letter first, as in customer_id"),
    ],
)  # fmt: skip
def test_a_policy_that_cannot_work_is_refused_in_words(patterns: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as error:
        Redaction(patterns)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("policy", "plain"),
    [
        (Redaction(), {"version": 2}),
        (Redaction({"a": "x+"}), {"version": 2, "kinds": ["a"]}),
        (Redaction({"a": "x+"}, defaults=False), {"version": 2, "kinds": ["a"], "defaults": False}),
    ],
)
def test_a_policy_is_plain_data_without_its_own_patterns(policy: Redaction, plain: dict[str, Any]) -> None:
    assert policy.to_plain() == plain
    again = Redaction.from_plain(json.loads(json.dumps(plain)), policy)
    assert again.to_plain() == plain
    text = f"xxx {API_KEYS['groq']}"
    assert again.for_run()(text) == policy.for_run()(text)


@pytest.mark.parametrize(
    "plain",
    [{}, {"version": 3}, {"version": 2, "kinds": {}}, {"version": 2, "kinds": ["a"]}, {"version": 2, "defaults": 1}],
)
def test_plain_data_that_is_no_policy_is_refused(plain: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        Redaction.from_plain(plain)


ANY_TEXT = st.text(st.characters(exclude_categories=[]), max_size=6)
FRAGMENTS = st.sampled_from(
    ["sk-", "sk-proj-", "Bearer ", "eyJ", "://a:", "@", "@b", '"', "\\", "\\n", "\\u00e9", "[", "]", "\n", " ", ".", "%22",
     "AKIA", "ghp_", "r8_", "npm_", "_access_key=", "[redacted:api_key#3]", "[redacted:", "-----BEGIN PRIVATE KEY-----",
     "-----END PRIVATE KEY-----", "\udc00", "\0", "a1", "x"]
)  # fmt: skip
TEXTS = st.lists(ANY_TEXT | FRAGMENTS | st.sampled_from(SECRETS), max_size=10).map("".join)
POLICIES = st.sampled_from(
    [
        Redaction(),
        Redaction({"number": "[0-9]{2}", "rest": r"key=(?P<secret>.+)"}),
        Redaction({"escape": r"[a-z]\W+"}, defaults=False),
    ]
)


@given(POLICIES, TEXTS, TEXTS)
def test_any_text_is_redacted_once_and_for_all(policy: Redaction, text: str, other: str) -> None:
    redactor = policy.for_run()
    once = redactor(text)
    assert (once is text) == (redactor.count == 0)
    assert redactor(once) is once
    assert policy.for_run()(once) is once
    assert redactor(text) == once
    shown, whole = redactor.cut(text, other)
    assert policy.for_run()(shown) is shown
    assert redactor(other) == whole


@given(ANY_TEXT, st.sampled_from(SECRETS), ANY_TEXT, st.sampled_from(SECRETS))
def test_nothing_of_a_secret_survives(before: str, secret: str, after: str, other: str) -> None:
    text = redacted(f"{before} {secret} {after} {other} {secret}\n{after}")
    for one in (secret, other):
        assert not any(one[at : at + 8] in text for at in range(len(one) - 7) if "PRIVATE" not in one[at : at + 15])


STRINGS = st.lists(
    ANY_TEXT
    | FRAGMENTS
    | st.sampled_from([*SECRETS, f"Bearer {TOKEN}", f"redis://a:{TOKEN}@b", f"Bearer \\{TOKEN}", "a://b:\\\"'@c"]),
    max_size=5,
).map("".join)
DOCUMENTS = st.recursive(
    STRINGS | st.integers() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(STRINGS, inner, max_size=3),
    max_leaves=12,
)


def shape(value: Any) -> Any:
    """`value` without what its strings say."""
    if isinstance(value, dict):
        return [shape(item) for item in value.values()]
    return [shape(item) for item in value] if isinstance(value, list) else "" if isinstance(value, str) else value


@given(DOCUMENTS, st.booleans(), st.sampled_from([None, 1]), st.sampled_from([None, (",", ":")]))
@example(["\r8_" + TOKEN, "\npm_" + TOKEN, "\u00e9\\" + API_KEYS["groq"]], True, None, None)
@example([f"Bearer \b{TOKEN}", "a://b:", "c@d", PEM[:90], PEM], False, None, (",", ":"))
def test_json_stays_json_and_only_its_strings_change(
    document: Any, ascii_only: bool, indent: Any, separators: Any
) -> None:
    text = json.dumps(document, ensure_ascii=ascii_only, indent=indent, separators=separators)

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        return {str(number): item for number, (_, item) in enumerate(found)}  # two keys may have become one

    read: Callable[[str], Any] = lambda text: json.loads(text, object_pairs_hook=pairs)  # noqa: E731
    assert shape(read(redacted(text))) == shape(document)
    nested = json.loads(redacted(json.dumps({"arguments": text}, ensure_ascii=ascii_only)))
    assert shape(read(nested["arguments"])) == shape(document)


OWN = Redaction(
    {"card": r"\b4[0-9]{15}\b", "pin": r'"pin": ?(?P<secret>[0-9]+)', "customer": "C-[0-9]{4}"}, defaults=False
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"id":4111111111111111,"n":4}', '{"id":"[redacted:card#1]","n":4}'),
        ('{"id": [4111111111111111, -7, 0.5]}', '{"id": ["[redacted:card#1]", -7, 0.5]}'),
        ('{"pin": 1234, "of": 12345}', '{"pin": "[redacted:pin#1]", "of": 12345}'),
        ('{"C-1234":{"id":4111111111111111},"text":"of C-1234"}', '{"[redacted:customer#1]":{"id":"[redacted:card#2]"},"text":"of [redacted:customer#1]"}'),
        ('{"text":"4111111111111111","ok":true,"no":null}', '{"text":"[redacted:card#1]","ok":true,"no":null}'),
        ("4111111111111111", '"[redacted:card#1]"'),
        ('{"text":"say \\"4111111111111111\\"","id":4111111111111111}', '{"text":"say \\"[redacted:card#1]\\"","id":"[redacted:card#1]"}'),
    ],
)  # fmt: skip
def test_a_secret_that_is_a_number_or_a_key_in_json_is_taken_out_and_json_stays_json(text: str, expected: str) -> None:
    clean = OWN.for_run()
    found = clean_json(text, clean)
    assert found == expected
    json.loads(found)
    assert clean_json(found, clean) is found


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (r"4[0-9]{3}.*", '{"id":4111,"of":[4112,"4113 x"]}', '{"id":"[redacted:own#2]","of":["[redacted:own#3]","[redacted:own#4]"]}'),
        (r'"ssn": ?[0-9]+', '{"ssn": 12345, "n": 7}', '{"ssn":"[redacted:own#2]","n":7}'),
        (r'"ssn": ?[0-9.e+]+', '{"n": {"ssn": 8.05e24}}', '{"n":{"ssn":"[redacted:own#2]"}}'),
    ],
)  # fmt: skip
def test_a_pattern_that_takes_more_than_its_value_takes_the_value_all_the_same(
    pattern: str, text: str, expected: str
) -> None:
    found = clean_json(text, Redaction({"own": pattern}, defaults=False).for_run())
    assert (found, json.loads(found) is not None) == (expected, True)


def test_no_number_of_a_card_stands_anywhere_in_a_record(tmp_path: Path) -> None:
    number = 4111111111111111

    @tool
    def pay(order: dict[str, Any]) -> dict[str, Any]:
        structlog.get_logger().info("paying", card=number)
        return order

    asked = {"tool_calls": [{"name": "pay", "arguments": {"order": {"card": number, "C-1234": 1}}}]}
    agent = Agent(model=ScriptedModel([asked, "done"]), tools=Toolbox([pay]), settings={"seed": number})
    with Recorder(tmp_path / "t.db", redact=OWN) as recorder:
        recorder.run_sync(agent, f"pay with {number}", metadata={"card": number})
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert (stored.count(b"4111111111111111"), stored.count(b"C-1234")) == (0, 0)
    with Store(tmp_path / "t.db") as store:
        assert replay(store.recording(), agent, redact=OWN).outcome == "exact"


@tool
def count(n: int = 0) -> str:
    return f"counted {n}"


def counting(*numbers: int, **fields: Any) -> Agent:
    answers = [{"tool_calls": [{"name": "count", "arguments": {"n": number}}]} for number in numbers]
    return Agent(model=ScriptedModel([*answers, "done"]), tools=Toolbox([count]), **fields)


@pytest.mark.parametrize("pattern", ["[0-9]+", "version|limits|redaction|max_steps", "(?i)[a-z0-9]"])
def test_no_pattern_takes_what_the_record_needs_to_be_replayed(tmp_path: Path, pattern: str) -> None:
    agent = counting(*range(20), limits=Limits(max_steps=12, max_tokens=15_000, max_seconds=3600))
    policy = Redaction({"own": pattern})
    with Recorder(tmp_path / "t.db", redact=policy) as recorder:
        result = recorder.run_sync(agent, "q", metadata={"day": 12}, version="12")
    with Store(tmp_path / "t.db") as store:
        recorded = store.recording()
        assert (result.stop, recorded.attrs["limits"]["max_steps"]) == ("max_steps", 12)
        assert recorded.attrs["redaction"] == {"version": 2, "kinds": ["own"]}
        assert replay(recorded, agent, redact=policy).outcome == "exact"


def test_a_record_of_the_first_version_is_replayed_by_its_own_rules(tmp_path: Path) -> None:
    """It knew secrets in strings only."""
    own = Redaction({"account": "[0-9]{8}"})
    agent = counting(12345678, settings={"seed": 12345678})
    with Recorder(
        tmp_path / "t.db", redact=Redaction.from_plain({"version": 1, "kinds": ["account"]}, own)
    ) as recorder:
        recorder.run_sync(agent, "of 12345678")
    with Store(tmp_path / "t.db") as store:
        (call,) = store.tool_calls(store.find("last"))
        assert (call["arguments"], call["result"]) == ('{"n":12345678}', "counted [redacted:account#1]")
        assert replay(store.recording(), agent, redact=own).outcome == "exact"


NOTE = "\n[cut: the first 1,234 of 56,789 characters; read on with read_doc('sk-a.md', start=3)]"
CUT = [
    *((secret, 0, len(secret)) for secret in SECRETS),
    (f"Bearer {TOKEN}", 7, 7 + len(TOKEN)),
    (f"redis://me:{TOKEN}@host/1", 11, 11 + len(TOKEN)),
    (f"aws_secret_access_key={TOKEN}", 22, 62),
]


@pytest.mark.parametrize(("said", "start", "end"), CUT)
@pytest.mark.parametrize("following", ["\nmore", "", " and\n[more"])
def test_no_character_of_a_secret_stands_before_a_cut(said: str, start: int, end: int, following: str) -> None:
    policy = Redaction()
    whole = f"first {said}{following}"
    marker = f"[redacted:{policy.find(whole)[0].kind}#1]"
    start, end = start + 6, end + 6
    for at in range(len(whole)):
        shown = whole[:at] + NOTE
        stands = len(whole[start : min(at, end)].rstrip()) if at > start else 0
        replaced = shown[:start] + marker + shown[start + stands :] if stands else shown
        told, kept = policy.for_run().cut(shown, whole)
        assert told == replaced
        assert kept == redacted(whole)
        assert policy.for_run()(shown) == told


def test_a_result_that_was_really_cut_keeps_its_note() -> None:
    whole = "a line\n" * 400 + PEM * 3 + "\udc00 the end"
    for size in range(2900, 3400, 7):
        shown = cut_short(whole.replace("\udc00", "?"), size)
        note = shown[shown.rindex("\n[cut: the first ") :]
        told, _ = Redaction().for_run().cut(shown, whole)
        assert told.endswith(note)
        assert not any(line in told for line in PEM.split("\n")[1:-1])


def test_what_is_shown_need_not_be_the_beginning_of_the_whole() -> None:
    one, two = API_KEYS["openai"], "sk-" + drawn(47)
    redactor = Redaction().for_run()
    assert redactor.cut(f"a {two} b", f"a {one} b") == ("a [redacted:api_key#2] b", "a [redacted:api_key#1] b")
    assert redactor.cut(f"error: {one}", "") == ("error: [redacted:api_key#1]", "")
    same = "nothing here"
    told, kept = redactor.cut(same, same)
    assert told is same
    assert kept is same


def test_a_policy_remembers_a_bounded_number_of_cuts() -> None:
    policy = Redaction()
    redactor = policy.for_run()
    key = API_KEYS["groq"]
    for number in range(MAX_CUTS + 1):
        redactor.cut(f"{number} {key[:9]}", f"{number} {key}")
    assert redactor(f"{MAX_CUTS} {key[:9]}") == f"{MAX_CUTS} [redacted:api_key#1]"
    assert redactor(f"0 {key[:9]}") == f"0 {key[:9]}"


@pytest.mark.parametrize(
    "unit",
    ["a", "-", "_", "x", "\\", "@", "sk-", "-sk-", "%22sk-proj-1", "\\nsk-proj-", "%AAxoxb-", "eyJ", ".eyJaaaaaaaa", "Bearer ",
     "://", "://a:", "_access_key ", "SG.", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----" + "A" * 40],
)  # fmt: skip
def test_no_long_text_holds_up_a_run(unit: str) -> None:
    """Anything quadratic would take minutes here."""
    once = redacted(unit * (1_000_000 // len(unit)))
    assert redacted(once) is once
