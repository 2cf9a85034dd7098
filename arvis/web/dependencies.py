"""The dependencies that the composition root passes to the web package."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import field
from pathlib import Path

from arvis.bots.service import BotService
from arvis.bus import EventBus
from arvis.config.sections import Limits, Web
from arvis.domain.dataclass import dataclass
from arvis.domain.money import SpendingLimits
from arvis.llm.accounts import AccountService
from arvis.ports.backups import Backups
from arvis.ports.choices import Choices
from arvis.ports.clock import Clock
from arvis.ports.connector import Connector
from arvis.ports.embeddings import MeaningOf, no_meaning
from arvis.ports.http import GuardedNetwork
from arvis.ports.inbox import Inbox
from arvis.ports.insights import Insights
from arvis.ports.operations import Operations
from arvis.ports.secrets import SecretBox
from arvis.ports.store import Store
from arvis.process.logging import Redactor
from arvis.process.secrets import Argon2Passwords
from arvis.process.stalls import Stalls
from arvis.settings import SettingsService
from arvis.skills.importing import Importer
from arvis.speech import UtteranceDetector, UtteranceRules, utterance_detector
from arvis.tools.mcp.servers import McpServers
from arvis.web.api.installation import Examine
from arvis.web.http.limits import Timeouts
from arvis.web.realtime.connector import WebConnector


@dataclass(frozen=True, slots=True)
class AdminServices:
    """Services for administration."""

    settings: SettingsService
    #: The folder of the daemon's log files.
    logs: Path
    #: Runs `arvis doctor --json`.
    examine: Examine
    choices: Choices


#: The build hook writes the output of `ui/` here.
PAGE_FOLDER = Path(__file__).parent / "static"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebDependencies:
    """The dependencies of the web package."""

    config: Web
    limits: Limits
    #: `owners.web` of the configuration.
    owners: tuple[str, ...]
    #: The content of `DATA/api-key`.
    daemon_key: str
    inbox: Inbox
    insights: Insights
    operations: Operations
    backups: Backups
    accounts: AccountService
    bots: BotService
    #: Returns the connector of an enabled bot, by platform and name.
    bot_connector: Callable[[str, str], Connector | None]
    secrets: SecretBox
    passwords: Argon2Passwords
    store: Store
    connector: WebConnector
    bus: EventBus
    clock: Clock
    #: Creates URL-safe texts of at least 128 random bits.
    new_token: Callable[[], str]
    #: Returns the configured roles, each with True if it is up.
    roles: Callable[[], Mapping[str, bool]]
    #: Returns the enabled bots, each with True if it is up.
    bot_health: Callable[[], Mapping[str, bool]]
    #: Returns whether the disk has space for new work.
    room: Callable[[], bool]
    #: The service that imports, changes and removes skills.
    skills: Importer
    admin: AdminServices
    #: The tool servers.
    tool_servers: McpServers
    #: Returns the checker of addresses that people choose.
    addresses: Callable[[], Awaitable[GuardedNetwork]]
    #: Returns how often and how long the event loop was blocked.
    stalls: Callable[[], Stalls] = Stalls
    page_folder: Path = PAGE_FOLDER
    timeouts: Timeouts = field(default_factory=Timeouts)
    #: The time zone of days and months in reports.
    zone: str = "UTC"
    #: Returns the current budgets.
    spending: Callable[[], SpendingLimits] = SpendingLimits
    #: The configuration's `owners` of all platforms.
    all_owners: Mapping[str, Collection[str]] = field(default_factory=dict)
    #: Rules for partial transcripts from the socket.
    speech: UtteranceRules = field(default_factory=UtteranceRules)
    #: Finds complete utterances in partial transcripts.
    detector: UtteranceDetector = field(default_factory=utterance_detector)

    #: Returns the vector of a search text.
    meaning: MeaningOf = no_meaning
    #: Replaces secrets in recorded texts.
    mask: Callable[[str], str] = field(default_factory=Redactor)

    @property
    def over_tls(self) -> bool:
        """Return whether browsers use TLS, which a proxy in front of Arvis terminates."""
        return (self.config.public_url or "").lower().startswith("https://")

    @property
    def cookie(self) -> str:
        return "__Host-arvis_session" if self.over_tls else "arvis_session"
