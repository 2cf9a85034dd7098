"""`arvis password`: sets the password of a dashboard user, with or without a running daemon. Every user of the machine
who can read the data folder may run it. It does not ask for the old password, so that a forgotten password can be
replaced."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import click

from arvis.app.database import database_of
from arvis.app.upgrade import upgrade
from arvis.cli.api_client import Api
from arvis.cli.options import PrintingCommand, read_secret, secret_options
from arvis.cli.output import Output
from arvis.config import Config, load
from arvis.domain.errors import DataFolderInUse
from arvis.domain.users import FIRST_USER
from arvis.process.clock import IdMaker, RandomBits, SystemClock
from arvis.process.data_folder import lock_data_folder
from arvis.process.secrets import Argon2Passwords
from arvis.store.integrity.repair import make_sound
from arvis.store.open import open_store
from arvis.web.auth import users


@click.command(cls=PrintingCommand)
@click.option("--user", metavar="ID", default=FIRST_USER, show_default=True, help="The user.")
@secret_options("password")
def password(
    *,
    user: str,
    variable: str | None,
    file: Path | None,
    config: Path | None,
    data: Path | None,
) -> Output:
    """Set the password of a dashboard user. All logins of this user end.

    On a terminal the command asks for the password twice and does not show it. Otherwise the command reads the password
    from standard input.
    """
    settings = load(config, data, os.environ)
    given = _given(variable, file)
    users.check_password(given)
    try:
        with lock_data_folder(settings.data_dir):
            asyncio.run(_set(settings, user, given))
    except DataFolderInUse:
        Api(config, data).put("users", user, "password", body={"password": given})
    return Output({"user": user}, f"The password of {user} is set. Logins that were open have ended.")


def _given(variable: str | None, file: Path | None) -> str:
    if variable is None and file is None and sys.stdin.isatty():
        return str(click.prompt("New password", hide_input=True, confirmation_prompt=True, err=True))
    return read_secret("password", variable, file)


async def _set(settings: Config, user: str, given: str) -> None:
    """Upgrade the database if necessary, and store the password in it. This function is used if no daemon runs."""
    clock = SystemClock()
    database, now = database_of(settings), clock.now()
    make_sound(database, now)
    await asyncio.to_thread(upgrade, database, now)
    kept = await Argon2Passwords().hashed(given)
    new_id = IdMaker(clock=clock, random_bits=RandomBits())
    async with open_store(database, boot=new_id(), new_id=new_id) as (store, _):
        await store.write(users.set_password, user, kept, clock.now())
