"""What `arvis doctor` asks Telegram about a bot. Changes nothing."""

from __future__ import annotations

from collections.abc import Sequence

import telegram
from telegram.error import InvalidToken, TelegramError

from arvis.domain.messages import Respond
from arvis.ports.connector import Finding
from connectors.telegram.client import Client
from connectors.telegram.settings import TelegramConfig

_MANY_WAITING = 100


async def check(client: Client, config: TelegramConfig) -> Sequence[Finding]:
    try:
        me = await client.bot.get_me()
        webhook = await client.bot.get_webhook_info()
    except InvalidToken:
        fix = "Ask BotFather for it (/mybots, API Token) and set it anew."
        return [Finding("error", "Telegram does not accept the bot's token", fix)]
    except TelegramError as error:
        return [
            Finding("error", f"Telegram cannot be reached at {config.api_url}: {error}", "Check network and api_url.")
        ]
    return [Finding("ok", f"The bot is @{me.username}"), *_of_groups(me, config), *_of_updates(webhook)]


def _of_groups(me: telegram.User, config: TelegramConfig) -> Sequence[Finding]:
    findings = []
    if not me.can_join_groups:
        fix = "BotFather: /setjoingroups, Enable (unless it is to be for direct messages only)."
        findings.append(Finding("warning", "The bot cannot be added to groups", fix))
    wants_all = config.observe > 0 or config.respond is Respond.ALL
    if wants_all and not me.can_read_all_group_messages:
        text = "Privacy mode is on: in groups the bot sees only commands, mentions and replies to it"
        fix = "BotFather: /setprivacy, Disable; then put the bot out of its groups and in again. Or make it an administrator."
        findings.append(Finding("warning", text, fix))
    return findings


def _of_updates(webhook: telegram.WebhookInfo) -> Sequence[Finding]:
    findings = []
    if webhook.url:
        fix = "It is removed when the daemon starts the bot. Stop the program that set it, or make a token of its own for it."
        findings.append(Finding("warning", "A webhook is set for this token, by another program", fix))
    if webhook.pending_update_count > _MANY_WAITING:
        findings.append(
            Finding("warning", f"{webhook.pending_update_count} updates wait; Telegram keeps them for 24 hours")
        )
    return findings
