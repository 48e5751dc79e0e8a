"""Which server a name means: a key goes only to its own address."""

import pytest

from agent.models.retrying import Retries, retry_after
from agent.models.servers import DEFAULT_BODY, NoServer, Server, server_for

LLM = {"LLM_API_KEY": "llm-key", "LLM_BASE_URL": "http://127.0.0.1:1/v1/", "LLM_MODEL": "local"}
OPENAI = {"OPENAI_API_KEY": "openai-key"}


@pytest.mark.parametrize(
    ("name", "env", "server"),
    [
        (None, LLM, Server(model="local", base_url="http://127.0.0.1:1/v1", api_key="llm-key")),
        ("other", LLM, Server(model="other", base_url="http://127.0.0.1:1/v1", api_key="llm-key")),
        ("openai:gpt", {**LLM, **OPENAI}, Server(model="gpt", base_url="http://127.0.0.1:1/v1", api_key="llm-key")),
        (
            None,
            {"LLM_API_KEY": "k"},
            Server(
                model="deepseek-flash",
                base_url="https://api.deepseek.com",
                api_key="k",
                extra_body=DEFAULT_BODY,
                provider="deepseek",
            ),
        ),
        (
            None,
            {**LLM, "LLM_EXTRA_BODY": '{"top_k": 1}'},
            Server(model="local", base_url="http://127.0.0.1:1/v1", api_key="llm-key", extra_body={"top_k": 1}),
        ),
        (None, {"LLM_BASE_URL": "http://h/v1"}, Server(model="deepseek-flash", base_url="http://h/v1", api_key="none")),
        ("openai:gpt", OPENAI, Server(model="gpt", base_url="https://api.openai.com/v1", api_key="openai-key")),
        (
            "openai:gpt",
            {**OPENAI, "OPENAI_BASE_URL": "http://h/v1"},
            Server(model="gpt", base_url="http://h/v1", api_key="openai-key"),
        ),
    ],
)
def test_a_name_means_one_server_and_its_own_key(name: str | None, env: dict[str, str], server: Server) -> None:
    assert server_for(name, env) == server


@pytest.mark.parametrize(
    ("name", "env", "said"),
    [
        (None, {}, "no server is configured for the model"),
        (None, OPENAI, "no server is configured for the model"),
        ("gpt", OPENAI, "no server is configured for 'gpt'"),
        ("openai:gpt", {}, "no key for OpenAI"),
        ("openai:", OPENAI, "the model has no name"),
        (None, {"LLM_MODEL": "m"}, "no key for https://api.deepseek.com"),
        (None, {**LLM, "LLM_EXTRA_BODY": "{"}, "LLM_EXTRA_BODY is not JSON"),
        (None, {**LLM, "LLM_EXTRA_BODY": "[1]"}, "LLM_EXTRA_BODY must be a JSON object"),
    ],
)
def test_a_name_without_a_server_says_what_to_set(name: str | None, env: dict[str, str], said: str) -> None:
    with pytest.raises(NoServer, match=said):
        server_for(name, env)


def test_a_key_is_not_shown_with_its_server() -> None:
    assert "llm-key" not in repr(server_for(None, LLM))


def test_waits_double_up_to_a_limit_and_the_server_has_its_say() -> None:
    retries = Retries(first_wait=1, longest_wait=5)
    assert [retries.wait(attempt, None, 0) for attempt in (1, 2, 3, 4)] == [1, 2, 4, 5]
    assert retries.wait(1, None, 1) == 0.75
    assert [retries.wait(1, asked, 0) for asked in (0, 30, 3600, -1)] == [0, 30, 1, 1]


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(None, None), ("", None), ("2", 2), ("0.5", 0.5), ("soon", None), ("Thu, 01 Jan 1970 00:00:10 GMT", 7)],
)
def test_a_retry_after_is_a_number_or_a_date(value: str | None, seconds: float | None) -> None:
    assert retry_after(value, now=3) == seconds
