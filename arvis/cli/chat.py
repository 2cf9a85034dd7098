"""`arvis chat`: talk to an agent over the daemon's API. Standard output carries answers only."""

from __future__ import annotations

import getpass
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from arvis.cli.api import PATIENCE, Api, connect
from arvis.cli.failures import FAILED, report
from arvis.cli.options import json_option, place_options
from arvis.cli.printing import print_json
from arvis.cli.streaming import show_while_written
from arvis.domain.errors import ArvisError, DaemonUnreachable
from arvis.domain.explanation import why_not
from arvis.domain.messages import FINAL_STATUSES, MessageStatus

#: Seconds that one request waits for an answer; then it is asked again.
_ONE_WAIT = 30

Timeline = dict[str, Any]
Show = Callable[[Api, str, str, str], Timeline]


@click.command()
@click.argument("text", required=False, help="The message; without it, lines of standard input.")
@click.option("--agent", metavar="SLUG", help="Talk to this agent.")
@click.option("--channel", metavar="ID", help="Write in this channel.")
@json_option
@place_options
def chat(
    *,
    text: str | None,
    agent: str | None,
    channel: str | None,
    as_json: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """Send one message and print its answer, or talk line by line until the end of input."""
    api = connect(config, data)
    place = channel or (f"dashboard-agent-{agent}" if agent else f"cli-{_user()}")
    show = _shower(as_json=as_json)
    if text is not None:
        _ask(api, place, text, show)
    elif _talk(api, place, show):
        sys.exit(FAILED)


def _ask(api: Api, channel: str, text: str, show: Show) -> None:
    """One message and its answer. Raises `ArvisError` when there is none."""
    timeline = show(api, channel, text, uuid.uuid4().hex)
    if timeline["status"] != MessageStatus.ANSWERED:
        raise no_answer(timeline)


def _talk(api: Api, channel: str, show: Show) -> int:
    """One message a line; how many had no answer. That ends no conversation, a daemon that is gone does."""
    unanswered = 0
    for line in _lines():
        try:
            _ask(api, channel, line, show)
        except DaemonUnreachable:
            raise
        except ArvisError as error:
            report(error)
            unanswered += 1
    return unanswered


def no_answer(timeline: Timeline) -> ArvisError:
    """Why a message rests without an answer."""
    fix = f"`arvis explain {timeline['messageId']}` tells the whole story."
    if timeline["status"] == MessageStatus.WAITING:
        fix = "`arvis waits list` shows the question, `arvis waits answer` answers it."
    return ArvisError(
        f"The message has no answer: it is {timeline['status']}",
        why=why_not(timeline),
        fix=fix,
        code=timeline["status"],
    )


def _shower(*, as_json: bool) -> Show:
    """How an answer reaches the reader: JSON, letter by letter on a terminal, else whole and unchanged."""
    if as_json:
        return _show_json
    return show_while_written(then=_wait) if sys.stdout.isatty() else _show_whole


def _show_json(api: Api, channel: str, text: str, event_id: str) -> Timeline:
    timeline = _wait(api, _send(api, channel, text, event_id))
    print_json(timeline)
    return timeline


def _show_whole(api: Api, channel: str, text: str, event_id: str) -> Timeline:
    timeline = _wait(api, _send(api, channel, text, event_id))
    if timeline["status"] == MessageStatus.ANSWERED:
        print(timeline["reply"], flush=True)
    return timeline


def _send(api: Api, channel: str, text: str, event_id: str) -> str:
    sent = api.post("api", "message", body={"content": text, "channelId": channel, "id": event_id})
    return str(sent["messageId"])


def _wait(api: Api, message_id: str) -> Timeline:
    """The message's timeline as soon as it has come to rest."""
    resting = {*FINAL_STATUSES, MessageStatus.WAITING}
    try:
        while True:
            path = ("api", "messages", message_id, "wait")
            timeline: Timeline = api.get(*path, query={"timeout": _ONE_WAIT}, patience=_ONE_WAIT + PATIENCE)
            if timeline["status"] in resting:
                return timeline
    except DaemonUnreachable as error:
        fix = f"The message is safe. Start the daemon again; `arvis explain {message_id}` then shows its answer."
        raise DaemonUnreachable(error.what, why=error.why, fix=fix) from error


def _lines() -> Iterator[str]:
    """What is typed or piped in, line by line; empty lines are passed over."""
    prompt = "> " if sys.stdin.isatty() and sys.stdout.isatty() else ""
    while True:
        try:
            line = input(prompt)
        except EOFError:
            return
        if line.strip():
            yield line


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A container's user may have no name.
        return "owner"
