"""The dependencies that the composition root passes to the web package."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from arvis.bots.service import BotService
from arvis.config.sections import Limits, Web
from arvis.domain.money import SpendingLimits
from arvis.llm.account_service import AccountService
from arvis.ports.backups import Backups
from arvis.ports.bus import Bus
from arvis.ports.choices import Choices
from arvis.ports.clock import Clock
from arvis.ports.connector import Connector
from arvis.ports.inbox import Inbox
from arvis.ports.insights import Insights
from arvis.ports.operations import Operations
from arvis.ports.passwords import Passwords
from arvis.ports.secrets import SecretBox
from arvis.ports.store import Store
from arvis.process.stalls import Stalls
from arvis.settings import SettingsService
from arvis.skills.importing import Importer
from arvis.speech import UtteranceDetector, UtteranceRules, utterance_detector
from arvis.web.api.doctor import Examine
from arvis.web.http.timeouts import Timeouts
from arvis.web.realtime.connector import WebConnector

# The services for settings, logs, the doctor and the lists of options in forms.


@dataclass(frozen=True, slots=True)
class AdminServices:
    """`logs` is the folder of the daemon's log files, `examine` runs `arvis doctor --json`."""

    settings: SettingsService
    logs: Path
    examine: Examine
    choices: Choices


#: The build hook writes the output of `ui/` here.
PAGE_FOLDER = Path(__file__).parent / "static"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebDependencies:
    """What this floor is handed. `daemon_key` is the content of `DATA/api-key`; `owners` the configuration's
    `owners.web`; `new_token` makes URL-safe texts of at least 128 random bits; `roles` says of each configured role
    whether it is up, `bot_health` of each bot that runs here or would; `bot_connector` gives the connector of a bot that
    is on, by platform and name; `room` whether the disk has some for new work; `stalls` says how often the event loop was blocked; `skills` brings skills in; days and months of
    reports are those of `zone`; `spending` gives the limits of this moment; `all_owners` is the whole of the configuration's `owners`; `speech` and `thoughts` are for what people say while they
    speak."""

    config: Web
    limits: Limits
    owners: tuple[str, ...]
    daemon_key: str
    inbox: Inbox
    insights: Insights
    operations: Operations
    backups: Backups
    accounts: AccountService
    bots: BotService
    bot_connector: Callable[[str, str], Connector | None]
    secrets: SecretBox
    passwords: Passwords
    store: Store
    connector: WebConnector
    bus: Bus
    clock: Clock
    new_token: Callable[[], str]
    roles: Callable[[], Mapping[str, bool]]
    bot_health: Callable[[], Mapping[str, bool]]
    room: Callable[[], bool]
    skills: Importer
    admin: AdminServices
    stalls: Callable[[], Stalls] = Stalls
    page_folder: Path = PAGE_FOLDER
    timeouts: Timeouts = field(default_factory=Timeouts)
    zone: str = "UTC"
    spending: Callable[[], SpendingLimits] = SpendingLimits
    all_owners: Mapping[str, Collection[str]] = field(default_factory=dict)
    speech: UtteranceRules = field(default_factory=UtteranceRules)
    detector: UtteranceDetector = field(default_factory=utterance_detector)

    @property
    def over_tls(self) -> bool:
        """Return whether browsers reach the page through TLS, which a proxy in front of Arvis terminates."""
        return (self.config.public_url or "").lower().startswith("https://")

    @property
    def cookie(self) -> str:
        return "__Host-arvis_session" if self.over_tls else "arvis_session"
