"""The parser of messages from the API and the socket. It passes the messages to the inbox, and refuses input over a
limit before anything is stored.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Annotated, Any, NoReturn

from pydantic import BeforeValidator

from arvis.config.sections import Limits
from arvis.domain.dataclass import dataclass
from arvis.domain.effort import EFFORTS
from arvis.domain.errors import Forbidden, Invalid, NotFound, TooLarge, TooMany, Unprocessable
from arvis.domain.messages import Address, IncomingMessage, MessageStatus, PrincipalRole, Sender, Upload
from arvis.domain.platforms import Click
from arvis.domain.quotations import Quotation, QuotationKind, Writer
from arvis.domain.regex import regex
from arvis.domain.reply_format import ReplyFormat, UnusableSchema, check_schema
from arvis.domain.taint import CLEAN, Taint
from arvis.messaging.messages import STOP, WAIT
from arvis.ports.clock import Clock
from arvis.ports.inbox import Inbox
from arvis.services.allowances import Allowed
from arvis.web.http.identity import AGENT_CHANNEL
from arvis.web.http.limits import PIECE, BodyLimit, message_limit, paced
from arvis.web.http.models import About, AnyObject, Body, Label
from arvis.web.http.requests import unusable
from arvis.web.http.schema import one_of

_MAX_FILES = 10
#: The seconds after which a message beyond the limits of its sender is refused.
_REFUSAL_SECONDS = 0.5
_CONTENT_TYPE = regex(r"[\w.+-]{1,60}/[\w.+-]{1,100}(;[ \w.=+\"-]{1,100})?", re.ASCII)
_NOT_IN_NAMES = regex(r"[\x00-\x1f\x7f-\x9f/\\]")
#: The router's reasons for a refusal that would reveal that the named agent exists.
_CLOSED = frozenset({"not_allowed", "not_paired", "not_bound"})


class NewAttachment(Body):
    filename: Annotated[str, About("A long name is cut.")]
    content_type: str | None = None
    data: Annotated[str, About(contentEncoding="base64")]
    voice: Annotated[bool | None, About("A voice message: its transcript becomes the text of the message.")] = None


def _few(files: object) -> object:
    """Raise `TooLarge` if a message has too many files. This runs before the files themselves are checked, because many
    checks would delay other requests."""
    if isinstance(files, list) and len(files) > _MAX_FILES:
        raise TooLarge(f"A message can have at most {_MAX_FILES} attachments.", fix="Send them in several messages.")
    return files


class NewMessage(Body):
    content: str | None = None
    agent: Annotated[
        Label | None, About("The slug or id of the agent that answers; default: the agent of the channel.")
    ] = None
    id: Annotated[
        Label | None, About("Your id of the message. A repeated id on the same channel creates no message.")
    ] = None
    reply_to: Annotated[Label | None, About("The id of the message that this message answers, such as a question.")] = (
        None
    )
    attachments: Annotated[list[NewAttachment] | None, BeforeValidator(_few)] = None
    effort: Annotated[
        Annotated[str, About(**one_of(EFFORTS))] | None,
        About("The reasoning effort for this message; default: the agent's."),
    ] = None
    reply_schema: Annotated[
        AnyObject | None,
        About("A JSON Schema that the reply must match. An invalid reply is corrected once, then the turn fails."),
    ] = None

    @property
    def wishes(self) -> Mapping[str, Any]:
        """Return the parameters for the model."""
        if self.effort is not None and self.effort not in EFFORTS:
            raise unusable("effort", f"must be one of {', '.join(EFFORTS)}")
        effort = {} if self.effort is None else {"effort": self.effort}
        if self.reply_schema is None:
            return effort
        try:
            check_schema(self.reply_schema)
        except UnusableSchema as wrong:
            raise unusable("replySchema", str(wrong)) from None
        return {**effort, "format": ReplyFormat(self.reply_schema).to_json()}


class ClickedButton(Body):
    button_id: Label
    id: Label | None = None
    data: Any = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A message to send."""

    content: str
    #: The client's id of the message; a new id if the client sent none.
    event_id: str
    uploads: tuple[Upload, ...] = ()
    #: The labels of content that does not come from the sender.
    taint: Taint = CLEAN
    #: The id of the message that this message answers.
    reply_to: str | None = None
    #: Parameters for the model (`IncomingMessage.wishes`).
    wishes: Mapping[str, Any] = field(default_factory=dict)
    #: The slug of the agent that answers; None: the agent of the channel.
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Sent:
    message_id: str
    event_id: str


class MessageParser:
    """The parser of messages, which passes them to the inbox. `new_token` creates an id for each message that the
    client sent without an id."""

    def __init__(self, *, inbox: Inbox, limits: Limits, new_token: Callable[[], str], clock: Clock) -> None:
        self._inbox = inbox
        self._limits = limits
        self._new_token = new_token
        self._clock = clock
        self._turn = asyncio.Lock()

    @property
    def body_limit(self) -> BodyLimit:
        return message_limit(self._limits, self._turn)

    @property
    def allowed(self) -> Allowed:
        limits = self._limits
        return Allowed(messages_per_minute=limits.messages_per_minute, bytes_per_day=limits.upload_bytes_per_day)

    async def draft(self, message: NewMessage) -> Draft:
        content = message.content or ""
        self._check_size(content)
        uploads = tuple([await self._upload(file) for file in message.attachments or ()])
        if not content.strip() and not uploads:
            raise Invalid("The message is empty.", fix="Send `content` or `attachments`.", code="empty")
        event_id = self._event_id(message.id)
        return Draft(content, event_id, uploads, reply_to=message.reply_to, wishes=message.wishes, agent=message.agent)

    def answer(self, clicked: ClickedButton, address: Address, sender: Sender) -> Click | None:
        """Return the click if the button belongs to Arvis itself (a question or Stop). Return None for a button that an
        agent wrote."""
        button = clicked.button_id
        if button.partition(".")[0] not in {WAIT, STOP}:
            return None
        return Click(address, _inbox_id(self._event_id(clicked.id), address), sender, button)

    def click(self, clicked: ClickedButton) -> Draft:
        """Return the message that an agent gets for a click on its button."""
        content = f"[Button clicked: {clicked.button_id}]"
        if clicked.data is not None:
            content = f"{content} {json.dumps(clicked.data, ensure_ascii=False)}"
        self._check_size(content)
        return Draft(content, self._event_id(clicked.id))

    async def send(self, draft: Draft, address: Address, sender: Sender) -> Sent:
        """Send the message and return after its commit. Raise an error if the inbox refused the message and stored it
        as dropped."""
        _check_channel(draft.agent, address)
        message = IncomingMessage(
            address=address,
            event_id=_inbox_id(draft.event_id, address),
            sender=sender,
            content=draft.content,
            uploads=draft.uploads,
            is_direct=True,
            taint=draft.taint,
            in_reply_to=draft.reply_to,
            quotations=_quotations(draft.reply_to),
            wishes=draft.wishes,
            assigned_agent=draft.agent,
        )
        try:
            received = await self._inbox.receive(message)
        except TooMany as error:
            await self.refuse(error)
        if received.duplicate and received.differs:
            raise Unprocessable(
                f"The id of this message was already used for another message ({received.message_id}).",
                fix="Use a new id for each message. To repeat a message, send the same text and files.",
                code="key_reused",
            )
        if received.status is MessageStatus.DROPPED:
            named = draft.agent is not None or address.channel.startswith(AGENT_CHANNEL)
            reason = "unknown_agent" if named and _hides(received.reason, sender) else received.reason
            raise _refusal(reason, received.message_id)
        return Sent(received.message_id, draft.event_id)

    async def refuse(self, error: TooMany) -> NoReturn:
        """Raise the error after a pause, because a client that sends further messages without a pause would otherwise slow
        down all other people."""
        await self._clock.sleep(_REFUSAL_SECONDS)
        raise error

    def _event_id(self, sent: str | None) -> str:
        return sent or self._new_token()

    def _check_size(self, content: str) -> None:
        most = self._limits.message_bytes
        if len(content.encode()) > most:
            raise TooLarge(
                f"The message is longer than {most} bytes.",
                fix="Send it in parts, or raise `limits.message_bytes`.",
                code="message_too_large",
            )

    async def _upload(self, file: NewAttachment) -> Upload:
        name = _NOT_IN_NAMES.sub("_", file.filename).strip(" .")[-200:] or "file"
        kind = file.content_type or "application/octet-stream"
        if not _CONTENT_TYPE.fullmatch(kind):
            raise unusable("contentType", "must be a media type such as image/png")
        most = self._limits.attachment_bytes
        if len(file.data) // 4 * 3 > most + 2:
            raise _file_too_large(most)
        async with self._turn:
            data = await asyncio.to_thread(_decoded, file.data)
        if len(data) > most:
            raise _file_too_large(most)
        return Upload(name, kind, data, voice=bool(file.voice))


def _inbox_id(event_id: str, address: Address) -> str:
    """Return the id of the message for the inbox.

    The inbox identifies a message by its channel and id. People in different threads of one channel must not share ids,
    so the id for the inbox begins with the thread and a slash. Slashes in the client's id are escaped, so that no
    client can choose an id of another thread.
    """
    own = event_id.replace("%", "%25").replace("/", "%2f")
    return f"{address.thread}/{own}" if address.thread else own


def _quotations(reply_to: str | None) -> tuple[Quotation, ...]:
    """Return the quotation of the message that a message answers. The inbox adds its author and its text."""
    return () if reply_to is None else (Quotation(QuotationKind.REPLY, Writer.OTHER, ref=reply_to),)


def _decoded(text: str) -> bytes:
    """Decode base64 in pieces, so that other threads can work between them. Each piece can be decoded separately,
    because `PIECE` is a multiple of four. Padding is allowed only at the end of the whole text."""
    try:
        pieces = [base64.b64decode(text[start : start + PIECE], validate=True) for start in paced(len(text))]
    except ValueError:
        raise unusable("data", "must be base64") from None
    if 0 <= text.find("=") < len(text) - 2:
        raise unusable("data", "must be base64")
    return b"".join(pieces)


def _file_too_large(most: int) -> TooLarge:
    return TooLarge(
        f"An attachment is larger than {most} bytes.",
        fix="Send a smaller file, or raise `limits.attachment_bytes`.",
        code="attachment_too_large",
    )


def _check_channel(agent: str | None, address: Address) -> None:
    """Raise `Unprocessable` if the channel belongs to an agent other than the named one."""
    owner = address.channel.removeprefix(AGENT_CHANNEL)
    if agent is not None and address.channel.startswith(AGENT_CHANNEL) and owner != agent:
        raise Unprocessable(
            f"The channel {address.channel} belongs to the agent {owner}.",
            fix=f"Omit the channel, or choose another channel for {agent}.",
            code="channel_of_another",
        )


def _hides(reason: str, sender: Sender) -> bool:
    """Return whether the sender must not learn that the named agent exists. Members see no list of all agents, so they
    get the same error for an agent they may not use as for an unknown agent."""
    return sender.role is PrincipalRole.MEMBER and reason in _CLOSED


def _refusal(reason: str, message_id: str) -> NotFound | Forbidden:
    if reason == "unknown_agent":
        return NotFound(
            "There is no such agent, or you may not ask it.",
            fix="Choose an agent from the list (GET /api/agents, or the dashboard).",
            code=reason,
        )
    return Forbidden(
        f"The message was not accepted ({reason}).", fix=f"`arvis explain {message_id}` shows why.", code=reason
    )
