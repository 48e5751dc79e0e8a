"""Names of models and providers, and which of them mean the same.

One model has many names: `gpt-4o`, `gpt-4o-2024-08-06`, `openai/gpt-4o`, `GPT-4o`. Another model has a name that looks
alike: `gpt-4o-mini`, `my-own-gpt-4o-7b`, `gpt-4o:extended`. So only what is known to change nothing is left out of a
name: its case, a whole date at its end, and a provider in front. Never anything else, and never a part of a word; what
stands after a colon (`:free`, `:online`, `:7b`) always names another model or another price.
"""

import re

LONGEST = 200
"""Characters of a name that is looked up."""

_DATE = re.compile(r"([-@])(20\d\d)(-?)(0[1-9]|1[0-2])\3(0[1-9]|[12]\d|3[01])")

# gen_ai.provider.name of OpenTelemetry, the prefixes of gateways (LiteLLM, OpenRouter), and the ids of genai-prices.
_PROVIDERS = {
    "anthropic": ("anthropic",),
    "aws": ("aws.bedrock", "aws", "bedrock", "amazon-bedrock"),
    "azure": ("azure.ai.openai", "azure.ai.inference", "az.ai.openai", "az.ai.inference", "azure", "azure-ai"),
    "cerebras": ("cerebras",),
    "cohere": ("cohere",),
    "deepseek": ("deepseek",),
    "fireworks": ("fireworks", "fireworks-ai"),
    "google": ("gcp.gemini", "gcp.vertex-ai", "gcp.gen-ai", "google", "gemini", "vertex-ai", "vertexai"),
    "groq": ("groq",),
    "mistral": ("mistral-ai", "mistral", "mistralai"),
    "moonshotai": ("moonshot-ai", "moonshotai", "moonshot"),
    "novita": ("novita", "novita-ai"),
    "openai": ("openai",),
    "openrouter": ("openrouter",),
    "perplexity": ("perplexity",),
    "together": ("together", "together-ai"),
    "x-ai": ("x-ai", "xai"),
}
_IDS = {name: key for key, names in _PROVIDERS.items() for name in names}


def provider_id(name: str | None) -> str | None:
    """One id for the names that one provider has; any other name as it is, in lower case; None for none."""
    if not name:
        return None
    return known_provider(name) or name.lower()


def known_provider(name: str) -> str | None:
    """The id of a provider that is known by this name."""
    return _IDS.get(name.lower().replace("_", "-"))


def split(name: str) -> tuple[str | None, str]:
    """The provider in front of a name ("openai/gpt-4o", "models/gemini-2.5-pro"), and the name without it; (None, name)
    where none that is known stands there."""
    head, slash, rest = name.partition("/")
    if slash and rest and head.lower() == "models":
        return "google", rest
    provider = known_provider(head) if slash and rest else None
    return (provider, rest) if provider is not None else (None, name)


def dated(name: str) -> tuple[str, ...]:
    """The name, the name with the date at its end written the other way (2024-08-06, 20240806), and without it."""
    at = len(name)
    match = next((found for size in (9, 11) if (found := _DATE.fullmatch(name, max(at - size, 0)))), None)
    if match is None or match.start() == 0:
        return (name,)
    base, mark, year, month, day = name[: match.start()], match[1], match[2], match[4], match[5]
    other = f"{year}{month}{day}" if match[3] else f"{year}-{month}-{day}"
    return name, f"{base}{mark}{other}", base


def spellings(name: str) -> tuple[str, ...]:
    """What else a name may be called, the nearest first, in lower case."""
    plain = name.lower()
    _, bare = split(plain)
    return tuple(dict.fromkeys((*dated(plain), *dated(bare))))
