"""E-mails about notifications, received by a real SMTP server: TLS, login, refusals, and attempts that follow."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from arvis.bus import EventBus
from arvis.config import Email
from arvis.domain.money import SpendingLimits
from arvis.domain.notifications import DAY_MS, Hint, Notification, NotificationState, Problem
from arvis.messaging.owner_alerts import alert_owner, resolve
from arvis.notifications import Notifier, Observations
from arvis.notifications.mail import Mailer
from arvis.notifications.notifier import MailRefused
from arvis.ports.store import Store
from arvis.process.clock import IdMaker
from arvis.process.leases import Holding
from arvis.store.open import Database, open_store
from arvis.testing.clock import SteppedClock
from tests.conformance.databases import migrated
from tests.parts import require

NOW = 1_800_000_000_000
PASSWORD = "correct horse"
FIRE = Problem(
    cause="fire", text="It burns. ü\nEverywhere.", hint=Hint("\n`arvis doctor` shows it.", "", "/settings/doctor")
)
FOUND = Notification(id="N1", problem=FIRE, state=NotificationState.OPEN, first_at=NOW, last_at=NOW, count=1)


class Inbox:
    """A handler that keeps the e-mails; `refusal` is its answer to recipients, if it
    refuses them, and `unknown` is a recipient that it refuses."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.encrypted: list[bool] = []
        self.refusal = ""
        self.unknown = ""

    async def handle_RCPT(  # noqa: N802 - named by aiosmtpd
        self, _server: Any, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        if self.refusal:
            return self.refusal
        if address == self.unknown:
            return "550 unknown"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: Any, session: Session, envelope: Envelope) -> str:  # noqa: N802
        assert isinstance(envelope.content, bytes)
        self.mails.append(BytesParser(EmailMessage, policy=default).parsebytes(envelope.content))
        self.encrypted.append(session.ssl is not None)
        return "250 OK"


def authenticate(_server: Any, _session: Session, _envelope: Envelope, _mechanism: str, data: Any) -> AuthResult:
    assert isinstance(data, LoginPassword)
    return AuthResult(success=data.password == PASSWORD.encode(), handled=False)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("certificate")
    file, key = folder / "certificate.pem", folder / "key.pem"
    openssl = str(require("openssl", "install openssl (Debian: apt-get install openssl)"))
    command = [openssl, "req", "-x509", "-nodes", "-newkey", "rsa:2048", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(file)]
    subprocess.run(command, check=True, capture_output=True)
    return file, key


@pytest.fixture
def inbox() -> Inbox:
    return Inbox()


@asynccontextmanager
async def serving(inbox: Inbox, *, implicit: ssl.SSLContext | None = None, **options: Any) -> AsyncIterator[int]:
    """Yield the port of a server; `implicit` encrypts its connections from the first byte."""
    make = partial(SMTP, inbox, hostname="127.0.0.1", **options)
    server = await asyncio.get_running_loop().create_server(make, "127.0.0.1", 0, ssl=implicit)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()


def context_of(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return context


@pytest.fixture
async def port(inbox: Inbox, certificate: tuple[Path, Path]) -> AsyncIterator[int]:
    """The port of a server that requires STARTTLS and a login."""
    context = context_of(certificate)
    strict: dict[str, Any] = {
        "tls_context": context,
        "require_starttls": True,
        "authenticator": authenticate,
        "auth_required": True,
    }
    async with serving(inbox, **strict) as port:
        yield port


def settings(at: int, certificate: tuple[Path, Path], **changed: Any) -> Email:
    given: dict[str, Any] = {
        "host": "127.0.0.1", "port": at, "user": "arvis", "password": PASSWORD,
        "ca_file": str(certificate[0]), "sender": "arvis@example.org", "to": ["ann@example.org", "bob@example.org"],
    }  # fmt: skip
    return Email.model_validate({**given, **changed})


async def test_a_mail_is_sent_over_an_encrypted_connection_after_a_login(
    port: int, certificate: tuple[Path, Path], inbox: Inbox
) -> None:
    mailer = Mailer(settings=settings(port, certificate), host_url="https://arvis.example.org/")
    await mailer.send(FOUND, NOW, is_end=False)
    await mailer.send(FOUND, NOW, is_end=True)
    [begun, ended] = inbox.mails
    assert inbox.encrypted == [True, True]
    assert begun["From"] == "Arvis <arvis@example.org>"
    assert begun["To"] == "ann@example.org, bob@example.org"
    assert begun["Subject"] == "[Arvis] It burns. ü"
    assert ended["Subject"] == "[Arvis] Resolved: It burns. ü"
    assert begun["Auto-Submitted"] == "auto-generated"
    assert begun["References"] == ended["References"]
    assert begun["Message-ID"] != ended["Message-ID"]
    text = begun.get_content()
    assert "It burns. ü\nEverywhere.\n`arvis doctor` shows it." in text.replace("\r\n", "\n")
    assert "https://arvis.example.org/settings/doctor" in text


async def test_a_line_break_in_a_text_adds_no_header(port: int, certificate: tuple[Path, Path], inbox: Inbox) -> None:
    text = "It burns.\r\nBcc: eve@example.org\x0bx\u2028y" + "z" * 500
    found = replace(FOUND, problem=replace(FIRE, text=text))
    await Mailer(settings=settings(port, certificate), host_url=None).send(found, NOW, is_end=False)
    [mail] = inbox.mails
    assert mail["Bcc"] is None
    assert mail["Subject"] == "[Arvis] It burns."


async def test_a_server_with_tls_from_the_first_byte(inbox: Inbox, certificate: tuple[Path, Path]) -> None:
    plain = {"user": None, "password": None, "security": "tls"}
    async with serving(inbox, implicit=context_of(certificate)) as port:
        await Mailer(settings=settings(port, certificate, **plain), host_url=None).send(FOUND, NOW, is_end=False)
    assert len(inbox.mails) == 1


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"password": "wrong secret"}, "rejected the user or the password"),
        ({"ca_file": None}, "is not secure"),
        ({"security": "none", "user": None, "password": None}, "refused the e-mail"),
        ({"security": "tls"}, "is not secure"),
        ({"port": 1}, "cannot be reached"),
    ],
)
async def test_a_refusal_names_its_reason_and_no_password(
    port: int, certificate: tuple[Path, Path], inbox: Inbox, changed: dict[str, Any], words: str
) -> None:
    mailer = Mailer(settings=settings(port, certificate, **changed), host_url=None)
    with pytest.raises(MailRefused, match=words) as refused:
        await mailer.send(FOUND, NOW, is_end=False)
    said = f"{refused.value.what} {refused.value.why} {refused.value.fix}"
    assert PASSWORD not in said
    assert "wrong secret" not in said
    assert inbox.mails == []


async def test_refused_recipients_are_named(port: int, certificate: tuple[Path, Path], inbox: Inbox) -> None:
    inbox.refusal = "550 unknown here"
    with pytest.raises(MailRefused) as refused:
        await Mailer(settings=settings(port, certificate), host_url=None).send(FOUND, NOW, is_end=False)
    assert "ann@example.org: 550 unknown here" in refused.value.why


async def test_one_refused_recipient_does_not_prevent_the_mail_to_the_others(
    port: int, certificate: tuple[Path, Path], inbox: Inbox
) -> None:
    inbox.unknown = "bob@example.org"
    mailer = Mailer(settings=settings(port, certificate), host_url=None)
    assert await mailer.send(FOUND, NOW, is_end=False) == "bob@example.org: 550 unknown"
    assert len(inbox.mails) == 1


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    clock = SteppedClock(now=NOW)
    database = Database(tmp_path / "arvis.db", None, tmp_path)
    migrated(database, NOW)
    async with open_store(database, boot="b", new_id=IdMaker(clock=clock, random_bits=lambda _: 0)) as (store, _):
        yield store


async def test_the_notifier_tries_again_until_the_server_accepts_and_reports_the_end(
    port: int, certificate: tuple[Path, Path], inbox: Inbox, store: Store
) -> None:
    clock = SteppedClock(now=NOW)
    observations = Observations(
        disk_low=lambda: False, newest_backup=None, backup_every=DAY_MS, accounts=list, limits=SpendingLimits, clock=clock
    )  # fmt: skip
    mailer = Mailer(settings=settings(port, certificate), host_url=None)
    notifier = Notifier(store=store, bus=EventBus(), clock=clock, observations=observations, mailer=mailer)
    holding = Holding(clock=clock, lease=None, until=float("inf"))
    await store.write(alert_owner, FIRE, clock.now())
    inbox.refusal = "451 later"
    await notifier.look(holding)
    found = await store.read(lambda tx: tx.notifications.newest("email"))
    assert found is not None
    assert "451 later" in found.problem.text
    inbox.refusal = ""
    await notifier.look(holding)
    assert inbox.mails == [], "the next attempt follows after a pause"
    await clock.sleep(61)
    await notifier.look(holding)
    await store.write(alert_owner, FIRE, clock.now())
    await notifier.look(holding)
    assert [mail["Subject"] for mail in inbox.mails] == ["[Arvis] It burns. ü"], "at most one e-mail an hour"
    found = await store.read(lambda tx: tx.notifications.newest("email"))
    assert found is not None
    assert found.state is NotificationState.RESOLVED
    await store.write(resolve, "fire", clock.now())
    await notifier.look(holding)
    await notifier.look(holding)
    assert [mail["Subject"] for mail in inbox.mails][1:] == ["[Arvis] Resolved: It burns. ü"]
