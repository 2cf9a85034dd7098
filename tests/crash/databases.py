"""A new PostgreSQL database for each episode, on a given server. Other databases on it are not changed."""

from __future__ import annotations

import secrets
from urllib.parse import urlsplit

import psycopg
from psycopg import sql


def create_database(server: str) -> str:
    """Create an empty database on the server and return its URL."""
    name = f"arvis_crash_{secrets.token_hex(4)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    address = urlsplit(server)
    # `urlunsplit` would drop the slashes of an address without a host.
    return f"{address.scheme}://{address.netloc}/{name}?{address.query}"


def drop_database(server: str, database: str) -> None:
    name = urlsplit(database).path.removeprefix("/")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
