"""Runs the daemon, from the lock on its data folder to its last log line."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from functools import partial
from typing import Any

import structlog

from arvis.app.bots import open_bots
from arvis.app.database import Reaching, Stopped
from arvis.app.foundation import Base, new_token, open_base, watch_disk
from arvis.app.providers import open_providers
from arvis.app.roles import Outside, start_roles
from arvis.app.speech import open_speech
from arvis.app.tools import open_tools
from arvis.app.upgrade import upgrade
from arvis.config import Config
from arvis.domain.errors import DatabaseAway
from arvis.domain.runs import CallTimeouts
from arvis.llm.selection import DEMO
from arvis.process.clock import IdMaker, RandomBits, SystemClock
from arvis.process.data_folder import DataFolder, FolderWatch, hold_data_folder
from arvis.process.logging import Redactor, logging_to
from arvis.process.memory import tuned_gc
from arvis.process.secrets import SealedBox, secrets_key_file
from arvis.process.service_manager import READY, STOPPING, notify, report_liveness
from arvis.process.stalls import LoopWatch
from arvis.process.supervisor import Supervisor
from arvis.web.server import WebServer

log = structlog.get_logger(__name__)

#: The exit code for a data folder that cannot be used.
_WRONG_PLACE = 2


async def run(
    config: Config,
    *,
    say: Callable[[str], None],
    clock: SystemClock | None = None,
    watch: LoopWatch | None = None,
) -> bool:
    """Run the daemon until SIGTERM or SIGINT; a second signal ends it immediately. Return True if the caller must start
    it again in a new process, because an owner requested a restore. `say` prints a line for people. The default `clock`
    is the system clock. `watch` measures stalls of the event loop; without it, the daemon creates a watch."""
    stopping, restarting = _stop_on_signals(), asyncio.Event()

    def restart() -> None:
        restarting.set()
        stopping.set()

    clock = clock or SystemClock()
    new_id = IdMaker(clock=clock, random_bits=RandomBits())
    async with AsyncExitStack() as stack:
        stack.enter_context(suppress(Stopped))
        folder = stack.enter_context(hold_data_folder(config.data_dir, new_id=new_id, new_key=new_token))
        redact = Redactor({*config.secrets(), folder.api_key})
        keep_logs = stack.enter_context(
            logging_to(stream=sys.stderr, folder=folder.logs, keep_days=None, redact=redact, clock=clock)
        )
        disk = await stack.enter_async_context(watch_disk(config, folder, clock))
        box = _box(config, folder, redact)
        reaching = Reaching(config=config, say=say, stopping=stopping)
        opening = partial(open_base, config, folder, disk, clock, new_id=new_id, box=box, redact=redact)
        base = await stack.enter_async_context(opening(reaching=reaching, upgrade=upgrade, restart=restart))
        config = base.config
        keep_logs(config.retention.logs_days)
        # The resources that turns need are opened before the roles start, and are therefore closed after the roles have
        # drained.
        timeouts = CallTimeouts(config.model.timeout_seconds, config.model.idle_seconds)
        providers = await stack.enter_async_context(open_providers(clock=clock, timeouts=timeouts, folder=folder.path))
        wanted = {account.provider for account in (*config.accounts, DEMO)}
        providers.require(wanted)
        tools = await stack.enter_async_context(open_tools(base, providers))
        bots = await stack.enter_async_context(open_bots(base))
        speaking = open_speech(config.speech, http=providers.http, accounts=base.accounts.current, clock=clock)
        speech = await stack.enter_async_context(speaking)
        supervisor = await stack.enter_async_context(Supervisor(clock=clock))
        watch = watch or LoopWatch()
        web = await start_roles(base, Outside(providers, tools, bots, speech, watch), supervisor)
        await _announce(base, folder, supervisor, web, say)
        stack.enter_context(tuned_gc())
        stack.enter_context(watch.watching())
        if "workers" in config.roles:
            stored = {account.provider for account in base.accounts.usable}
            stack.enter_context(_in_background(providers.warm(sorted(wanted | stored)), tools.warm()))
        stack.enter_context(_in_background(_end_without_folder(config, folder), report_liveness()))
        await stopping.wait()
        if not restarting.is_set():
            notify(STOPPING)
        log.info("stopping", restart=restarting.is_set())
    return restarting.is_set()


def _box(config: Config, folder: DataFolder, redact: Redactor) -> SealedBox:
    given = None if config.encryption_key is None else config.encryption_key.get_secret_value()
    return SealedBox(file=secrets_key_file(folder.path), given=given, tell=redact.learn)


async def _announce(
    base: Base, folder: DataFolder, supervisor: Supervisor, web: WebServer | None, say: Callable[[str], None]
) -> None:
    say(f"Arvis is ready at {web.url}" if web else "Arvis is ready")
    if web and folder.first_start:
        say(f"Log in with this link, once, within ten minutes: {await web.login_link()}")
    notify(READY)
    log.info("ready", boot=folder.boot_id, roles=list(supervisor.health()), models=_models(base))


async def _end_without_folder(config: Config, folder: DataFolder) -> None:
    """End the process immediately when the data folder is lost. An orderly stop would write to files that the next
    start does not find."""
    files = [folder.path / "lock", *([] if config.postgres_url else [folder.database])]
    lost = await FolderWatch(folder.path, files).until_lost()
    log.critical("data_folder_lost", error=lost.what, why=lost.why, fix=lost.fix)
    os._exit(_WRONG_PLACE)


@contextmanager
def _in_background(*tasks: Coroutine[Any, Any, None]) -> Iterator[None]:
    """Run tasks until the end of the block. No other part waits for the tasks, and errors of the tasks do not end the
    daemon."""
    running = [asyncio.create_task(task) for task in tasks]
    for task in running:
        task.add_done_callback(_tell_of_failure)
    try:
        yield
    finally:
        for task in running:
            task.cancel()


def _tell_of_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        # The task also ends if the database becomes unavailable. This needs no action by a person, so it is only a
        # warning.
        report = log.warning if isinstance(error, DatabaseAway) else log.error
        report("not_warmed", error=repr(error), why="the part is loaded later, at its first use")


def _models(base: Base) -> list[str]:
    """Return the usable accounts of the configuration as text for the log; `arvis doctor` reads them from the log. The
    text does not contain stored accounts, because `arvis doctor` reads stored accounts from the database."""
    lasting = {*base.accounts.configured, DEMO}
    return [f"{one.provider}/{one.model} ({one.name})" for one in base.accounts.usable if one in lasting]


def _stop_on_signals() -> asyncio.Event:
    """Return an event that the first SIGTERM or SIGINT sets. A second signal ends the process immediately; no data is
    lost, because everything important is in the database."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stop() -> None:
        if stopping.is_set():
            os._exit(1)
        stopping.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    return stopping
