"""Reads the sessions of OpenClaw: from the database of an agent, and from the files of versions before 2026.7.2."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, groupby
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.regex import regex
from arvis.interchange.format import PersonRef
from arvis.interchange.peers.draft import SUPPORTED, Draft, place_in
from arvis.interchange.peers.home import Row, as_map, as_text
from arvis.interchange.peers.transcripts import Line, Talk, add_talk, moment, text_of

#: The beginnings of the keys of sessions in which no person writes.
_WITHOUT_PEOPLE = ("cron:", "hook:", "subagent:", "heartbeat", "acp:", "explicit:model-run-")
_DIRECT = frozenset({"direct", "dm"})
_GROUP = frozenset({"group", "channel", "room"})
#: A block with data about the message, which OpenClaw puts before a person's text.
_BLOCK = regex(r"[^\n]{1,80}\(untrusted metadata\):[^\n]*\n```json\n(?P<json>.*?)\n```\s*", re.DOTALL)
_ENVELOPE = regex(r"\[[A-Z][A-Za-z]+ [^\]\n]{1,200}\d{4}-\d{2}-\d{2}[^\]\n]{1,60}\] ?")
_SENDER = regex(r"id:(\w{3,40})")
_MESSAGE_ID = regex(r"\n?\[message_id: [^\]\n]{1,100}\]\s*\Z")
#: The time limit of the program zstd in seconds.
_PATIENCE = 300
_WINDOWS = ("session_id", "session_key", "created_at")
_TABLES = {
    "session_nodes": ("session_key", "entry_json"),
    "session_entries": ("session_key", "entry_json"),
    "session_windows": _WINDOWS,
    "sessions": _WINDOWS,
    "session_transcript_cold_archives": ("session_id", "archive_name"),
    "transcript_events": ("session_id", "seq", "event_json", "event_zstd", "event_utf8_bytes", "created_at"),
}


@dataclass(frozen=True, slots=True)
class Session:
    """A session: its key and its entry in the list of sessions. `begin` is the time of its beginning in ms."""

    id: str
    key: str
    entry: Row
    begin: int | None


@dataclass(frozen=True, slots=True)
class Asked:
    """The agent whose sessions are read: its id in OpenClaw and its slug in Arvis, the people who may use it, and their
    owner."""

    id: str
    slug: str
    people: Sequence[PersonRef]
    owner: PersonRef | None


def add_sessions(draft: Draft, agent: str, slug: str, people: Sequence[PersonRef], owner: PersonRef | None) -> None:
    """Add the conversations of an agent."""
    asked = Asked(agent, slug, people, owner)
    others = 0
    for session, events in [*_from_database(draft, agent), *_from_files(draft, agent)]:
        key = session.key.removeprefix(f"agent:{agent}:")
        if key.startswith(_WITHOUT_PEOPLE):
            others += 1
        else:
            _add(draft, asked, session, key, events)
    if others:
        why = (
            f"{others} transcripts of schedules, webhooks and helpers are not imported, because no person wrote in them"
        )
        draft.home.leave("conversations", f"agents/{agent}", why)


def _from_database(draft: Draft, agent: str) -> Iterator[tuple[Session, list[Row]]]:
    file = f"agents/{agent}/agent/openclaw-agent.sqlite"
    entries, windows, rows = dict[str, Row](), dict[str, Row](), list[Row]()
    for table, row in draft.home.rows(file, _TABLES):
        match table:
            case "session_nodes" | "session_entries":
                entries[as_text(row["session_key"])] = _json(row["entry_json"])
            case "session_windows" | "sessions":
                windows[as_text(row["session_id"])] = row
            case "session_transcript_cold_archives":
                why = f"it is archived in {row['archive_name']}; open it in OpenClaw once, then copy the home and import again"
                draft.home.leave("conversations", as_text(row["session_id"]), why)
            case _:
                rows.append(row)
    texts = _texts(draft, file, rows)
    for session_id, group in groupby(zip(rows, texts, strict=True), key=lambda each: as_text(each[0]["session_id"])):
        events = list(group)
        if any(text is None for _, text in events):
            # Skip this session, because its conversation would have gaps. `_texts` has added a remark about it.
            continue
        window = windows.get(session_id, {})
        key = as_text(window.get("session_key"))
        session = Session(session_id, key, entries.get(key, {}), moment(window.get("created_at")))
        yield session, [_json(text) | {"_at": row["created_at"]} for row, text in events]


def _texts(draft: Draft, file: str, rows: Sequence[Row]) -> list[Any]:
    """Return the JSON text of each event. The text of a compressed event is None if the event cannot be
    decompressed."""
    packed = [row for row in rows if row["event_json"] is None]
    frames = [bytes(row["event_zstd"] or b"") for row in packed]
    found, problem = _decompressed(frames, [int(row["event_utf8_bytes"] or 0) for row in packed])
    if problem:
        count = len({row["session_id"] for row in packed})
        draft.home.leave("conversations", file, f"{count} conversations have compressed messages: {problem}")
    unpacked = iter(found)
    return [next(unpacked) if row["event_json"] is None else row["event_json"] for row in rows]


def _decompressed(frames: Sequence[bytes], lengths: Sequence[int]) -> tuple[list[str | None], str]:
    """Decompress Zstandard frames whose texts have these lengths in bytes. Return the texts, and the problem or an
    empty text. The program `zstd` decompresses all frames in one call."""
    program = shutil.which("zstd")
    if not frames:
        return [], ""
    if program is None:
        return [None] * len(frames), "install the program zstd, and import again"
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program without arguments from the home
            [program, "-dcq"], input=b"".join(frames), capture_output=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return [None] * len(frames), f"the program zstd failed ({error})"
    if done.returncode != 0 or len(done.stdout) != sum(lengths):
        return [None] * len(frames), "they are damaged"
    ends = list(accumulate(lengths))
    return [
        done.stdout[end - length : end].decode("utf-8", "replace") for end, length in zip(ends, lengths, strict=True)
    ], ""


def _from_files(draft: Draft, agent: str) -> Iterator[tuple[Session, list[Row]]]:
    folder = f"agents/{agent}/sessions"
    listed = draft.home.values(f"{folder}/sessions.json") if draft.home.has(f"{folder}/sessions.json") else {}
    keys = {as_text(as_map(entry).get("sessionId")): (key, as_map(entry)) for key, entry in listed.items()}
    for file in draft.home.entries(folder):
        name = file.rpartition("/")[2]
        stem, dot, rest = name.partition(".jsonl")
        if not dot or ".deleted." in rest or rest.startswith((".lock", ".bak")):
            continue
        events = [row for _, row in draft.home.lines(file)]
        head = next((row for row in events if row.get("type") == "session"), {})
        session_id = as_text(head.get("id")) or stem
        key, entry = keys.get(session_id, keys.get(stem, ("", {})))
        yield Session(session_id, key, entry, moment(head.get("timestamp"))), events


def _add(draft: Draft, asked: Asked, session: Session, key: str, events: Iterable[Row]) -> None:
    route = as_map(session.entry.get("deliveryContext"))
    platform = as_text(route.get("channel") or session.entry.get("lastChannel"))
    chat = as_text(route.get("to") or session.entry.get("lastTo")).rpartition(":")[2]
    parts = key.split(":")
    person = None
    direct = True
    place = place_in("web", asked.slug)
    if len(parts) >= 3 and (kind := next((each for each in parts[1:-1] if each in _DIRECT | _GROUP), "")):  # noqa: PLR2004
        platform, peer = parts[0], parts[parts.index(kind) + 1]
        thread = parts[-1] if parts[-2] in {"topic", "thread"} else ""
        direct = kind in _DIRECT
        person = draft.person(platform, peer) if direct and platform in SUPPORTED else None
        # On Telegram, a direct chat has the id of the person. On other platforms, a direct chat has its own id.
        chat = peer if not direct or platform == "telegram" else chat if chat not in {"", peer} else f"dm-{peer}"
        place = place_in(platform.lower()[:32], chat, thread)
    elif asked.owner is not None and platform == asked.owner.platform and chat == asked.owner.user_id:
        # OpenClaw shows the shared conversation of all direct chats only to the owner.
        person = asked.owner
        place = place_in(platform, chat) if platform == "telegram" else place
    talk = Talk(session.id, asked.slug, place, direct, session.begin)
    add_talk(
        draft, talk, [line for event in events if (line := _line(draft, event, person, place.platform)) is not None]
    )


def _line(draft: Draft, event: Row, person: PersonRef | None, platform: str) -> Line | None:
    message = as_map(event.get("message"))
    role = as_text(message.get("role"))
    if event.get("type") != "message" or role not in {"user", "assistant", "toolResult", "tool"}:
        return None
    at = moment(event.get("timestamp")) or moment(message.get("timestamp")) or moment(event.get("_at"))
    if role in {"toolResult", "tool"}:
        return Line("tool", "", at)
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    calls = any(as_map(block).get("type") in {"toolCall", "tool_use", "toolUse"} for block in blocks)
    text, author, name = text_of(content), person, ""
    if role == "user":
        text, sender, name = _unwrapped(text)
        if author is None and sender and platform in SUPPORTED:
            author = draft.person(platform, sender, name)
    return Line(role, text, at, as_text(event.get("id")), author if role == "user" else None, name, calls=calls)


def _unwrapped(text: str) -> tuple[str, str, str]:
    """Remove the blocks that OpenClaw adds to a person's text. Return the person's text, and the id and name of the
    person."""
    sender, name = "", ""
    while (block := _BLOCK.match(text)) is not None:
        facts = _json(block["json"])
        sender = as_text(facts.get("sender_id") or facts.get("senderId")) or sender
        name = as_text(facts.get("name") or facts.get("sender")) or name
        text = text[block.end() :]
    envelope = _ENVELOPE.match(text)
    if envelope is not None:
        found = _SENDER.search(envelope[0])
        sender = sender or (found[1] if found else "")
        text = text[envelope.end() :]
    return _MESSAGE_ID.sub("", text), sender, name


def _json(text: Any) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
