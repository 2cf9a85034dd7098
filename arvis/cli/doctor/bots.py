"""Checks that the bots can be created, that their setup on the chat platforms is correct, and that they run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from arvis.bots.connectors import ConnectorFactory, connector_services
from arvis.bots.registry import BotSpec, configured_spec, spec_of
from arvis.bots.service import examine
from arvis.cli.doctor.findings import Check, Group, Status, Verdict, fail, ok, warn
from arvis.cli.doctor.scene import PLACEHOLDER, Scene
from arvis.domain.errors import ArvisError
from arvis.domain.platforms import BotState, StoredBot
from arvis.extensions import CONNECTORS, installed
from arvis.ports.connector import SetupFinding
from arvis.process.clock import SystemClock
from arvis.process.secrets import SealedBox, secrets_key_file

_ORDER = (Status.OK, Status.WARN, Status.FAIL)
_LEVELS = {"ok": Status.OK, "warning": Status.WARN, "error": Status.FAIL}
_MEND = "Fix it on the platform or in the bot's settings, then run `arvis bots test`."


def check_stored_bots(scene: Scene) -> Verdict | None:
    """Report bots in the database that are not used, because the configuration has a bot with the same name or the
    connector is not installed."""
    stored = () if scene.records is None else scene.records.bots
    if not stored:
        return None
    configured = {(entry.platform, entry.name) for entry in scene.config.bots}
    if twins := [_name(bot) for bot in stored if (bot.platform, bot.name) in configured]:
        fix = "Delete the stored bot with `arvis bots delete`, or rename the bot in config.yaml."
        return warn(f"Bots that are not used: {', '.join(twins)}", "config.yaml has bots with the same names.", fix)
    known = installed(CONNECTORS)
    if strange := [_name(bot) for bot in stored if bot.platform not in known]:
        why = f"This installation has the platforms {', '.join(sorted(known)) or 'none'}."
        return warn(
            f"No connector for {', '.join(strange)}", why, "Remove the bot, or install the package with its connector."
        )
    return ok(f"Bots stored in the database: {', '.join(map(_name, stored))}")


def check_bot_states(scene: Scene) -> Verdict | None:
    """Report the states of the bots in the running daemon."""
    if scene.records is None or scene.daemon is None:
        return None
    wanted = {spec.key for spec in _specs(scene)}
    states = [state for state in scene.records.bot_states if (state.platform, state.name) in wanted]
    if not states:
        return None
    if down := [state for state in states if state.state is BotState.ERROR]:
        why = "; ".join(f"{state.platform}/{state.name}: {state.error}" for state in down)
        return warn(
            f"Bots that are down: {len(down)} of {len(states)}",
            why,
            "Run `arvis bots list` to see their errors, then `arvis bots test` for each.",
        )
    running = sum(state.state is BotState.RUNNING for state in states)
    return ok(f"Bots that are up: {running} of {len(states)}")


def check_bot_setup(scene: Scene) -> Verdict | None:
    """Ask each platform about token, scopes and intents. The check changes nothing on the platform and posts nothing in
    a chat."""
    specs = [spec for spec in _specs(scene) if PLACEHOLDER not in spec.values.values()]
    if not specs:
        return None
    found = asyncio.run(_examined(scene, specs))
    worst = max((_LEVELS[finding.level] for _, finding in found), key=_ORDER.index, default=Status.OK)
    if worst is Status.OK:
        return ok(f"Bots that are set up correctly: {', '.join(spec.label for spec in specs)}")
    reported = [(spec, finding) for spec, finding in found if _LEVELS[finding.level] is not Status.OK]
    why = "; ".join(f"{spec.label}: {finding.text}" for spec, finding in reported)
    fix = next((finding.fix for _, finding in reported if finding.fix), _MEND)
    what = f"Bots that are not set up correctly: {', '.join(dict.fromkeys(spec.label for spec, _ in reported))}"
    return fail(what, why, fix) if worst is Status.FAIL else warn(what, why, fix)


async def _examined(scene: Scene, specs: Sequence[BotSpec]) -> list[tuple[BotSpec, SetupFinding]]:
    maker = ConnectorFactory(services=connector_services(scene.config, SystemClock(), ()))
    answers = await asyncio.gather(*(examine(spec, maker) for spec in specs))
    return [(spec, finding) for spec, findings in zip(specs, answers, strict=True) for finding in findings]


def _specs(scene: Scene) -> list[BotSpec]:
    """Return the bots that the daemon would run, except bots that other checks report."""
    known = installed(CONNECTORS)
    configured = [configured_spec(entry) for entry in scene.config.bots]
    taken = {spec.key for spec in configured}
    stored = [] if scene.records is None else [bot for bot in scene.records.bots if bot.enabled]
    own = _opened(scene, [bot for bot in stored if (bot.platform, bot.name) not in taken])
    return [spec for spec in (*configured, *own) if spec.platform in known]


def _opened(scene: Scene, stored: Sequence[StoredBot]) -> list[BotSpec]:
    """Return the bots of the database with their secrets. Bots whose secrets cannot be decrypted are left out, because
    `check_stored_secrets` reports them."""
    given = scene.config.encryption_key
    text = None if given is None else given.get_secret_value()
    if not stored or text == PLACEHOLDER:
        return []
    try:
        box = SealedBox(file=secrets_key_file(scene.folder), given=text, tell=lambda _: None)
    except ArvisError:
        return []
    return [spec for bot in stored if not (spec := spec_of(bot, box)).trouble]


def _name(bot: StoredBot) -> str:
    return f"{bot.platform}/{bot.name}"


GROUP = Group(
    "bots",
    (
        Check("stored_bots", check_stored_bots),
        Check("bot_states", check_bot_states),
        Check("bot_setup", check_bot_setup),
    ),
)
