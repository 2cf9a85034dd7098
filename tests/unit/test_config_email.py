"""The section `email` of the configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.config_kit import CANARY, read, refusal


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


GOOD = "host: mail.example.org, sender: arvis@example.org, to: [ann@example.org, bob@example.org]"


def test_without_a_host_no_mails_are_sent() -> None:
    assert read("").email.host is None
    assert read("email: {sender: a@example.org}").email.host is None


def test_the_password_is_a_secret() -> None:
    config = read(f"email: {{{GOOD}, user: arvis, password: 'env:MAIL'}}", {"MAIL": CANARY})
    assert (config.email.port, config.email.security) == (587, "starttls")
    assert config.email.to == ("ann@example.org", "bob@example.org")
    assert CANARY in config.secrets()
    assert CANARY not in repr(config)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("host: mail.example.org", "no `sender` or no `to`"),
        ("host: h, sender: arvis@example.org, to: []", "no `sender` or no `to`"),
        ("host: h, sender: Arvis, to: [a@b]", "must be an e-mail address"),
        ("host: h, sender: 'a@b\\r\\nBcc: c@d', to: [a@b]", "must be an e-mail address"),
        ("host: h, sender: a@b, to: ['Ann <a@b>']", "is not an e-mail address"),
        (f"{GOOD}, user: arvis", "only one of `user` and `password`"),
        (f"{GOOD}, password: secret-word", "only one of `user` and `password`"),
        (f"{GOOD}, user: arvis, password: secret-word, security: none", "unencrypted"),
        (f"{GOOD}, ca_file: mail.pem", "must be an absolute path"),
        (f"{GOOD}, port: 0", "port"),
        (f"{GOOD}, security: ssl", "security"),
    ],
)
def test_a_section_that_cannot_work_is_refused(written: str, words: str) -> None:
    shown = refusal(f"email: {{{written}}}")
    assert words in shown
    assert "secret-word" not in shown
