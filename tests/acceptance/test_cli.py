"""Every command against the real daemon, as a person types it."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from arvis.store.sql.migrations import available
from tests.acceptance.daemon import Daemon, arvis, environment, running_daemon
from tests.acceptance.questions import ask_a_person


@pytest.fixture(scope="module")
def question() -> list[str]:
    """Hold the id of the one open question, once the daemon runs."""
    return []


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, question: list[str]) -> Iterator[Daemon]:
    """One daemon for all tests: migrated by a command, with one open question that the test has stored."""
    folder = tmp_path_factory.mktemp("cli")
    migrated = arvis("upgrade", "--data", str(folder / "data"), cwd=folder)
    assert migrated.returncode == 0, migrated.stderr
    assert migrated.stdout.splitlines() == [f"ran {migration.name}" for migration in available()]
    question.append(ask_a_person(folder / "data"))
    with running_daemon(folder, settings={"ARVIS__ROUTING__FALLBACK": "helper"}) as daemon:
        yield daemon
        assert daemon.stop() == "", "standard output carries the ready line and the login link only"


def answered(daemon: Daemon, *arguments: str, **environ: str) -> dict[str, Any]:
    done = daemon.arvis("chat", "--json", *arguments, **environ)
    assert done.returncode == 0, done.stderr
    timeline: dict[str, Any] = json.loads(done.stdout)
    return timeline


def failed_job(daemon: Daemon) -> tuple[str, str]:
    """Return the message and the job of a call that failed."""
    done = daemon.arvis("chat", "--json", "demo: fail auth")
    assert done.returncode == 1
    timeline = json.loads(done.stdout)
    return timeline["messageId"], timeline["job"]["id"]


# -- run and the first conversation --------------------------------------------------------------------------


def test_a_first_conversation(daemon: Daemon) -> None:
    first = daemon.arvis("chat", "Good morning")
    assert first.returncode == 0, first.stderr
    assert "Good morning" in first.stdout
    assert "demo" in first.stdout
    assert first.stderr == ""


def test_the_daemon_leaves_its_address_and_keeps_it_private(daemon: Daemon) -> None:
    address = daemon.data / "address"
    assert address.read_text() == f"{daemon.url}\n"
    assert address.stat().st_mode & 0o777 == 0o600


# -- chat ----------------------------------------------------------------------------------------------------


def test_chat_prints_the_answer_and_nothing_else(daemon: Daemon) -> None:
    done = daemon.arvis("chat", "demo: say one\\ntwo")
    assert (done.returncode, done.stdout, done.stderr) == (0, "one\ntwo\n", "")


def test_chat_writes_to_the_channel_of_the_user_of_the_agent_or_any(daemon: Daemon) -> None:
    assert answered(daemon, "hi", LOGNAME="ann")["channelId"] == "cli-ann"
    assert answered(daemon, "hi", "--agent", "helper")["channelId"] == "dashboard-agent-helper"
    assert answered(daemon, "hi", "--agent", "helper", "--channel", "web-x")["channelId"] == "web-x"


def test_chat_takes_lines_until_the_end_and_survives_a_failed_one(daemon: Daemon) -> None:
    done = daemon.arvis("chat", typed="demo: say one\n\ndemo: fail auth\ndemo: say two")
    first, *notice, last = done.stdout.splitlines()
    assert (done.returncode, first, last) == (1, "one", "two")
    assert "could not finish a task" in notice[0], "an owner's notice is posted in the channel"
    assert done.stderr.startswith(
        "The message was not answered. Its status is failed.\n  why: the vendor rejected the key of the model's account"
    )
    assert daemon.arvis("chat", typed="demo: say one").returncode == 0


def test_chat_tells_why_there_is_no_answer(daemon: Daemon) -> None:
    done = daemon.arvis("chat", "demo: fail auth")
    assert done.returncode == 1
    assert re.search(r"why: .*\(auth\).*\n  fix: `arvis explain \w{26}`", done.stderr)


def test_chat_with_an_unknown_agent(daemon: Daemon) -> None:
    done = daemon.arvis("chat", "--agent", "nobody", "hi")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("There is no such agent, or you may not ask it.\n  fix: ")


def test_chat_on_a_terminal_shows_the_answer_while_it_is_written(daemon: Daemon) -> None:
    command = [sys.executable, "-m", "arvis", "chat", "--data", str(daemon.data)]
    text = "demo: say first\ndemo: sleep 600\ndemo: say never"
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*command, text], stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, env=environment(), cwd=daemon.folder
    ) as chat:
        os.close(theirs)
        shown = b""
        while b"first" not in shown and select.select([ours], [], [], 30)[0]:
            shown += os.read(ours, 1000)
        running = json.loads(daemon.arvis("jobs", "list", "--json", "--status", "running").stdout)["items"]
        assert daemon.arvis("jobs", "cancel", running[0]["id"]).returncode == 0
        _, complaint = chat.communicate(timeout=30)
    os.close(ours)
    assert b"first" in shown, "nothing was shown while the model was at work"
    assert chat.returncode == 1
    assert b"Its status is cancelled" in complaint
    assert b"a person stopped it" in complaint


def test_chat_on_a_terminal_prints_the_whole_answer_once(daemon: Daemon) -> None:
    command = [sys.executable, "-m", "arvis", "chat", "demo: tokens 9", "--data", str(daemon.data)]
    ours, theirs = pty.openpty()
    done = subprocess.run(command, stdout=theirs, env=environment(), cwd=daemon.folder, check=False, timeout=30)
    os.close(theirs)
    assert (done.returncode, os.read(ours, 10_000)) == (0, b" ".join([b"word"] * 9) + b"\r\n")
    os.close(ours)


# -- jobs ----------------------------------------------------------------------------------------------------


def test_jobs_are_listed_filtered_and_paged(daemon: Daemon) -> None:
    older, newer = (answered(daemon, "hi")["job"]["id"] for _ in range(2))
    wanted = ("--limit", "1", "--kind", "message", "--agent", "helper", "--status", "done")
    page = json.loads(daemon.arvis("jobs", "list", "--json", *wanted).stdout)
    assert [job["id"] for job in page["items"]] == [newer]
    assert page["items"][0].keys() >= {"id", "kind", "status", "lane", "attempts", "crashes", "runAt", "error", "agent"}
    first = daemon.arvis("jobs", "list", *wanted)
    heading, row = first.stdout.splitlines()
    assert heading.split() == ["ID", "KIND", "STATUS", "AGENT", "ATTEMPTS", "CRASHES", "CREATED", "ERROR"]
    assert row.startswith(f"{newer}  message  done    helper  0 ")
    assert first.stderr == f"There are more rows. Show them with --cursor {page['nextCursor']}\n"
    second = daemon.arvis("jobs", "list", *wanted, "--cursor", page["nextCursor"])
    assert second.stdout.splitlines()[1].startswith(older)
    finished = daemon.arvis("jobs", "cancel", older)
    assert (finished.returncode, finished.stdout) == (1, "")
    assert "\n  fix: " in finished.stderr
    assert daemon.arvis("jobs", "list", "--kind", "cron").stdout == "No jobs match.\n"


def test_a_failed_job_is_shown_retried_and_deleted(daemon: Daemon) -> None:
    message, job = failed_job(daemon)
    assert re.search(r"^status +failed$", daemon.arvis("jobs", "show", job).stdout, re.MULTILINE)
    retried = json.loads(daemon.arvis("jobs", "retry", job, "--json").stdout)
    assert retried["id"] == job
    assert retried["status"] in {"pending", "running", "failed"}
    assert wait_for(daemon, message)["status"] == "failed"
    assert daemon.arvis("jobs", "delete", job).stdout == f"The job {job} is deleted.\n"
    gone = daemon.arvis("jobs", "show", job)
    assert (gone.returncode, gone.stdout) == (1, "")
    assert gone.stderr.startswith("There is no such job.\n  fix: ")


def wait_for(daemon: Daemon, message: str) -> Any:
    place = urlsplit(daemon.url)
    connection = HTTPConnection(place.hostname or "", place.port, timeout=30)
    connection.request("GET", f"/api/messages/{message}/wait", headers={"Authorization": f"Bearer {daemon.api_key}"})
    found = json.loads(connection.getresponse().read())
    connection.close()
    return found


# -- waits ---------------------------------------------------------------------------------------------------


def test_a_question_is_listed_and_answered_once(daemon: Daemon, question: list[str]) -> None:
    listed = daemon.arvis("questions", "list").stdout
    assert "May I?" in listed
    assert question[0] in listed
    arguments = ("--note", "once", "--arguments", '{"path": "x"}', "--json")
    done = daemon.arvis("questions", "answer", question[0], "edit", *arguments)
    assert done.returncode == 0, done.stderr
    given = json.loads(done.stdout)["answer"]
    assert (given["decision"], given["note"], given["arguments"]) == ("edit", "once", {"path": "x"})
    assert daemon.arvis("questions", "list").stdout == "No open questions.\n"
    assert len(json.loads(daemon.arvis("questions", "list", "--all", "--json").stdout)["items"]) == 1
    again = daemon.arvis("questions", "answer", question[0], "approve")
    assert again.returncode == 1
    assert "answered already" in again.stderr


@pytest.mark.parametrize("arguments", [("maybe",), ("edit", "--arguments", "{"), ("edit", "--arguments", "[1]")])
def test_an_answer_that_makes_no_sense_is_wrong_use(daemon: Daemon, arguments: tuple[str, ...]) -> None:
    done = daemon.arvis("questions", "answer", "x", *arguments)
    assert (done.returncode, done.stdout) == (2, "")


# -- explain, login, version ---------------------------------------------------------------------------------


def test_explain_tells_the_story_of_an_answer(daemon: Daemon) -> None:
    message = answered(daemon, "demo: tokens 3", "--channel", "cli-story")["messageId"]
    told = daemon.arvis("explain", message).stdout
    assert re.match(r"Answered by helper after \d+\.\d{3} s\. It was asked because no other rule matched", told)
    assert "0.000 s  received from Owner over web\n" in told
    assert re.search(r"s  model demo/demo \(account demo\): \d+ tokens in, 3 out, ", told)
    assert json.loads(daemon.arvis("explain", message, "--json").stdout)["reply"] == "word word word"


def test_explain_takes_an_answer_a_job_or_nothing(daemon: Daemon) -> None:
    daemon.arvis("chat", "demo: say the newest")
    newest = json.loads(daemon.arvis("explain", "--json").stdout)
    assert newest["content"] == "demo: say the newest"
    for given in (newest["messageId"], newest["replyId"], newest["job"]["id"]):
        assert json.loads(daemon.arvis("explain", given, "--json").stdout)["messageId"] == newest["messageId"]
    assert "The answer: the newest" in daemon.arvis("explain").stdout


def test_explain_tells_why_there_is_no_answer(daemon: Daemon) -> None:
    message, _ = failed_job(daemon)
    told = daemon.arvis("explain", message).stdout
    assert told.startswith(
        "Not answered (failed): the vendor rejected the key of the model's account (auth): the demo failed"
    )


def test_a_login_link_works_once(daemon: Daemon) -> None:
    code = daemon.arvis("login").stdout.strip().partition("/#login=")[2]
    assert [log_in(daemon, code), log_in(daemon, code)] == [200, 401]
    assert log_in(daemon, daemon.login_link.partition("/#login=")[2]) == 200
    assert json.loads(daemon.arvis("login", "--json").stdout).keys() == {"code", "url", "expiresAt"}


def log_in(daemon: Daemon, code: str) -> int:
    place = urlsplit(daemon.url)
    connection = HTTPConnection(place.hostname or "", place.port, timeout=30)
    headers = {"Content-Type": "application/json", "Origin": daemon.url}
    connection.request("POST", "/api/auth/login", json.dumps({"code": code}), headers)
    status = connection.getresponse().status
    connection.close()
    return status


def test_a_key_that_the_daemon_does_not_know(daemon: Daemon, tmp_path: Path) -> None:
    (tmp_path / "address").write_text(daemon.url)
    (tmp_path / "api-key").write_text("wrong")
    done = arvis("jobs", "list", "--data", str(tmp_path), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"fix: With --data, give the path of the data folder that the daemon at {daemon.url} uses." in done.stderr


def test_the_version(tmp_path: Path) -> None:
    assert re.fullmatch(r"arvis \d+\.\d+\.\d+\S*\n", arvis("version", cwd=tmp_path).stdout)


def test_the_version_pays_for_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    code = (
        "import sys; from arvis.cli.commands.version import version; import arvis.cli; print('\\n'.join(sys.modules))"
    )
    command = [sys.executable, "-c", code]
    loaded = subprocess.run(command, cwd=tmp_path, env=environment(), check=True, capture_output=True, text=True).stdout
    assert not {"arvis.app", "arvis.config", "asyncio", "pydantic", "sqlite3", "rich"} & set(loaded.split())
