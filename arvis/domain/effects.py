"""Actions that a model requests by tags in its reply, and their results."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from arvis.domain.dataclass import dataclass


class EffectKind(StrEnum):
    REMEMBER = "remember"
    STATE = "state"
    DELEGATE = "delegate"
    CREATE_AGENT = "create_agent"
    UPDATE_AGENT = "update_agent"
    PAUSE_AGENT = "pause_agent"
    DELETE_AGENT = "delete_agent"
    CREATE_CRON = "create_cron"
    UPDATE_CRON = "update_cron"
    DELETE_CRON = "delete_cron"
    CREATE_HEARTBEAT = "create_heartbeat"
    UPDATE_HEARTBEAT = "update_heartbeat"
    DELETE_HEARTBEAT = "delete_heartbeat"
    CREATE_CLIENT = "create_client"
    LIST_AGENTS = "list_agents"
    LIST_CRONS = "list_crons"
    LIST_HEARTBEATS = "list_heartbeats"
    LIST_CLIENTS = "list_clients"


#: Actions that only a conductor may request.
CONDUCTOR_KINDS = frozenset(EffectKind) - {EffectKind.REMEMBER, EffectKind.STATE, EffectKind.DELEGATE}


@dataclass(frozen=True, slots=True)
class Proposal:
    """One parsed tag: an action that a model requests."""

    #: The number of the tag in its reply, from 1.
    ordinal: int
    kind: EffectKind
    #: The category of a fact, the key of a value, the slug of an agent, or the id or name of a schedule.
    subject: str
    #: The content of the tag as plain JSON. The text of a fact, value or task is under the key `text`.
    fields: Mapping[str, Any]
    #: The reason why the tag is invalid; None if the tag is valid. The action of an invalid tag is not carried out.
    problem: str | None = None

    @property
    def fingerprint(self) -> str:
        """A hash of the kind, subject and fields. A person's approval applies only to proposals with the same hash."""
        wanted = json.dumps([self.kind, self.subject, self.fields], sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(wanted.encode()).hexdigest()[:16]

    @property
    def name(self) -> str:
        """The name under which the engine stores the effect of this proposal, so that the effect happens only once."""
        return f"tag:{self.ordinal}:{self.kind}:{self.fingerprint}"

    def to_json(self) -> dict[str, Any]:
        return {**{name: getattr(self, name) for name in self.__slots__}, "fields": dict(self.fields)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Proposal:
        return cls(**{**data, "kind": EffectKind(data["kind"])})


class AccessKind(StrEnum):
    """The kinds of audit entries that are not actions of models: failed logins, exports, uses of models by tool
    servers, accepted descriptions of their tools, merges of facts, deletions of the memory about a person, and changes
    of imported skills, credentials, knowledge bases and links between identities."""

    LOGIN_FAILED = "login_failed"
    WRONG_KEY = "wrong_key"
    EXPORT = "export"
    TOOL_ACCEPTED = "tool_accepted"
    SKILL_IMPORTED = "skill_imported"
    SKILL_TRUSTED = "skill_trusted"
    SKILL_REMOVED = "skill_removed"
    CREDENTIAL_CHANGED = "credential_changed"
    CREDENTIAL_REMOVED = "credential_removed"
    KNOWLEDGE_CHANGED = "knowledge_changed"
    KNOWLEDGE_REMOVED = "knowledge_removed"
    LINK = "link"
    UNLINK = "unlink"
    SERVER_USED_MODEL = "server_used_model"
    FACTS_MERGED = "facts_merged"
    PERSON_FORGOTTEN = "person_forgotten"


@dataclass(frozen=True, slots=True)
class Access:
    """The content of an audit entry about an access (see `AccessKind`). Failed logins of one kind from one address are
    one access."""

    kind: AccessKind
    #: For logins, the address from which they came. For an export or a deletion, the id of the person, or `all`. For
    #: merged facts, the id of the fact that remains. Otherwise the identity, or the name of the tool, skill, credential
    #: or knowledge base.
    subject: str
    #: The known details, such as the number of logins (`times`) or the exported kinds (`kinds`). They contain no secret.
    fields: Mapping[str, Any]
    ordinal: int = 0

    def to_json(self) -> dict[str, Any]:
        return {**{name: getattr(self, name) for name in self.__slots__}, "fields": dict(self.fields)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Access:
        return cls(**{**data, "kind": AccessKind(data["kind"])})


class Outcome(StrEnum):
    """The result of a requested action. `asked`: a person has to approve the action first."""

    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"
    ASKED = "asked"


@dataclass(frozen=True, slots=True)
class EffectResult:
    """The result of a proposal."""

    proposal: Proposal
    outcome: Outcome
    #: One short sentence for people, or "".
    report: str
    #: The code of the reason why the action was not carried out, or None.
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One entry of the audit log: the author, the turn and the result of a requested action. Entries are never changed.
    `at` in ms."""

    id: str
    at: int
    #: `execution_id` and `agent_id` are empty for an access.
    execution_id: str
    message_id: str | None
    agent_id: str
    principal_id: str | None
    proposal: Proposal | Access
    taint: str
    outcome: Outcome
    reason: str | None
    report: str


def access_entry(entry_id: str, access: Access, at: int, by: str | None = None) -> AuditEntry:
    """Return the entry about an access. `by` is the id of the person; None: unknown. Only a login can fail."""
    refused = access.kind in {AccessKind.LOGIN_FAILED, AccessKind.WRONG_KEY}
    return AuditEntry(
        id=entry_id, at=at, execution_id="", message_id=None, agent_id="", principal_id=by, proposal=access, taint="",
        outcome=Outcome.REFUSED if refused else Outcome.DONE, reason=None, report="",
    )  # fmt: skip
