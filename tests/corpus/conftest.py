"""The pretend service for the tests that ask httpx directly; one for each test process."""

from __future__ import annotations

import ssl
from collections.abc import Iterator

import httpx
import pytest

from .servers import Service


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    """The pretend service, running."""
    with Service() as running:
        yield running


@pytest.fixture
def trusting(service: Service) -> ssl.SSLContext:
    """A context that trusts the authority of the pretend service."""
    return ssl.create_default_context(cafile=str(service.ca_file))


@pytest.fixture(autouse=True)
def no_influence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide from httpx what the machine that runs the tests says about proxies and certificates."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def client(service: Service, trusting: ssl.SSLContext) -> Iterator[httpx.Client]:
    """A client for the pretend service over plain HTTP, without any influence from outside."""
    with httpx.Client(base_url=f"http://{service.plain.address}", verify=trusting, trust_env=False) as client:
        yield client
