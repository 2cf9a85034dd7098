"""A fresh PostgreSQL database for each episode, on a server that somebody named; nothing else on it is touched."""

from __future__ import annotations

import secrets
from urllib.parse import urlsplit

import psycopg
from psycopg import sql


def create_database(server: str) -> str:
    """The URL of a new, empty database on the server of this URL."""
    name = f"arvis_crash_{secrets.token_hex(4)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    address = urlsplit(server)
    # Put together by hand: `urlunsplit` drops the slashes of an address without a host.
    return f"{address.scheme}://{address.netloc}/{name}?{address.query}"


def drop_database(server: str, database: str) -> None:
    name = urlsplit(database).path.removeprefix("/")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
