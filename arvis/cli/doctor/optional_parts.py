"""Checks that the optional parts are installed. These are tools, plugins, speech engines and packages for traces."""

from __future__ import annotations

import asyncio
import shlex
import shutil
from collections.abc import Collection
from importlib.util import find_spec

from arvis import extensions
from arvis.cli.doctor.findings import Check, Group, Verdict, fail, ok, warn
from arvis.cli.doctor.scene import Scene
from arvis.config.search import FALLBACK, VARIABLES, order, variable_of
from arvis.config.servers import stored_names
from arvis.domain.tools import Need, Risk
from arvis.ports.extras import install_command
from arvis.process.sandbox import Bubblewrap
from arvis.tools.browser.browsers import EXTRA, PACKAGE, program_of
from arvis.tools.browser.endpoint import read_endpoint
from arvis.tools.code import CODE_DECLARATION, CODE_EXECUTION

#: Tools that no package provides. Agents with the graph `code` have them.
_BUILT_IN = frozenset({CODE_EXECUTION})


def check_tool_names(scene: Scene) -> Verdict | None:
    """Report unknown tools of the agents in the configuration. Agents in the database are not checked here."""
    named = {tool: agent.slug for agent in scene.config.agents for tool in agent.tools}
    if not named:
        return None
    known = extensions.installed(extensions.TOOLS).keys() | _BUILT_IN
    servers = _servers(scene)
    missing = [tool for tool in named if tool not in known and tool.partition(".")[0] not in servers]
    if missing:
        why = (
            f"No package or server provides {', '.join(missing)}. The agent {named[missing[0]]} is configured with "
            f"{missing[0]}."
        )
        return warn("A tool is not known", why, f"Use some of {', '.join(sorted(known))}, or configure its server.")
    return ok("Every tool of an agent is known")


def _servers(scene: Scene) -> Collection[str]:
    """Return the names of the tool servers of the configuration and of those that were added at run time."""
    added = stored_names(scene.records.tool_servers) if scene.records is not None else ()
    return {*added, *(server.name for server in scene.config.mcp.servers)}


def check_plugin_names(scene: Scene) -> Verdict | None:
    """Report unknown plugins of the agents in the configuration, because an agent with an unknown plugin runs without
    this plugin."""
    named = {plugin: agent.slug for agent in scene.config.agents for plugin in agent.plugins}
    if not named:
        return None
    known = extensions.installed(extensions.PLUGINS).keys()
    if missing := [plugin for plugin in named if plugin not in known]:
        why = (
            f"No installed package provides {', '.join(missing)}. The agent {named[missing[0]]} is configured with "
            f"{missing[0]}."
        )
        return warn("A plugin is not known", why, f"Use some of {', '.join(sorted(known))}, or install its package.")
    return ok("Every plugin of an agent is known")


def check_tool_policy(scene: Scene) -> Verdict | None:
    """Report rules in `approvals.policy` with an unknown name, because they have no effect."""
    rules = scene.config.approvals.policy
    if not rules:
        return None
    risks = {str(risk) for risk in Risk}
    tools = extensions.installed(extensions.TOOLS).keys() | _BUILT_IN
    servers = _servers(scene)
    strange = [name for name in rules if name not in risks | tools and name.partition(".")[0] not in servers]
    if strange:
        why = f"`approvals.policy` names {', '.join(strange)}, which is not a tool, a server or a risk."
        fix = f"Write a tool such as run_shell, server.tool, server.*, or a risk: {', '.join(sorted(risks))}."
        return warn("A rule about tools has no effect", why, fix)
    return ok("Every rule in `approvals.policy` names a known tool, server or risk")


def check_sandbox(scene: Scene) -> Verdict | None:
    declared = {**extensions.declared_tools(), CODE_EXECUTION: CODE_DECLARATION}
    programs = {name for name, each in declared.items() if Need.SANDBOX in each.needs}
    used = sorted(programs.intersection(tool for agent in scene.config.agents for tool in agent.tools))
    if not used:
        return None
    refusal = asyncio.run(Bubblewrap().refusal())
    if refusal is not None:
        return warn(
            "Agents cannot run programs here",
            refusal,
            f"Install bubblewrap, or remove these tools from the agents: {', '.join(used)}.",
        )
    return ok("Programs of agents run in a sandbox")


_SEARCH = "web_search"


def check_search(scene: Scene) -> Verdict | None:
    """Report search providers without a key or an address. Also report if an agent of the configuration has the tool
    `web_search`, but only the fallback can search. No provider is called."""
    search = scene.config.search
    secrets = {variable.key for variable in (scene.records.secrets if scene.records is not None else ())}
    stored = frozenset(name for name in VARIABLES if variable_of(name) in secrets)
    asked = order(search, stored)
    known = extensions.installed(extensions.SEARCH_PROVIDERS)
    if strange := [name for name in asked if name not in known]:
        why = f"`search.providers` names {', '.join(strange)}, but no package provides it."
        return warn("A search provider is not known", why, f"Use some of {', '.join(sorted(known))}.")
    for name in asked:
        variable, field = VARIABLES.get(name, ("", ""))
        if variable and name not in stored and not (search.key(name) if field == "api_key" else search.address(name)):
            fix = f"Set `search.{name}.{field}` or the environment variable {variable}"
            more = f", or store the key: `arvis variables create {variable} --secret`" if field == "api_key" else ""
            why = f"`search.providers` names {name}, so each search fails there first."
            return warn(f"The search provider {name} has no {field.replace('_', ' ')}", why, f"{fix}{more}.")
    if asked == (FALLBACK,) and any(_SEARCH in agent.tools for agent in scene.config.agents):
        why = "No search provider has a key, so the tool web_search searches only a wiki."
        fix = f"Set one of {', '.join(variable for variable, _ in VARIABLES.values())}: docs/how-to/web-search.md."
        return warn("Agents cannot search the whole web", why, fix)
    return ok(f"Web searches ask {', '.join(asked)}, in this order") if asked != (FALLBACK,) else None


_BROWSER = "browser_"


def check_browser(scene: Scene) -> Verdict | None:
    """Report a missing package or a missing Chromium if an agent of the configuration has a browser tool, or if the
    configuration names a Chromium or a remote browser. No browser is started or called."""
    executable, endpoint = scene.config.browser.executable, scene.config.browser.endpoint
    used = sorted({tool for agent in scene.config.agents for tool in agent.tools if tool.startswith(_BROWSER)})
    if not used and executable is None and endpoint is None:
        return None
    if find_spec(PACKAGE) is None:
        why = f"The package {PACKAGE} is not installed."
        return warn("Agents cannot use web pages", why, f"Run `{install_command(EXTRA)}`.")
    if endpoint is not None:
        return ok(f"Agents use web pages with the remote browser at {read_endpoint(endpoint.get_secret_value()).name}")
    if (program := program_of(executable)) is None:
        why = (
            f"`browser.executable` names {executable}, which is not a program."
            if executable
            else "No Chromium is installed."
        )
        fix = "Install it (Debian: apt-get install chromium-headless-shell), or set `browser.executable` to its path."
        return warn("Agents cannot use web pages", why, fix)
    return ok(f"Agents use web pages with {program}")


TOOLS = Group(
    "tools",
    (
        Check("tool_names", check_tool_names),
        Check("plugin_names", check_plugin_names),
        Check("tool_policy", check_tool_policy),
        Check("sandbox", check_sandbox),
        Check("search", check_search),
        Check("browser", check_browser),
    ),
)


# Speech. Engines are neither loaded nor called.

#: For each engine that runs on this machine: its module, its extra, and a program that the engine needs.
_LOCAL = {
    "openai-whisper": ("whisper", "voice", "ffmpeg"),
    "faster-whisper": ("faster_whisper", "voice-fast", None),
}

#: For each engine that can be installed in another way: the end of the sentence that describes the installation.
_SMALLER = {"openai-whisper": ", or `make voice` in a checkout, which leaves out the packages for graphics cards"}


def check_hearing(scene: Scene) -> Verdict | None:
    speech = scene.config.speech
    match speech.stt.engine:
        case "none":
            return None
        case "openai-api":
            return _api(scene, "transcribe")
        case "command":
            return _program(speech.stt.command or "", "transcribe")
        case engine:
            return _local(engine)


def check_speaking(scene: Scene) -> Verdict | None:
    tts = scene.config.speech.tts
    if tts.engine == "none":
        return None
    return _api(scene, "speak") if tts.engine == "openai-api" else _program(tts.command or "", "speak")


def _local(engine: str) -> Verdict:
    module, extra, program = _LOCAL[engine]
    if find_spec(module) is None:
        return warn(
            "Voice messages cannot be transcribed",
            f"`speech.stt.engine: {engine}` is not installed.",
            f"Run `{install_command(extra)}`{_SMALLER.get(engine, '')}.",
        )
    if program is not None and shutil.which(program) is None:
        return warn(
            "Voice messages cannot be transcribed", f"{engine} needs the program {program}.", f"Install {program}."
        )
    return ok(f"{engine} transcribes voice messages (the engine loads its model at the first message)")


def _program(command: str, does: str) -> Verdict:
    program = next(iter(shlex.split(command)), "")
    if shutil.which(program) is None:
        return warn(
            f"The program configured to {does} is not installed", f"{program} is not in the PATH.", "Install it."
        )
    return ok(f"The program configured to {does} is installed")


def _api(scene: Scene, does: str) -> Verdict:
    speech = scene.config.speech
    keys = [account for account in scene.config.accounts if account.provider == "openai"]
    if speech.api_key or speech.base_url or keys:
        return ok(f"The service to {does} is configured")
    why = "There is neither an openai account nor `speech.api_key`."
    return warn(f"The service to {does} has no key", why, "Set `speech.api_key: env:NAME`.")


SPEECH = Group("speech", (Check("hearing", check_hearing), Check("speaking", check_speaking)))


# Traces.

_MODULES = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")


def check_packages(scene: Scene) -> Verdict | None:
    settings = scene.config.telemetry
    if settings.endpoint is None:
        return None
    if all(_is_there(module) for module in _MODULES):
        return ok(f"Traces are sent to {settings.endpoint}")
    return fail(
        "Traces cannot be sent",
        "`telemetry.endpoint` is set, but the packages for OpenTelemetry are not installed.",
        f"Run `{install_command('otel')}`, or set `telemetry.endpoint: null`.",
    )


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


TELEMETRY = Group("telemetry", (Check("packages", check_packages),))
