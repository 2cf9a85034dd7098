"""The part of `arvis import` that imports the home directory of another program."""

from __future__ import annotations

import base64
import io
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from arvis.cli.api_client import Api
from arvis.cli.commands.bots import SECRETS
from arvis.cli.commands.interchange import Wishes, shown
from arvis.cli.output import Output, Row, tell
from arvis.domain.errors import ArvisError, Unprocessable
from arvis.interchange.archive import Contents, Writer
from arvis.interchange.format import KINDS, PersonRef
from arvis.interchange.peers.draft import Choice, Draft, agent_slug
from arvis.interchange.peers.hermes import read_hermes
from arvis.interchange.peers.home import Home, ReadTables
from arvis.interchange.peers.nanobot import read_nanobot
from arvis.interchange.peers.openclaw import read_openclaw
from arvis.store.copied_tables import read_tables

#: The maximum duration of one request, in seconds.
_TIMEOUT = 600.0
_MS = 1000
_MOST_ROWS = 200

_READERS: Mapping[str, Callable[[Draft], None]] = {
    "openclaw": read_openclaw,
    "hermes": read_hermes,
    "nanobot": read_nanobot,
}
#: For each program: the files and folders of which its home directory contains at least one, and the usual path of this
#: directory.
_SIGNS = {
    "openclaw": (("openclaw.json", "clawdbot.json", "moltbot.json", "agents"), "~/.openclaw"),
    "hermes": (("config.yaml", "state.db", "memories", "SOUL.md"), "~/.hermes"),
    "nanobot": (("config.json", "workspace"), "~/.nanobot"),
}


def import_peer(api: Api, program: str, home: Path, wishes: Wishes) -> Output:
    """Import a copy of the home of a program. First show what the import would do, and ask for confirmation."""
    api.connect()
    owner = None if wishes.owner is None else PersonRef(platform=wishes.owner[0], user_id=wishes.owner[1])
    choice = Choice(int(time.time() * _MS), owner)
    draft = read_peer(program, home, tables=read_tables, choice=choice)
    rehearsed = _send(api, draft, wishes, dry_run=True)
    if wishes.dry_run:
        return shown(rehearsed, everything=wishes.everything, notes=_steps(api, draft, rehearsed))
    if not wishes.yes:
        shown(rehearsed, everything=wishes.everything, notes=()).print(as_json=False)
        click.confirm(f"Import this? Stop {program} first if it still runs", abort=True, err=True)
    report = _send(api, draft, wishes, dry_run=False)
    if wishes.enable_schedules:
        _enable_schedules(api, draft, report)
    if sys.stdin.isatty():
        _ask_secrets(api, draft)
    return shown(report, everything=wishes.everything, notes=_steps(api, draft, report))


def read_peer(program: str, root: Path, *, tables: ReadTables, choice: Choice) -> Draft:
    """Return the records of a copy of the home of `program`. Raise `Unprocessable` if the directory is not such a
    home."""
    signs, usual = _SIGNS[program]
    if not root.is_dir() or not any((root / sign).exists() for sign in signs):
        raise Unprocessable(
            f"{root} is not the home of {program}.",
            why=f"It is not a directory with {', '.join(signs[:-1])} or {signs[-1]}.",
            fix=f"Stop {program}, copy {usual} from its machine, and name the copy.",
        )
    draft = Draft(Home(root, tables=tables), program, choice)
    _READERS[program](draft)
    return draft


def _send(api: Api, draft: Draft, wishes: Wishes, *, dry_run: bool) -> dict[str, Any]:
    """Send all archives. Return one report, which also contains the remarks of the reader."""
    items, asks = list[Row](), dict[str, None]()
    for number, contents in enumerate(draft.batches()):
        body = {"archive": _archive(contents), "dryRun": dry_run, "replace": wishes.replace and number == 0}
        report = api.post("import", body=body, timeout=_TIMEOUT)
        # Later archives repeat people and agents, because their conversations refer to them. The report lists these
        # only once.
        items += [each for each in report["items"] if number == 0 or each["kind"] == "conversations"]
        asks |= dict.fromkeys(report["asks"])
    remarks = dict.fromkeys(draft.home.remarks)
    items += [{"kind": each.kind, "name": each.name, "action": "skip", "why": each.why} for each in remarks]
    counts = Counter(each["action"] for each in items)
    return {"dryRun": dry_run, "source": draft.program, "counts": counts, "items": items, "asks": list(asks)}


def _archive(contents: Contents) -> str:
    target = io.BytesIO()
    writer = Writer(target)
    for kind in KINDS:
        for record in contents.records[kind]:
            writer.add(kind, record)
    writer.close(contents.manifest)
    return base64.b64encode(target.getvalue()).decode()


def _enable_schedules(api: Api, draft: Draft, report: Row) -> None:
    """Turn on the schedules that this import has created and that were on in the other program."""
    made = {each["name"] for each in report["items"] if each["kind"] == "schedules" and each["action"] == "create"}
    wanted = {
        (each.agent, each.name) for each in draft.schedules() if each.enabled and f"{each.agent}: {each.name}" in made
    }
    for schedule in list(_schedules(api)):
        if (schedule["agent"], schedule["name"]) in wanted:
            try:
                api.patch("schedules", schedule["id"], body={"enabled": True})
            except ArvisError as error:
                tell(f"The schedule {schedule['name']} stays off. {error.what} {error.fix}")


def _schedules(api: Api) -> Iterator[Row]:
    cursor: str | None = None
    while True:
        page = api.get("schedules", query={"limit": _MOST_ROWS, "cursor": cursor})
        yield from page["items"]
        cursor = page.get("nextCursor")
        if not cursor:
            return


def _ask_secrets(api: Api, draft: Draft) -> None:
    """Ask for the tokens of bots and the keys of accounts that are missing. Then create these bots and accounts.
    Secrets are never read from the home. The bots stay off, so that two programs do not answer the same message."""
    for platform in _missing_bots(api, draft):
        tell(f"Bot for {platform}: leave the answer empty to create it later.")
        given = {name: _asked(name.replace("_", " ")) for name in SECRETS[platform]}
        if all(given.values()):
            settings = {"agent": agent_slug(draft.program, "main")}
            body = {"platform": platform, "name": "main", "settings": settings, "secrets": given, "enabled": False}
            _try(
                api,
                "bots",
                body,
                f"The bot {platform}/main is created. Turn it on with `arvis bots enable {platform}`.",
            )
    for provider in _missing_accounts(api, draft):
        key = _asked(f"key of {provider} (empty: later)")
        if key:
            _try(
                api,
                "accounts",
                {"name": provider, "provider": provider, "apiKey": key},
                f"The account {provider} is created.",
            )


def _asked(words: str) -> str:
    return str(click.prompt(words.capitalize(), default="", show_default=False, hide_input=True, err=True))


def _try(api: Api, path: str, body: Row, words: str) -> None:
    try:
        api.post(path, body=body)
    except ArvisError as error:
        tell(f"{error.what} {error.fix}")
    else:
        tell(words)


def _steps(api: Api, draft: Draft, report: Row) -> list[str]:
    """Return the next steps, with the commands that ask for missing tokens and keys."""
    agent = agent_slug(draft.program, "main")
    # The steps below name the commands for accounts and bots, so the general steps of the report are left out.
    steps = [ask for ask in report["asks"] if not ask.startswith(("Add accounts", "Add bots"))]
    steps += [
        f"Give Arvis the token of the bot: `arvis bots create {platform} --off --set agent={agent}`."
        for platform in _missing_bots(api, draft)
    ]
    steps += [
        f"Give Arvis the key for the model: `arvis accounts create {provider} --provider {provider}`."
        for provider in _missing_accounts(api, draft)
    ]
    return [*steps, f"Read the prompt, which may name files and tools of {draft.program}: `arvis agents show {agent}`."]


def _missing_bots(api: Api, draft: Draft) -> list[str]:
    known = {each["platform"] for each in api.get("bots")["items"]}
    return sorted(draft.bots - known)


def _missing_accounts(api: Api, draft: Draft) -> list[str]:
    known = {each["provider"] for each in api.get("accounts")["items"]}
    return sorted(draft.providers - known)
