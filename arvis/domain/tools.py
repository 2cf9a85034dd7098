"""Tools: their descriptions for models, the calls that models request, and the results."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, field
from enum import StrEnum
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.forms import ServerQuestion
from arvis.domain.messages import OutgoingFile
from arvis.domain.model_requests import ModelRequest
from arvis.domain.regex import regex
from arvis.domain.taint import CLEAN, Taint, taint_in

#: The tool that shows stored results and files of the conversation again. Every agent with tools has it, even if its
#: settings do not name it.
READ_AGAIN = "read_again"
#: The text in the first line of a page that was read with a credential. The name of the credential follows.
WITH_CREDENTIAL = "with the credential"
#: The tool that reads the instructions and files of skills. Every agent with skills has it, even if its settings do not
#: name it.
READ_SKILL = "read_skill"

#: The prefix of the `kv` keys of accepted descriptions of tools. The name of the server follows.
ACCEPTED_TOOLS = "mcp tools "
#: The prefixes of the `kv` keys of logins to tool servers, and of attempts to log in.
TOOL_LOGINS, TOOL_LOGIN_ATTEMPTS = "mcp login ", "mcp attempt "


class Risk(StrEnum):
    """The risks of tools, lowest first. If a tool has several risks, only the highest one counts."""

    #: The tool reads data that the person may see anyway.
    READ = "read"
    #: The tool sends data to other systems.
    EGRESS = "egress"
    #: The tool changes data.
    WRITE = "write"
    #: The tool runs programs.
    EXEC = "exec"
    #: The tool spends money.
    MONEY = "money"


class Need(StrEnum):
    """The requirements of tools. A tool does not work if one of its requirements is missing."""

    #: The sandbox for programs.
    SANDBOX = "sandbox"
    #: A connection to the internet.
    NETWORK = "network"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDeclaration:
    """The properties that a tool declares. The file of a tool may contain these properties as the constant
    `DECLARATION`. Permission checks then read the constant without importing the file (`arvis/extensions.py`), so its
    value must consist of literals."""

    risk: Risk
    #: True if a call whose result was lost may be repeated without an approval.
    repeatable: bool = True
    #: True if the outputs are secret.
    sensitive: bool = False
    #: True if the tool changes nothing and reads no data of other people. Only trusted people may use an agent with
    #: a tool that is not harmless.
    harmless: bool = False
    #: True if the daemon itself writes the outputs. The outputs of other tools come from outside of Arvis and taint the
    #: turn.
    own_output: bool = False
    #: True if calls need no approval unless a rule requires one. Such a tool only writes notes of the agent or of the
    #: person who asked, or starts and ends work that people have defined, within limits.
    without_approval: bool = False
    #: True if a call sends data only to the addresses in its arguments.
    only_to_addresses: bool = False
    #: True if the outputs contain only data that everyone can read, such as web pages and results of searches.
    public_output: bool = False
    needs: tuple[Need, ...] = ()

    def __post_init__(self) -> None:
        if self.harmless and (self.sensitive or self.risk not in {Risk.READ, Risk.EGRESS}):
            raise ValueError(
                f"A harmless tool must have the risk read or egress and no secret outputs. Its risk is {self.risk}."
            )
        if self.without_approval and self.risk in {Risk.EXEC, Risk.MONEY}:
            raise ValueError(f"Calls of a tool with the risk {self.risk} need an approval, unless a rule permits them.")


#: The characters that vendors do not allow in the name of a tool, and the maximum length of a tool's name.
_NOT_IN_NAMES = regex(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64


class Permit(StrEnum):
    """The permission of an agent to call a tool."""

    NEVER = "never"
    #: A person must approve each call.
    ASK = "ask"
    ALWAYS = "always"


def wire_name(name: str) -> str:
    """Return the name that models use for a tool: `server.tool` becomes `server__tool`. A name that is too long is
    shortened and ends with a part of its hash."""
    wire = _NOT_IN_NAMES.sub("_", name.replace(".", "__"))
    if len(wire) <= _LONGEST_NAME:
        return wire
    return f"{wire[: _LONGEST_NAME - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """The description of a tool for models. `parameters` is the JSON schema of the arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call that a model requests."""

    #: The id of the call, unique within the turn.
    id: str
    name: str
    #: The parsed arguments; None if the text that the model wrote is not a JSON object.
    arguments: Mapping[str, Any] | None
    #: The text that the model wrote as arguments, if `arguments` is None.
    written: str = ""
    #: A value that the vendor expects back with the call.
    signature: str = ""
    #: True if the reply was cut off before the arguments were complete.
    partial: bool = False

    @property
    def what(self) -> str:
        """The tool and its arguments as a text. Two calls of the same tool with the same arguments have the same
        text."""
        asked = self.written if self.arguments is None else json.dumps(self.arguments, sort_keys=True)
        return f"{self.name} {asked}"

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ToolCall:
        return cls(**data)


@dataclass(frozen=True, slots=True)
class Source:
    """A web page that a tool found. The service behind the tool chose the address, not the model."""

    url: str
    #: The title is untrusted text.
    title: str = ""


@dataclass(frozen=True, slots=True)
class PendingInput:
    """The questions of a tool server that a person must answer before a call can end. The call is then repeated with
    all `responses`."""

    #: The questions by the keys of the server.
    questions: Mapping[str, ServerQuestion]
    #: The responses for the server by the same keys. Arvis itself responds to questions that it cannot show.
    responses: Mapping[str, Mapping[str, Any]]
    #: The text that is returned to the server unchanged; None if the server sent no such text.
    state: str | None = None
    #: The id of the running call of a server with an older protocol, which waits in this process; empty for other servers.
    held: str = ""
    #: Notes for the model about questions that Arvis has declined.
    notes: tuple[str, ...] = ()
    #: The requests to a model, by the keys of the server. A request for which there is no question is permitted by the
    #: configuration.
    samples: Mapping[str, ModelRequest] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "questions": {key: each.to_json() for key, each in self.questions.items()},
            "responses": {key: dict(each) for key, each in self.responses.items()},
            "state": self.state,
            "held": self.held,
            "notes": list(self.notes),
            "samples": {key: each.to_json() for key, each in self.samples.items()},
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> PendingInput:
        questions = {key: ServerQuestion.from_json(each) for key, each in kept["questions"].items()}
        samples = {key: ModelRequest.from_json(each) for key, each in kept["samples"].items()}
        return cls(questions, kept["responses"], kept["state"], kept["held"], tuple(kept["notes"]), samples)


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The result of a tool call."""

    call_id: str
    #: The text for the model.
    content: str
    #: True if the call failed. `content` then explains the failure.
    failed: bool = False
    #: True if `content` is sealed with the secrets key.
    sealed: bool = False
    #: Files that are sent with the reply of the turn.
    files: tuple[OutgoingFile, ...] = ()
    #: The pages that the tool found.
    sources: tuple[Source, ...] = ()
    #: The stored pictures (name, media type, hash) that the next model calls of the turn contain.
    pictures: tuple[tuple[str, str, str], ...] = ()
    #: The labels of this output in addition to the labels of its tool.
    taint: Taint = CLEAN
    #: The questions that a person must answer before the call can end; None if it has ended.
    pending: PendingInput | None = None
    #: The tool server to which a person must log in before this call can be made.
    login: str = ""

    def to_json(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"callId": self.call_id, "content": self.content, "failed": self.failed}
        if self.files:
            fields["files"] = [asdict(file) for file in self.files]
        if self.sources:
            fields["sources"] = [asdict(source) for source in self.sources]
        if self.pictures:
            fields["pictures"] = [list(picture) for picture in self.pictures]
        if self.taint:
            fields["taint"] = sorted(self.taint)
        if self.pending is not None:
            fields["pending"] = self.pending.to_json()
        if self.login:
            fields["login"] = self.login
        return {**fields, "sealed": True} if self.sealed else fields

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ToolOutput:
        files = tuple(OutgoingFile(**file) for file in data.get("files", ()))
        sources = tuple(Source(**source) for source in data.get("sources", ()))
        return cls(
            data["callId"],
            data["content"],
            data["failed"],
            data.get("sealed", False),
            files,
            sources,
            tuple((name, media_type, sha256) for name, media_type, sha256 in data.get("pictures", ())),
            taint_in(data),
            None if (pending := data.get("pending")) is None else PendingInput.from_json(pending),
            data.get("login", ""),
        )
