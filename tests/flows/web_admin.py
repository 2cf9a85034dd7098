"""The web server's services for settings, logs, the doctor and lists, over the real store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from arvis.app.administration import InstalledChoices
from arvis.bus import EventBus
from arvis.config import load
from arvis.domain.runs import Account
from arvis.domain.tools import Permit
from arvis.llm.prices import Prices
from arvis.ports.clock import Clock
from arvis.ports.store import Store
from arvis.ports.tool import Tool
from arvis.settings import SettingsService
from arvis.tools.registry import Policy, Registry
from arvis.web.api.installation import Examine
from arvis.web.dependencies import AdminServices


async def admin_services(
    folder: Path,
    store: Store,
    bus: EventBus,
    clock: Clock,
    *,
    text: str | None = None,
    environ: Mapping[str, str] | None = None,
    examine: Examine | None = None,
    accounts: Sequence[Account] = (),
    sources: Sequence[Registry] = (),
) -> AdminServices:
    """Return the services; `text` is the content of the configuration file in the folder."""
    file = folder / "config.yaml"
    file.write_text(text or "", "utf-8")
    given = environ or {}
    settings = SettingsService(
        given=load(file, folder, given), store=store, bus=bus, clock=clock, environ=lambda: given
    )
    await settings.begin()
    permit: Callable[[Tool], Permit] = lambda tool: Policy(rules=settings.current().approvals.policy).permit(tool)  # noqa: E731
    choices = InstalledChoices(
        registry=Registry(sources=()),
        permit=permit,
        prices=Prices(),
        accounts=lambda: accounts,
        config=settings.current,
        servers=lambda: [each.name for each in settings.current().mcp.servers],
    )
    return AdminServices(settings=settings, logs=folder / "logs", examine=examine or _healthy, choices=choices)


async def _healthy(_security: bool) -> str:
    return '{"ok": true, "checks": []}'
