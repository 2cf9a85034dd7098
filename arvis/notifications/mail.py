"""Sends notifications as e-mails over SMTP. The rows of the notifications record the e-mails that are due, so this
module stores nothing. It is imported only if the configuration names a server."""

from __future__ import annotations

import asyncio
import smtplib
import ssl
from contextlib import ExitStack
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime

from arvis.config import Email
from arvis.domain.notifications import Notification
from arvis.messaging.owner_alerts import end_text
from arvis.notifications.notifier import MailRefused

#: The time limit (s) of each exchange with the server.
_TIMEOUT = 10.0
#: The maximum number of characters of a subject, and of an error of the server.
_LONGEST_SUBJECT = 120
_LONGEST_ERROR = 200

_CHECK = "Check the section `email` of config.yaml"


class Mailer:
    """The connection to the SMTP server of the configuration. `host_url` is the public address of the dashboard (None:
    the dashboard has no public address). Implements `SendsMails`."""

    def __init__(self, *, settings: Email, host_url: str | None) -> None:
        self._settings = settings
        self._host_url = host_url

    async def send(self, about: Notification, now: int, *, is_end: bool) -> str:
        """Send an e-mail about a notification, or about its end. Return a text that names the recipients whom the
        server refused; "" if it accepted all. Raise `MailRefused` if the server accepted no recipient."""
        message = self.message_of(about, now, is_end=is_end)
        return await asyncio.to_thread(self._deliver, message)

    def message_of(self, about: Notification, now: int, *, is_end: bool) -> EmailMessage:
        text = end_text(about) if is_end else about.problem.text
        domain = self._settings.sender.rpartition("@")[2]
        message = EmailMessage()
        message["From"] = f"Arvis <{self._settings.sender}>"
        message["To"] = ", ".join(self._settings.to)
        message["Subject"] = f"[Arvis] {_subject(text)}"
        message["Date"] = format_datetime(datetime.fromtimestamp(now / 1000, UTC))
        # If the process dies after the server has accepted an e-mail, the e-mail is sent again with the same id.
        message["Message-ID"] = f"<{about.id}.{'end' if is_end else about.last_at}@{domain}>"
        message["References"] = f"<{about.id}@{domain}>"
        message["Auto-Submitted"] = "auto-generated"
        message.set_content("\n".join([text, *self._more(about, is_end=is_end)]))
        return message

    def _more(self, about: Notification, *, is_end: bool) -> list[str]:
        hint = about.problem.hint
        lines = [] if is_end or not hint.command else [hint.command.strip()]
        if self._host_url is not None:
            lines += ["", f"{self._host_url.rstrip('/')}{hint.link or '/notifications'}"]
        return [*lines, "", "-- ", "Arvis sends this e-mail to the addresses in `email.to` of its configuration."]

    def _deliver(self, message: EmailMessage) -> str:
        settings = self._settings
        where = f"{settings.host} port {settings.port}"
        try:
            with ExitStack() as stack:
                server = stack.enter_context(self._connect())
                if settings.security == "starttls":
                    server.starttls(context=self._trust())
                if settings.user is not None and settings.password is not None:
                    server.login(settings.user, settings.password.get_secret_value())
                refused = server.send_message(message, settings.sender, list(settings.to))
        except smtplib.SMTPAuthenticationError as error:
            raise MailRefused(
                "The mail server rejected the user or the password", why=_said(error), fix=_CHECK
            ) from None
        except smtplib.SMTPRecipientsRefused as error:
            fix = "Check `email.to` in config.yaml"
            raise MailRefused(
                "The mail server refused all recipients", why=_reasons(error.recipients), fix=fix
            ) from None
        except smtplib.SMTPNotSupportedError as error:
            fix = f"{_CHECK}, for example `email.security`"
            raise MailRefused(f"The mail server {where} lacks a feature", why=_short(error), fix=fix) from None
        except smtplib.SMTPException as error:
            raise MailRefused(f"The mail server {where} refused the e-mail", why=_said(error), fix=_CHECK) from None
        except ssl.SSLError as error:
            fix = f"{_CHECK}, for example `email.security` and `email.ca_file`"
            raise MailRefused(f"The connection to {where} is not secure", why=_short(error), fix=fix) from None
        except OSError as error:
            raise MailRefused(f"The mail server {where} cannot be reached", why=_short(error), fix=_CHECK) from None
        return _reasons(refused)

    def _connect(self) -> smtplib.SMTP:
        host, port = self._settings.host or "", self._settings.port
        if self._settings.security == "tls":
            return smtplib.SMTP_SSL(host, port, timeout=_TIMEOUT, context=self._trust())
        return smtplib.SMTP(host, port, timeout=_TIMEOUT)

    def _trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self._settings.ca_file)


def _reasons(recipients: dict[str, tuple[int, bytes]]) -> str:
    return "; ".join(f"{address}: {code} {_plain(text)}" for address, (code, text) in recipients.items())


def _subject(text: str) -> str:
    first = " ".join((text.splitlines() or [""])[0].split())
    return first if len(first) <= _LONGEST_SUBJECT else f"{first[: _LONGEST_SUBJECT - 1]}…"


def _said(error: smtplib.SMTPException) -> str:
    """Return the answer of the server as text."""
    if isinstance(error, smtplib.SMTPResponseException):
        return f"{error.smtp_code} {_plain(error.smtp_error)}"
    return _short(error)


def _plain(text: bytes | str) -> str:
    shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return " ".join("".join(letter if letter.isprintable() else " " for letter in shown).split())[:_LONGEST_ERROR]


def _short(error: Exception) -> str:
    return _plain(str(error) or type(error).__name__)
