"""What this floor is handed for settings, logs, the examination and the lists that forms choose from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from arvis.ports.choices import Choices
from arvis.settings import SettingsDesk
from arvis.web.doctor import Examine


@dataclass(frozen=True, slots=True)
class House:
    """`logs` is the folder of the daemon's log files, `examine` runs `arvis doctor --json`."""

    settings: SettingsDesk
    logs: Path
    examine: Examine
    choices: Choices
