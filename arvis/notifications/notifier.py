"""The loop that observes causes, ends notifications, and sends the messages and e-mails that are due. One process runs
it for all processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import structlog

from arvis.bus import EventBus
from arvis.domain.changes import ChangeTopic
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import ArvisError, StoreError
from arvis.domain.events import Changed
from arvis.domain.notifications import DAY_MS, Hint, Notification, NotificationState, Problem, Severity
from arvis.messaging import owner_alerts
from arvis.notifications.causes import MOST, Facts, Observations, due_steps
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.process.leases import Holding

T = TypeVar("T")

log = structlog.get_logger(__name__)

#: The longest time (s) between two rounds. A new notification causes an earlier round, but not before `_LEAST_SECONDS`
#: have passed.
ROUND_SECONDS = 60.0
_LEAST_SECONDS = 1.0
#: The pause (s) after the first failed e-mail, and the longest pause. Each pause is twice as long as the one before it.
_FIRST_PAUSE, _LONGEST_PAUSE = 60.0, 3600.0

_MAIL = "email"


@dataclass(frozen=True, slots=True)
class Mail:
    """An e-mail to send: about a notification, or about its end."""

    about: Notification
    is_end: bool


class MailRefused(ArvisError):
    """An e-mail that could not be sent. Another attempt may succeed."""


class SendsMails(Protocol):
    async def send(self, about: Notification, now: int, *, is_end: bool) -> str:
        """Send an e-mail about a notification, or about its end. Return a text that names the recipients whom the
        server refused; "" if it accepted all. Raise `MailRefused` if the server accepted no recipient."""
        ...


class Notifier:
    """The task that handles notifications in rounds. `mailer` is None if no e-mail is configured."""

    def __init__(
        self, *, store: Store, bus: EventBus, clock: Clock, observations: Observations, mailer: SendsMails | None
    ) -> None:
        self._store = store
        self._bus = bus
        self._clock = clock
        self._observations = observations
        self._mailer = mailer
        self._pause = _FIRST_PAUSE
        self._mails_from = clock.monotonic()

    async def run(self, holding: Holding) -> None:
        """Run rounds until cancelled: one a minute, and one after each change of the notifications."""
        with self._bus.signal(Changed, when=lambda event: event.topic == ChangeTopic.NOTIFICATIONS) as changed:
            while True:
                try:
                    await self.look(holding)
                except StoreError as error:
                    log.warning("duty_failed", duty="notifications", error=error.what, why=error.why)
                await self._clock.sleep(_LEAST_SECONDS)
                await changed.wait(ROUND_SECONDS)

    async def look(self, holding: Holding) -> None:
        """Run one round. A round without changes writes nothing."""
        facts = await self._observations.read()
        if await self._store.read(_is_due, facts, self._clock.now()):
            await self._change(_apply, holding, facts)
        if self._mailer is not None and self._clock.monotonic() >= self._mails_from:
            await self._send_mails(self._mailer, holding)

    async def _send_mails(self, mailer: SendsMails, holding: Holding) -> None:
        """Send the e-mails that are due, oldest first. After a failure, wait before the next attempt."""
        for mail in await self._store.read(due_mails, self._clock.now()):
            if not holding.held:
                return
            try:
                refused_by = await mailer.send(mail.about, self._clock.now(), is_end=mail.is_end)
            except MailRefused as refused:
                log.warning("mail_not_sent", error=refused.what, why=refused.why, fix=refused.fix)
                self._mails_from = self._clock.monotonic() + self._pause
                self._pause = min(self._pause * 2, _LONGEST_PAUSE)
                await self._change(_note_refusal, holding, f"{refused.what}. {refused.why}. {refused.fix}")
                return
            self._pause = _FIRST_PAUSE
            await self._change(_note_sent, holding, mail)
            await self._change(_note_recipients, holding, refused_by)

    async def _change(self, script: Callable[[Transaction, Holding, T, int], None], holding: Holding, value: T) -> None:
        await self._store.write(script, holding, value, self._clock.now())
        self._bus.publish(Changed(ChangeTopic.NOTIFICATIONS))


# -- scripts -----------------------------------------------------------------------------------------------------------


def _is_due(tx: Transaction, facts: Facts, now: int) -> bool:
    return bool(due_steps(tx, facts, now))


def _apply(tx: Transaction, holding: Holding, facts: Facts, now: int) -> None:
    holding.check(tx)
    for step in due_steps(tx, facts, now):
        step(tx, now)


def due_mails(tx: Transaction, now: int) -> list[Mail]:
    """Return the e-mails to send now, the oldest notification first. No e-mail is sent about a notification that ended
    before its e-mail was sent, or about the notification that e-mails cannot be sent."""
    begun = [each for each in tx.notifications.lasting(MOST) if each.state is NotificationState.OPEN]
    due = [Mail(each, is_end=False) for each in begun if each.may_mail(now)]
    ended = [Mail(each, is_end=True) for each in tx.notifications.unmailed_ends(MOST)]
    mails = [mail for mail in (*due, *ended) if mail.about.problem.cause != _MAIL]
    return sorted(mails, key=lambda mail: mail.about.id)


def _note_sent(tx: Transaction, holding: Holding, mail: Mail, now: int) -> None:
    holding.check(tx)
    found = tx.notifications.get(mail.about.id)
    if found is None:
        return
    if mail.is_end:
        tx.notifications.save(replace(found, end_unmailed=False))
    else:
        ended = found.state is NotificationState.RESOLVED
        tx.notifications.save(replace(found, mailed_at=max(now, mail.about.last_at), end_unmailed=ended))


def _note_recipients(tx: Transaction, holding: Holding, refused: str, now: int) -> None:
    """End the notification that e-mails cannot be sent, because one was sent. If the server has refused some recipients
    (`refused`), store a notification about these recipients instead."""
    if refused:
        _note_refusal(tx, holding, f"The mail server refused recipients. {refused}", now)
    else:
        owner_alerts.resolve(tx, _MAIL, now)


def _note_refusal(tx: Transaction, holding: Holding, error: str, now: int) -> None:
    holding.check(tx)
    problem = Problem(
        cause=_MAIL,
        text=f"Some e-mails about notifications cannot be sent. {error}",
        severity=Severity.WARNING,
        hint=Hint(link="/settings/logs"),
        interval=DAY_MS,
    )
    owner_alerts.observe(tx, problem, now)
