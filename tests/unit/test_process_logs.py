"""Logs: two formats, one file a day, and no secrets in either."""

from __future__ import annotations

import base64
import io
import json
import logging
import resource
import time
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import quote

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from arvis.process.logging import Redactor, erase_details, logging_to

CANARY = 'canary/+"f00d'
DAY_MS = 86_400_000


class HandClock:
    def __init__(self, now: int) -> None:
        self.time = now

    def now(self) -> int:
        return self.time

    def monotonic(self) -> float:
        return self.time / 1000

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _pytest_keeps_its_handlers() -> Iterator[None]:
    root = logging.getLogger()
    before = list(root.handlers)
    yield
    assert root.handlers == before


def logs(
    stream: io.StringIO, folder: Path | None = None, *, clock: HandClock | None = None
) -> AbstractContextManager[object]:
    clock = clock or HandClock(1_700_000_000_000)
    return logging_to(stream=stream, folder=folder, keep_days=14, redact=Redactor([CANARY]), clock=clock)


def entries(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


# --- Formats --- ---


def test_away_from_a_terminal_each_line_is_json_whoever_logs() -> None:
    stream = io.StringIO()
    with logs(stream):
        logging.getLogger("some.library").info("started on %d", 5070, extra={"port": 5070})
        structlog.get_logger("arvis.queue").warning("claimed", jobs=3)

    first, second = entries(stream.getvalue())
    assert first == {
        "event": "started on 5070",
        "level": "info",
        "logger": "some.library",
        "port": 5070,
        "timestamp": "2023-11-14T22:13:20.000+00:00",
    }
    assert (second["event"], second["level"], second["jobs"]) == ("claimed", "warning", 3)


def test_on_a_terminal_lines_are_for_people() -> None:
    stream = Terminal()
    with logs(stream):
        structlog.get_logger("arvis").info("hello", jobs=3)

    assert "hello" in stream.getvalue()
    assert not stream.getvalue().startswith("{")


def test_an_exception_comes_with_its_traceback() -> None:
    for stream in (io.StringIO(), Terminal()):
        with logs(stream):
            try:
                raise ValueError("broken")
            except ValueError:
                logging.getLogger("arvis").exception("failed")
        assert "Traceback" in stream.getvalue()
        assert "ValueError: broken" in stream.getvalue()


def test_requests_of_libraries_are_not_logged_at_info() -> None:
    stream = io.StringIO()
    with logs(stream):
        logging.getLogger("httpx2").info("POST https://api.example.org")
        logging.getLogger("httpx2").warning("slow")

    assert [entry["event"] for entry in entries(stream.getvalue())] == ["slow"]


def test_warnings_are_logged() -> None:
    stream = io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with logs(stream):
            warnings.warn("old thing", DeprecationWarning, stacklevel=1)

    assert "old thing" in stream.getvalue()


def test_a_handler_of_a_library_does_not_bypass_the_filter() -> None:
    theirs, ours = io.StringIO(), io.StringIO()
    logger = logging.getLogger("library.with.handler")
    logger.addHandler(logging.StreamHandler(theirs))
    logger.propagate = False

    with logs(ours):
        logger.warning("token %s", CANARY)

    assert theirs.getvalue() == ""
    assert "[redacted]" in ours.getvalue()


# --- Files --- ---


def test_a_copy_goes_to_the_file_of_the_day_and_old_files_leave(tmp_path: Path) -> None:
    clock = HandClock(1_700_000_000_000)
    for name in ("arvis-2023-10-30.log", "arvis-2023-10-31.log", "arvis-2023-11-01.log", "notes-2000-01-01.log"):
        (tmp_path / name).write_text("", encoding="utf-8")

    with logs(Terminal(), tmp_path, clock=clock):
        logging.getLogger("arvis").info("one")
        clock.time += DAY_MS
        logging.getLogger("arvis").info("two")

    assert {file.name for file in tmp_path.iterdir()} == {
        "arvis-2023-11-01.log", "arvis-2023-11-14.log", "arvis-2023-11-15.log", "notes-2000-01-01.log",
    }  # fmt: skip
    assert [entries((tmp_path / f"arvis-2023-11-{day}.log").read_text())[0]["event"] for day in (14, 15)] == [
        "one",
        "two",
    ]


def test_no_file_leaves_before_it_is_known_how_long_files_are_kept(tmp_path: Path) -> None:
    """The number of days may come from the database, which is opened after the first lines."""
    for day in ("2023-10-01", "2023-11-01"):
        (tmp_path / f"arvis-{day}.log").write_text("", encoding="utf-8")
    clock = HandClock(1_700_000_000_000)
    with logging_to(stream=Terminal(), folder=tmp_path, keep_days=None, redact=Redactor(), clock=clock) as keep:
        logging.getLogger("arvis").info("one")
        assert len(list(tmp_path.iterdir())) == 3
        keep(20)
        assert {file.name for file in tmp_path.iterdir()} == {"arvis-2023-11-01.log", "arvis-2023-11-14.log"}


def test_a_restart_appends(tmp_path: Path) -> None:
    for text in ("one", "two"):
        with logs(io.StringIO(), tmp_path):
            logging.getLogger("arvis").info(text)

    (file,) = tmp_path.iterdir()
    assert [entry["event"] for entry in entries(file.read_text())] == ["one", "two"]


def test_a_folder_that_cannot_be_used_costs_the_file_and_nothing_else(tmp_path: Path) -> None:
    folder, stream = tmp_path / "logs", io.StringIO()
    folder.write_text("a file stands in the way", encoding="utf-8")
    with logs(stream, folder):
        logging.getLogger("arvis").info("still here")
        folder.unlink()
        logging.getLogger("arvis").info("and here")

    assert [entry["event"] for entry in entries(stream.getvalue())] == ["still here", "and here"]
    (file,) = folder.iterdir()
    assert [entry["event"] for entry in entries(file.read_text())] == ["and here"]


def test_a_disk_without_room_costs_lines_and_nothing_else(tmp_path: Path) -> None:
    """Closing the file does not fail, either, although it writes the missing lines again."""
    stream = io.StringIO()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        with logs(stream, tmp_path):
            structlog.get_logger("arvis.test").info("kept_elsewhere")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert "kept_elsewhere" in stream.getvalue()


def test_a_line_that_cannot_be_formatted_is_dropped_without_showing_it(capsys: pytest.CaptureFixture[str]) -> None:
    stream = io.StringIO()
    with logs(stream):
        logging.getLogger("arvis").info("%d", CANARY)
        logging.getLogger("arvis").info("next")

    assert [entry["event"] for entry in entries(stream.getvalue())] == ["next"]
    assert CANARY not in capsys.readouterr().err


# --- Secrets ---


@pytest.mark.parametrize("terminal", [True, False])
def test_a_known_secret_is_in_no_output(terminal: bool, tmp_path: Path) -> None:
    stream = Terminal() if terminal else io.StringIO()
    with logs(stream, tmp_path):
        logger = logging.getLogger("httpx")
        logger.warning("HTTP Request: POST https://api.example.org/%s/send", CANARY)
        logger.warning("fields", extra={"header": {"x": CANARY}})
        structlog.get_logger("arvis").warning("bound", value=[CANARY])
        try:
            raise RuntimeError(CANARY)
        except RuntimeError:
            logger.exception("failed")

    (file,) = tmp_path.iterdir()
    for text in (stream.getvalue(), file.read_text()):
        assert text.count("[redacted]") >= 4
        assert "f00d" not in text


def test_a_known_secret_is_found_in_other_forms() -> None:
    redact = Redactor([CANARY])
    data = CANARY.encode()

    for form in (
        CANARY, json.dumps(CANARY), quote(CANARY), quote(CANARY, safe=""), data.hex(),
        base64.b64encode(data).decode(), base64.urlsafe_b64encode(data).decode(),
    ):  # fmt: skip
        assert redact(f"before {form} after").strip('="') != f"before {form} after"
        assert form.rstrip("=") not in redact(f"before {form} after")


def test_a_short_secret_is_only_taken_out_where_it_stands_alone() -> None:
    redact = Redactor(["demo", " "])

    assert redact("the demo of democracy, demo") == "the [redacted] of democracy, [redacted]"


def test_many_secrets_are_learned_one_by_one_and_looked_for_in_no_time() -> None:
    """A large installation has hundreds of secrets; a single pattern of all of them took minutes to compile and was
    slow."""
    redact, begun = Redactor(), time.process_time()
    for number in range(1_000):
        redact.learn([f"secret-number-{number}"])
        assert redact(f"it is secret-number-{number}, ") == "it is [redacted], "
    assert time.process_time() - begun < 10


def test_a_secret_inside_another_leaves_no_rest_whenever_it_was_learned() -> None:
    redact = Redactor(["abcdefgh"])
    redact.learn(["abcdefgh-and-more"])
    redact.learn(["cdefghijk"])
    assert redact("abcdefgh-and-more abcdefgh") == "[redacted] [redacted]"


def test_a_secret_learned_later_is_taken_out() -> None:
    redact = Redactor()
    assert redact("value zebra-zebra") == "value zebra-zebra"

    redact.learn(["zebra-zebra"])

    assert redact("value zebra-zebra") == "value [redacted]"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Authorization: Bearer abcdef123456", "abcdef123456"),
        ("{'Authorization': 'Bot abcdef.123456'}", "abcdef.123456"),
        ("headers=[(b'authorization', b'Basic dXNlcjpwYXNz')]", "dXNlcjpwYXNz"),
        ('{"authorization": "abcdef"}', "abcdef"),
        ("x-api-key: abcdef123456", "abcdef123456"),
        ("Cookie: session=abcdef; other=1", "abcdef"),
        ("sent bearer abcdef123456 along", "abcdef123456"),
        ("key sk-proj-abcdef_123456-XYZ is wrong", "abcdef_123456"),
        ("sk-ant-api03-abcdefgh", "abcdefgh"),
        ("POST https://api.telegram.org/bot123456789:AAabcdefghijklmnopqrstuvwxyz012345678/getMe", "AAabcdefghijkl"),
        ("token 123456789:AAabcdefghijklmnopqrstuvwxyz012345678", "AAabcdefghijkl"),
        ("xoxb-123456789012-abcdefghijkl", "abcdefghijkl"),
        (
            "POST https://discord.com/api/v10/webhooks/123456789012345678/aW50ZXJhY3Rpb246abcdef-x responded",
            "aW50ZXJhY3Rpb246",
        ),
        ("xapp-1-A0123-456-abcdef", "abcdef"),
        ("MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcdE.abcdefghijklmnopqrstuvwxyz0123", "abcdefghijklmnop"),
        ("AIzaSyA-abcdefghijklmnopqrstuvwxyz012345", "abcdefghijkl"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghijkl"),
        ("postgresql://user:hunter22@host/db", "hunter22"),
        ("GET /x?api_key=abcdef&limit=5", "abcdef"),
        ("http://127.0.0.1:5070/#code=abcdef", "abcdef"),
        ('{"bot_token": "abcdef"}', "abcdef"),
        ("Config(api_key='abcdef', name='x')", "abcdef"),
        ('{"event": "body {\\"password\\": \\"abcdef\\"}"}', "abcdef"),
    ],
)
def test_what_looks_like_a_secret_is_taken_out(text: str, secret: str) -> None:
    redacted = Redactor()(text)

    assert secret not in redacted
    assert "[redacted]" in redacted


@pytest.mark.parametrize(
    "text",
    [
        "claimed job 01ARYZ6S410000000000000000 at 2023-11-14T22:13:20.000+00:00",
        "input_tokens=120 output_tokens=30 max_tokens: 4096",
        "the key `queue.workers` must be at least 2",
        "GET http://127.0.0.1:5070/api/jobs?limit=50&cursor=abc",
        "ask the task-force about authorization",
        "arvis.connectors.telegram and slack at http://[::1]:8080/path",
    ],
)
def test_ordinary_lines_stay_as_they_are(text: str) -> None:
    assert Redactor()(text) == text


@given(st.text(min_size=8, max_size=40).filter(lambda text: text.strip()), st.text(max_size=40), st.text(max_size=40))
def test_no_known_secret_survives_anywhere(secret: str, before: str, after: str) -> None:
    assert secret not in Redactor([secret])(f"{before}{secret}{after}") or secret in "[redacted]"


def test_an_erasure_removes_the_texts_of_written_lines_and_the_next_lines_follow(tmp_path: Path) -> None:
    old = tmp_path / "arvis-2023-11-10.log"
    old.write_text('{"event": "job_failed", "error": "secret words"}\nno JSON: secret words\n', encoding="utf-8")
    identity = "01M804ZHXZ8D0VR966YHG7YEXW"
    with logs(io.StringIO(), tmp_path):
        log = structlog.get_logger("test")
        log.warning("job_failed", error="secret words", attempts=3, job=identity)
        logging.getLogger("library").warning("secret words of a library")
        erase_details()
        log.info("after_it", error="kept")
    lines = [json.loads(line) for file in sorted(tmp_path.glob("*.log")) for line in file.read_text().splitlines()]
    assert [(line["event"], line.get("attempts"), line.get("job"), line.get("error")) for line in lines] == [
        ("job_failed", None, None, None),
        ("job_failed", 3, identity, None),
        ("(erased)", None, None, None),
        ("after_it", None, None, "kept"),
    ]
    assert all(file.stat().st_mode & 0o077 == 0 for file in tmp_path.glob("*.log") if file != old)
