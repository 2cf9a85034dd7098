"""The caller of a request and their rights.

The credential determines the user. A login belongs to its user. A request with an owner key may name the user who sends
a message. Every other key is a separate user.

The credential also determines the channels. Owners and operators may use any channel. Other users may use their own
channels (`web-ID`, `cli-ID`, and these with a `-suffix`) and `dashboard-agent-X` with their user id as the thread, so
that people who write to the same agent do not see one another's messages.
"""

from __future__ import annotations

from enum import StrEnum

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import Forbidden
from arvis.domain.messages import Address, PrincipalRole, Sender
from arvis.domain.users import FIRST_USER

PLATFORM = "web"

#: The user id of the person who has the data folder and the owner keys.
OWNER_ID = FIRST_USER

AGENT_CHANNEL = "dashboard-agent-"


class Role(StrEnum):
    """The roles of keys and dashboard users."""

    ANONYMOUS = "anonymous"
    CHAT = "chat"
    VIEWER = "viewer"
    OPERATOR = "operator"
    OWNER = "owner"


Access = frozenset[Role]

PUBLIC: Access = frozenset(Role)
ANYONE: Access = PUBLIC - {Role.ANONYMOUS}
SEND: Access = frozenset({Role.CHAT, Role.OPERATOR, Role.OWNER})
READ: Access = frozenset({Role.VIEWER, Role.OPERATOR, Role.OWNER})
OPERATE: Access = frozenset({Role.OPERATOR, Role.OWNER})
OWN: Access = frozenset({Role.OWNER})

PRINCIPAL_ROLES = {
    Role.CHAT: PrincipalRole.MEMBER,
    Role.VIEWER: PrincipalRole.MEMBER,
    Role.OPERATOR: PrincipalRole.OPERATOR,
    Role.OWNER: PrincipalRole.OWNER,
}


@dataclass(frozen=True, slots=True)
class Identity:
    """A verified credential."""

    role: Role
    user_id: str
    name: str
    paired: bool = False
    #: The only agents that a chat key may use; None: no limit.
    agents: tuple[str, ...] | None = None
    #: The hash of the login's cookie.
    session: str | None = None
    #: The credential is an owner key, so the request may name the user of a message.
    may_name: bool = False
    #: The id of a key of the database.
    key: str | None = None


ANONYMOUS = Identity(Role.ANONYMOUS, "", "")


def sender_for(identity: Identity, user_id: str | None, user_name: str | None, owners: frozenset[str]) -> Sender:
    """Return the sender of a message. `user_id` and `user_name` are ignored unless the credential may name a user.
    `owners` is the configuration's `owners.web`."""
    if identity.may_name and user_id is not None:
        owner = user_id == OWNER_ID or user_id in owners
        role = PrincipalRole.OWNER if owner else PrincipalRole.MEMBER
        return Sender(user_id, user_name or user_id, role, paired=True)
    role = PRINCIPAL_ROLES[identity.role]
    return Sender(identity.user_id, identity.name, role, paired=identity.paired, agents=identity.agents)


def address_for(identity: Identity, channel: str) -> Address:
    """Return the address of a channel for this credential. Raise `Forbidden` if the credential may not use the
    channel."""
    if identity.role in OPERATE:
        return Address(PLATFORM, PLATFORM, channel)
    if channel.startswith(AGENT_CHANNEL):
        return Address(PLATFORM, PLATFORM, channel, thread=identity.user_id)
    if _is_own(channel, identity.user_id):
        return Address(PLATFORM, PLATFORM, channel)
    raise Forbidden(
        "This channel belongs to another user.",
        fix=f"Use the channel web-{identity.user_id}, or dashboard-agent-SLUG to write to an agent.",
        code="not_your_channel",
    )


def _is_own(channel: str, user_id: str) -> bool:
    return any(channel == own or channel.startswith(f"{own}-") for own in (f"web-{user_id}", f"cli-{user_id}"))
