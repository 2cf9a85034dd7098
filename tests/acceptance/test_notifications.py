"""A daemon notifies its owners: on the command line and by e-mail, also if it dies before the mail server accepts."""

from __future__ import annotations

import json
import queue
import socket
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import Envelope

from tests.acceptance.daemon import Daemon, running_daemon

#: The longest wait for an e-mail in seconds. The daemon tries again after a minute.
PATIENCE = 90


class Inbox:
    def __init__(self) -> None:
        self.mails: queue.Queue[EmailMessage] = queue.Queue()

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Envelope) -> str:  # noqa: N802 - named by aiosmtpd
        assert isinstance(envelope.content, bytes)
        self.mails.put(BytesParser(EmailMessage, policy=default).parsebytes(envelope.content))
        return "250 OK"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def listed(daemon: Daemon) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(daemon.arvis("notifications", "list", "--json").stdout)["items"]
    return found


def test_a_failure_is_listed_and_dismissed(tmp_path: Path) -> None:
    with running_daemon(tmp_path) as daemon:
        assert daemon.arvis("notifications", "list").stdout == "No open notifications.\n"
        assert daemon.arvis("chat", "demo: fail auth").returncode == 1
        [found] = listed(daemon)
        assert (found["severity"], found["remedy"], found["link"]) == ("error", "retry_job", "/queue?status=failed")
        dismissed = daemon.arvis("notifications", "dismiss", found["id"])
        assert dismissed.stdout == f"The notification {found['id']} is dismissed.\n"
        assert listed(daemon) == []
        again = daemon.arvis("notifications", "dismiss", found["id"])
        assert (again.returncode, "This notification has ended." in again.stderr) == (1, True)
        assert "There is no such notification." in daemon.arvis("notifications", "dismiss", "none").stderr


def test_a_mail_is_sent_by_the_next_start_if_the_server_was_away(tmp_path: Path) -> None:
    port, inbox = free_port(), Inbox()
    settings = {
        "ARVIS__EMAIL__HOST": "127.0.0.1", "ARVIS__EMAIL__PORT": str(port), "ARVIS__EMAIL__SECURITY": "none",
        "ARVIS__EMAIL__SENDER": "arvis@example.org", "ARVIS__EMAIL__TO": '["ann@example.org"]',
    }  # fmt: skip
    with running_daemon(tmp_path, settings=settings) as daemon:
        assert daemon.arvis("chat", "demo: fail auth").returncode == 1
        daemon.kill()
        controller = Controller(inbox, hostname="127.0.0.1", port=port)
        controller.start()
        try:
            daemon.start()
            mail = inbox.mails.get(timeout=PATIENCE)
        finally:
            controller.stop()
        assert mail["Subject"].startswith("[Arvis] Conductor could not finish a task (auth)")
        assert "arvis jobs list --status failed" in mail.get_content()
        assert inbox.mails.empty()
