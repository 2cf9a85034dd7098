"""The checks of a bot that `arvis doctor` makes at Telegram. They change nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arvis.domain.messages import Respond
from arvis.ports.connector import SetupFinding
from connectors import answers
from connectors.telegram.client import CallFailed, Client
from connectors.telegram.settings import TelegramConfig

_MANY_WAITING = 100


async def check(client: Client, config: TelegramConfig) -> Sequence[SetupFinding]:
    try:
        me = await client.call("getMe")
        webhook = await client.call("getWebhookInfo")
    except CallFailed as error:
        if error.rejects_token:
            fix = "Ask BotFather for the token (/mybots, API Token) and enter it."
            return [SetupFinding("error", "Telegram does not accept the bot's token", fix)]
        text = f"Telegram gives no usable answer at {config.api_url}: {error}"
        return [SetupFinding("error", text, "Check network and api_url.")]
    name = answers.text(me, "username")
    if not name:
        text = f"What answers at {config.api_url} does not name the bot's user"
        return [
            SetupFinding("error", text, "Check api_url: it must be the address of Telegram or of a Bot API server.")
        ]
    return [SetupFinding("ok", f"The bot is @{name}"), *_of_groups(me, config), *_of_updates(webhook)]


def _of_groups(me: Any, config: TelegramConfig) -> Sequence[SetupFinding]:
    findings = []
    if not answers.value(me, "can_join_groups", kind=bool):
        fix = "BotFather: /setjoingroups, Enable (unless it is to be for direct messages only)."
        findings.append(SetupFinding("warning", "The bot cannot be added to groups", fix))
    wants_all = config.observe > 0 or config.respond is Respond.ALL
    if wants_all and not answers.value(me, "can_read_all_group_messages", kind=bool):
        text = "Privacy mode is on: in groups the bot sees only commands, mentions and replies to it"
        fix = "BotFather: /setprivacy, Disable; then remove the bot from its groups and add it again. Or make it an administrator."
        findings.append(SetupFinding("warning", text, fix))
    return findings


def _of_updates(webhook: Any) -> Sequence[SetupFinding]:
    findings = []
    if answers.text(webhook, "url"):
        fix = "It is removed when the daemon starts the bot. Stop the program that set it, or give it its own token."
        findings.append(SetupFinding("warning", "A webhook is set for this token, by another program", fix))
    waiting = answers.value(webhook, "pending_update_count", kind=int) or 0
    if waiting > _MANY_WAITING:
        findings.append(SetupFinding("warning", f"{waiting} updates wait; Telegram keeps them for 24 hours"))
    return findings
