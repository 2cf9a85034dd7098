"""The address of a remote browser: its parts, and the addresses that the configuration refuses."""

from __future__ import annotations

import pytest
from pydantic import SecretStr, ValidationError

from arvis.config.sections import Browser
from arvis.tools.browser.endpoint import read_endpoint


def test_the_parts_of_an_address() -> None:
    local = read_endpoint("http://127.0.0.1:9222")
    assert (local.name, local.tls, local.discover, local.path, local.query) == ("127.0.0.1:9222", False, True, "", "")
    assert local.headers == {"Host": "127.0.0.1:9222"}
    service = read_endpoint("wss://ann:a%40b@browser.example/chrome?token=secret")
    assert (service.name, service.tls, service.discover) == ("browser.example:443", True, False)
    assert (service.path, service.query) == ("/chrome", "token=secret")
    assert service.headers == {"Host": "browser.example", "Authorization": "Basic YW5uOmFAYg=="}
    assert "secret" not in repr(service)
    assert read_endpoint("ws://[::1]:3000/").name == "[::1]:3000"


@pytest.mark.parametrize(
    "address", ["", "browser.example", "ftp://x/", "http://", "http://x:99999999", "ws://x/ y", "ws://ü/"]
)
def test_other_addresses_are_refused(address: str) -> None:
    with pytest.raises(ValidationError, match="address of a browser's DevTools"):
        Browser(endpoint=SecretStr(address))


@pytest.mark.parametrize(
    ("address", "secrets"),
    [
        ("http://127.0.0.1:9222", set()),
        ("ws://chrome:3000/devtools/browser", {"ws://chrome:3000/devtools/browser"}),
        ("wss://x/?token=0123456789abcdef&t=5", {"wss://x/?token=0123456789abcdef&t=5", "0123456789abcdef"}),
        ("http://ann:p%40ss@x/", {"http://ann:p%40ss@x/", "p%40ss", "p@ss"}),
    ],
)
def test_keys_in_an_address_are_secrets(address: str, secrets: set[str]) -> None:
    assert set(Browser(endpoint=SecretStr(address)).secrets()) == secrets
