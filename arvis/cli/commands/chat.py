"""`arvis chat`: talk to an agent over the daemon's API. Standard output contains only the posts of the channel."""

from __future__ import annotations

import getpass
import json
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import click

from arvis.cli.api_client import TIMEOUT, Api
from arvis.cli.commands.chat_stream import Posts, show_while_written
from arvis.cli.options import JsonCommand, existing_file, given, read_text
from arvis.cli.output import FAILED, error_text, print_json, tell
from arvis.domain.effort import EFFORTS
from arvis.domain.errors import ArvisError, DaemonUnreachable
from arvis.domain.explanation import why_not
from arvis.domain.messages import FINAL_STATUSES, MessageStatus
from arvis.domain.reply_format import MOST_BYTES

#: The time in seconds for which one request waits for an answer. After this time, the client sends the request again.
_ONE_WAIT = 30

#: The maximum number of open questions that one request returns. The request returns questions of all channels, from
#: which `_questions` selects the questions of this channel.
_MOST_QUESTIONS = 200
_AT_WORK = "running"
#: The interval in seconds at which the client checks an execution that continues after an answer.
_LOOK = 0.2
PROMPT = "> "

Timeline = dict[str, Any]
Show = Callable[[Api, str, str, str], Timeline]

#: The channel of an agent is this prefix and the agent's slug.
_AGENT_CHANNEL = "dashboard-agent-"


@click.command(cls=JsonCommand)
@click.argument("text", required=False, help="The message (default: each line of standard input is a message).")
@click.option("--agent", metavar="SLUG", help="Talk to this agent.")
@click.option("--channel", metavar="ID", help="Write in this channel.")
@click.option(
    "--effort", type=click.Choice(EFFORTS), help="The reasoning effort for these messages (default: the agent's)."
)
@click.option(
    "--schema", type=existing_file, metavar="PATH", help="The replies must match the JSON Schema in this file."
)
@click.option("--follow", is_flag=True, help="After the answer, print new messages of the channel until Ctrl-C.")
def chat(
    *,
    text: str | None,
    agent: str | None,
    channel: str | None,
    effort: str | None,
    schema: Path | None,
    follow: bool,
    as_json: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """Send one message and print its answer, or send line by line until the end of input."""
    api = Api(config, data).connect()
    place = channel or (f"{_AGENT_CHANNEL}{agent}" if agent else f"cli-{_user()}")
    more = given({"agent": agent if channel else None, "effort": effort, "replySchema": schema and _schema_in(schema)})
    session = ChatSession(api, place, more, as_json=as_json)
    if text is not None:
        session.begin(listening=False)
        timeline = session.ask(text)
        if follow:
            session.follow()
        _require_answer(timeline)
    elif _lines_of(session, follow=follow):
        sys.exit(FAILED)


def _schema_in(file: Path) -> Any:
    """Return the value that a file contains as JSON. Raise `ClickException` if the file contains no valid JSON."""
    try:
        return json.loads(read_text(file, "--schema", MOST_BYTES))
    except ValueError as wrong:
        raise click.ClickException(f"{file} contains no JSON: {wrong}.") from None


class ChatSession:
    """A chat in one channel. The session prints the answers to messages, and other posts of the channel. With
    `as_json`, it prints only the timelines of the messages. `more` contains further fields of each message: the agent
    and the effort."""

    def __init__(self, api: Api, channel: str, more: Mapping[str, Any], *, as_json: bool) -> None:
        self._api = api
        self._channel = channel
        self._posts = None if as_json else Posts(api, channel, self._write)
        self._more = more
        self._show = self._shower()
        self._at_prompt = False

    def begin(self, *, listening: bool) -> None:
        """Join the channel. With `listening`, print the posts that arrive between the messages."""
        if self._posts is not None:
            self._posts.begin()
            if listening:
                self._posts.listen()

    def ask(self, text: str) -> Timeline:
        """Send a message and print its answer. If the message answers a question, also print the posts of the work that
        continues after the answer."""
        if self._posts is None:
            return self._show(self._api, self._channel, text, uuid.uuid4().hex)
        asked = self._questions()
        timeline = self._show(self._api, self._channel, text, uuid.uuid4().hex)
        if timeline["status"] == MessageStatus.WAITING:
            self._posts.reopen(timeline["messageId"])
        for question in asked:
            self._await_outcome(question)
        # The answer has been shown, so an unreachable daemon is ignored here. The next request reports it.
        with suppress(DaemonUnreachable):
            self._posts.catch_up()
        return timeline

    def read(self) -> str | None:
        """Return the next line that a person types or a program pipes in; None at the end of the input."""
        prompt = PROMPT if sys.stdin.isatty() and sys.stdout.isatty() else ""
        self._at_prompt = bool(prompt)
        try:
            return input(prompt)
        except EOFError:
            return None
        finally:
            self._at_prompt = False

    def follow(self) -> None:
        """Print posts until the process is interrupted."""
        if self._posts is not None:
            self._posts.follow()

    def mute(self) -> None:
        """Stop printing the posts that arrive between the messages."""
        if self._posts is not None:
            self._posts.mute()

    def still_waiting(self, message_id: str) -> Timeline | None:
        """Return the timeline of a message if the message still waits for a person, else None."""
        timeline: Timeline = self._api.get("messages", message_id)
        return timeline if timeline["status"] == MessageStatus.WAITING else None

    def _questions(self) -> list[str]:
        """Return the ids of the open questions of this channel."""
        page = self._api.get("questions", query={"limit": _MOST_QUESTIONS})
        return [wait["id"] for wait in page["items"] if wait["channelId"] == self._channel]

    def _await_outcome(self, wait_id: str) -> None:
        """Wait until the execution of an answered question ends or waits again."""
        wait = self._api.get("questions", wait_id)
        if wait["answeredAt"] is None:
            return
        if wait["messageId"] is not None:
            _wait(self._api, wait["messageId"])
        while self._api.get("executions", wait["executionId"])["status"] == _AT_WORK:
            time.sleep(_LOOK)

    def _shower(self) -> Show:
        """Return the function that sends a message and shows its answer. With --json, it prints JSON. On a terminal,
        it prints the answer piece by piece. Otherwise it prints the complete answer."""
        if self._posts is None:
            return self._show_json
        if not sys.stdout.isatty():
            return partial(self._show_whole, self._posts)
        written = show_while_written(then=_wait, more=self._more, posts=self._posts)
        lock = self._posts.lock

        def show(api: Api, channel: str, text: str, event_id: str) -> Timeline:
            with lock:
                return written(api, channel, text, event_id)

        return show

    def _show_json(self, api: Api, channel: str, text: str, event_id: str) -> Timeline:
        timeline = _wait(api, self._send(api, channel, text, event_id))
        print_json(timeline)
        return timeline

    def _show_whole(self, posts: Posts, api: Api, channel: str, text: str, event_id: str) -> Timeline:
        with posts.lock:
            message_id = self._send(api, channel, text, event_id)
            posts.answered(message_id)
        timeline = _wait(api, message_id)
        with posts.lock:
            if timeline["status"] == MessageStatus.ANSWERED:
                print(timeline["reply"], flush=True)
        return timeline

    def _send(self, api: Api, channel: str, text: str, event_id: str) -> str:
        sent = api.post("messages", body={"content": text, "channelId": channel, "id": event_id, **self._more})
        return str(sent["messageId"])

    def _write(self, text: str) -> None:
        """Print a post. If a prompt is shown, replace it by the post and print the prompt again below the post."""
        if self._at_prompt:
            print(f"\r{text}\n{PROMPT}", end="", flush=True)
        else:
            print(text, flush=True)


def _lines_of(session: ChatSession, *, follow: bool) -> int:
    """Send each line as a message, and return the number of messages without an answer. A missing answer does not end
    the conversation; an unreachable daemon does."""
    unanswered, waiting = 0, set()
    session.begin(listening=True)
    while (line := session.read()) is not None:
        if not line.strip():
            continue
        try:
            timeline = session.ask(line)
            if timeline["status"] == MessageStatus.WAITING:
                waiting.add(timeline["messageId"])
            else:
                _require_answer(timeline)
        except DaemonUnreachable:
            raise
        except ArvisError as error:
            tell(error_text(error))
            unanswered += 1
    session.mute()
    if follow:
        session.follow()
    for timeline in filter(None, map(session.still_waiting, sorted(waiting))):
        tell(error_text(no_answer(timeline)))
        unanswered += 1
    return unanswered


def _require_answer(timeline: Timeline) -> None:
    """Raise `ArvisError` if a message has no answer."""
    if timeline["status"] != MessageStatus.ANSWERED:
        raise no_answer(timeline)


def no_answer(timeline: Timeline) -> ArvisError:
    """Return an error that says why a message has no answer."""
    what = f"The message was not answered. Its status is {timeline['status']}."
    fix = f"`arvis explain {timeline['messageId']}` shows all steps."
    if timeline["status"] == MessageStatus.WAITING:
        what = "The message waits for the answer to a question."
        fix = f"Answer the question: `arvis chat {_options(timeline)} yes`, or `arvis questions answer`."
    return ArvisError(what, why=why_not(timeline), fix=fix, code=timeline["status"])


def _options(timeline: Timeline) -> str:
    """Return the options with which `arvis chat` writes to the agent of this message in the same channel."""
    agent, channel = f"--agent {timeline['agent']}", timeline["channelId"]
    return agent if channel.startswith(_AGENT_CHANNEL) else f"--channel {channel} {agent}"


def _wait(api: Api, message_id: str) -> Timeline:
    """Wait until a message has ended or waits for a person, and return its timeline."""
    resting = {*FINAL_STATUSES, MessageStatus.WAITING}
    try:
        while True:
            path = ("messages", message_id, "wait")
            timeline: Timeline = api.get(*path, query={"timeout": _ONE_WAIT}, timeout=_ONE_WAIT + TIMEOUT)
            if timeline["status"] in resting:
                return timeline
    except DaemonUnreachable as error:
        fix = (
            f"The message is stored. Start the daemon with `arvis run`. `arvis explain {message_id}` then shows the "
            "answer."
        )
        raise DaemonUnreachable(error.what, why=error.why, fix=fix) from error


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A container's user may have no name.
        return "owner"
