"""Checks a configuration that can be loaded for settings that its author probably did not intend."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint

from arvis.cli.doctor.findings import Check, Group, Verdict, fail, ok, warn
from arvis.cli.doctor.scene import Scene
from arvis.extensions import CONNECTORS, PROVIDERS, installed
from arvis.ports.extras import extras, install_command

_INSTALL = "Reinstall Arvis. The installed packages do not match its version."


def check_configuration(scene: Scene) -> Verdict:
    return ok(f"{scene.config.config_file or 'The built-in defaults'} can be used")


def check_variables(scene: Scene) -> Verdict | None:
    """Report variables that are not set in the environment of this command. If a daemon runs, report only a warning,
    because the daemon's environment has the variables."""
    if not scene.unset:
        return ok("Every variable that the configuration refers to is set")
    names = ", ".join(scene.unset)
    what = f"Not set in this environment: {names}"
    if scene.daemon is not None:
        why = (
            "The running daemon has them from its own environment, but a daemon started from this shell would not "
            "start."
        )
        return warn(
            what,
            why,
            (
                "Before you start a daemon from this shell, set them to the same values as in the environment of the "
                "running daemon."
            ),
        )
    return fail(what, "`arvis run` refuses to start without them.", f"Set {names}, or remove the keys that name them.")


def check_stored_settings(scene: Scene) -> Verdict | None:
    """Report the settings of the dashboard, which override the configuration file."""
    stored = scene.stored
    if stored is None or not (stored.usable or stored.problems):
        return None
    if stored.problems:
        why = " ".join(f"`{key}`: {reason}" for key, reason in stored.problems.items())
        fix = "Set them again on the Configuration page of the dashboard, or reset them there."
        return warn("Some settings of the dashboard are skipped", why, fix)
    fixed = ", ".join(key for key in stored.usable if key not in stored.effective)
    what = f"Set in the dashboard: {', '.join(stored.effective) or 'nothing that takes effect'}"
    return ok(what, f"Environment variables override: {fixed}." if fixed else "")


def check_providers(scene: Scene) -> Verdict:
    """Check that the code for the vendor of each account is installed and can be imported."""
    providers = installed(PROVIDERS)
    for account in scene.config.accounts:
        why = _gap(account.provider, providers)
        if why:
            return fail(f"The account {account.name} cannot be used", why, _INSTALL)
    return ok(f"Providers that can be used: {', '.join(sorted(providers)) or 'none'}")


def check_platforms(scene: Scene) -> Verdict:
    """Check that the connector of each bot is installed and can be imported. If only an environment variable defines
    the bot, a missing connector is a warning, because the daemon then starts without this bot."""
    connectors = installed(CONNECTORS)
    for entry in scene.config.bots:
        why = _gap(entry.platform, connectors)
        if why and entry.variable is None:
            return fail(f"`{entry.path}` cannot be used", why, _remedy(entry.platform, connectors))
    left_out = {
        entry.variable: entry.platform
        for entry in scene.config.bots
        if entry.variable and _gap(entry.platform, connectors)
    }
    if left_out:
        why = f"{', '.join(left_out)}: no installed connector uses them."
        commands = [f"`{install_command(each)}`" for each in sorted(extras().intersection(left_out.values()))]
        remedy = f"run {' and '.join(commands)}" if commands else "install the connectors that they belong to"
        return warn("Some environment variables have no effect", why, f"Unset them, or {remedy}.")
    bots = ", ".join(f"{entry.platform} ({entry.name})" for entry in scene.config.bots)
    return ok(f"Bots in the configuration file: {bots or 'none'}")


def _gap(name: str, points: Mapping[str, EntryPoint]) -> str:
    """Return the reason why a part cannot be used; an empty text if it can be used."""
    if name not in points:
        return f"The package for {name} is not installed."
    try:
        points[name].load()
    except (ImportError, AttributeError) as error:
        return f"The package for {name} cannot be imported: {error}."
    return ""


def _remedy(platform: str, points: Mapping[str, EntryPoint]) -> str:
    if platform in points and platform in extras():
        return f"Run `{install_command(platform)}`, then start Arvis again. Until then, the other bots work."
    return "Remove this entry from config.yaml. The daemon does not start with it."


GROUP = Group(
    "configuration",
    (
        Check("configuration", check_configuration),
        Check("variables", check_variables),
        Check("stored_settings", check_stored_settings),
        Check("providers", check_providers),
        Check("platforms", check_platforms),
    ),
)
