"""Asks the questions of `arvis init`. The questions cover only settings that a newcomer needs. Every question has a
default, so a person who presses Enter each time gets a working configuration. No question asks for the key of an
account. Instead, a question asks for the environment variable that contains the key."""

from __future__ import annotations

import getpass
import json
import re
import socket
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Protocol, TypeVar
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click

from arvis.cli.api_client import left_in
from arvis.config.accounts import DEFAULT_MODELS, accounts_from_environment
from arvis.domain.dataclass import dataclass
from arvis.domain.regex import regex
from arvis.domain.runs import Account
from arvis.extensions import PROVIDERS, installed
from arvis.process.data_folder import address_file

# The defaults for the questions. They come from the machine, the logged-in user and the free ports.

_PORT = 5070
_TRIES = 50
_HOST = "127.0.0.1"

#: The timeout in seconds of a request for a server's list of models, and the maximum size of the list in bytes.
_TIMEOUT = 2.0
_LIST = 1_000_000
_LONGEST_NAME = 100

_OK = 200


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The machine and the environment. `data` is the data folder of the new configuration. If a daemon already uses
    this folder, its port counts as free."""

    environ: Mapping[str, str]
    data: Path
    local_time: Path = Path("/etc/localtime")

    @property
    def user(self) -> str:
        """Return the name of the logged-in user."""
        try:
            return getpass.getuser()
        except (KeyError, OSError):
            # A container's user may have no name.
            return "owner"

    @property
    def time_zone(self) -> str:
        """Return the name of the machine's time zone, from `TZ` or `local_time`; UTC if it is unknown."""
        named = self.environ.get("TZ", "").lstrip(":")
        if named and not named.startswith("/"):
            return named
        folder, _, zone = str(self.local_time.resolve()).partition("/zoneinfo/")
        return zone.removeprefix("posix/").removeprefix("Etc/") if folder and zone else "UTC"

    def free_port(self) -> int:
        """Try `_TRIES` ports from `_PORT` on, and return the first free port. If none is free, return 0, so that the
        system chooses a port."""
        return next((port for port in range(_PORT, _PORT + _TRIES) if self.is_free(port)), 0)

    def is_free(self, port: int) -> bool:
        """Return True if a daemon could listen at the port. The check binds the port for a moment and does not
        listen."""
        if port == 0 or port == self._own_port():
            return True
        with socket.socket() as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                tried.bind((_HOST, port))
            except OSError:
                return False
        return True

    def _own_port(self) -> int | None:
        address = left_in(address_file(self.data))
        return urlsplit(address).port if address else None

    def first_model(self, url: str, key: str | None) -> str | None:
        """Return the first model in a server's list; None if the server returns no list."""
        parts = urlsplit(url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=_TIMEOUT)
        try:
            headers = {"Authorization": f"Bearer {key}"} if key else {}
            connection.request("GET", f"{parts.path.rstrip('/')}/models", headers=headers)
            response = connection.getresponse()
            return _first_name(response.read(_LIST)) if response.status == _OK else None
        except (OSError, HTTPException, ValueError):
            return None
        finally:
            connection.close()


def _first_name(text: bytes) -> str | None:
    match json.loads(text):
        case {"data": [{"id": str(name)}, *_]} if name.isprintable() and 0 < len(name) <= _LONGEST_NAME:
            return name
        case _:
            return None


# The questions.

T = TypeVar("T")

ENVIRONMENT = "environment"

_VARIABLE = regex(r"[A-Z_][A-Z0-9_]{0,99}", re.ASCII)
_LONGEST = 100
_LONGEST_PROMPT = 10_000
_LAST_PORT = 65_535
_NO_KEY = "none"


class Ask(Protocol):
    """A function that asks a question; Enter accepts `default`. `read` converts the answer. If `read` raises
    `click.BadParameter`, the question is repeated."""

    def __call__(self, question: str, default: str, read: Callable[[str], T]) -> T: ...


@dataclass(frozen=True, slots=True)
class Offer:
    """A provider that a person can choose in the questions."""

    provider: str
    words: str
    #: The usual environment variable of the provider's key; None if the provider may not need a key.
    variable: str | None = None
    #: The default address of the provider's server. If it is set, a question asks for the address.
    url: str | None = None
    #: If this environment variable is set, a question asks for the address of the server.
    url_variable: str = ""
    #: True if no question asks for a key, because the user logs in to the provider's program.
    own_login: bool = False


_OFFERS = (
    Offer("anthropic", "Anthropic's Claude", "ANTHROPIC_API_KEY", url_variable="ANTHROPIC_BASE_URL"),
    Offer("openai", "OpenAI", "OPENAI_API_KEY"),
    Offer("openrouter", "models of many vendors with one key", "OPENROUTER_API_KEY"),
    Offer("google", "Google's Gemini", "GOOGLE_API_KEY"),
    Offer("ollama", "models on your own machine", url="http://127.0.0.1:11434", url_variable="OLLAMA_HOST"),
    Offer(
        "custom",
        "any server that speaks OpenAI's format: llama.cpp, vLLM, …",
        url="http://127.0.0.1:8080/v1",
        url_variable="OPENAI_BASE_URL",
    ),
    Offer("claude_cli", "the program `claude` on this machine, logged in by you", own_login=True),
    Offer("demo", "built in, not a model: sample answers to try Arvis"),
)


@dataclass(frozen=True, slots=True)
class NewAccount:
    """The account in the new configuration. `variable` is the environment variable that contains its key, or None if
    the account needs no key."""

    provider: str
    model: str
    variable: str | None
    base_url: str | None


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers to all questions. If `account` is None, the new configuration names no account. The daemon then uses
    the accounts from the environment, or the demo model."""

    account: NewAccount | None
    agent_name: str
    prompt: str
    port: int
    owner: str
    time_zone: str


def ask_everything(ask: Ask, around: Surroundings, say: Callable[[str], None]) -> Answers:
    """Ask all questions and return the answers. `say` prints explanations before a question."""
    return Answers(
        account=_account(ask, around, say),
        agent_name=ask("The name of your agent", "Helper", _line),
        prompt=ask("The instructions of your agent", "", _prompt),
        port=ask("The port of the web page", str(around.free_port()), lambda text: _port(text, around)),
        owner=ask("Your own name, as the owner", around.user, _line),
        time_zone=ask("Your time zone", around.time_zone, _zone),
    )


# -- the account -------------------------------------------------------------------------------------------


def _account(ask: Ask, around: Surroundings, say: Callable[[str], None]) -> NewAccount | None:
    found = accounts_from_environment(around.environ)
    offers = _offers(found)
    say("Which provider should answer?")
    for offer in offers.values():
        say(f"  {offer.provider:<12} {offer.words}")
    chosen = offers[ask("Provider", _best(offers, found), lambda text: _choice(text, list(offers)))]
    if chosen.provider in {"demo", ENVIRONMENT}:
        return None
    usual = around.environ.get(chosen.url_variable) or chosen.url or ""
    url = ask("Address of the server", usual, _url) if usual else None
    variable = _variable(ask, chosen, url, around.environ)
    model = ask("Model", _model_of(chosen, url, variable, around), _line)
    return NewAccount(chosen.provider, model, variable, url)


def _offers(found: Sequence[Account]) -> Mapping[str, Offer]:
    """Return the offers whose provider is installed. If the environment defines several accounts, the first offer
    means all of these accounts."""
    available = installed(PROVIDERS)
    offers = {offer.provider: offer for offer in _OFFERS if offer.provider in available}
    if len(found) > 1:
        names = ", ".join(account.name for account in found)
        return {ENVIRONMENT: Offer(ENVIRONMENT, f"the accounts from environment variables: {names}"), **offers}
    return offers


def _best(offers: Mapping[str, Offer], found: Sequence[Account]) -> str:
    """Return the default choice, which is the first of these that is offered: all accounts of the environment, a
    provider for which the environment has a key or an address, the demo."""
    if ENVIRONMENT in offers:
        return ENVIRONMENT
    # An account of `openai` with an address is offered as `custom`, because any server may answer at the address.
    wanted = ["custom" if account.base_url and account.provider == "openai" else account.provider for account in found]
    return next((name for name in [*wanted, "demo"] if name in offers), next(iter(offers)))


def _variable(ask: Ask, offer: Offer, url: str | None, environ: Mapping[str, str]) -> str | None:
    """Ask for the environment variable of the key, and return it; None if no key is needed."""
    if offer.own_login:
        return None
    if offer.variable is None or url is not None:
        usual = offer.variable or "OPENAI_API_KEY"
        default = usual if environ.get(usual) else _NO_KEY
        return ask(
            f"Environment variable with the key of the server ({_NO_KEY}: no key is needed)", default, _optional_name
        )
    numbered = (f"{offer.variable}_{number}" for number in range(1, 51))
    default = next((name for name in (offer.variable, *numbered) if environ.get(name)), offer.variable)
    return ask("Environment variable that contains the key", default, _name)


def _model_of(offer: Offer, url: str | None, variable: str | None, around: Surroundings) -> str:
    """Return the default model. If an address was given, this is the first model in the server's list. Without an
    address or a list, it is the usual model of the provider."""
    if url is None:
        return DEFAULT_MODELS[offer.provider]
    return around.first_model(url, around.environ.get(variable or "")) or DEFAULT_MODELS.get(offer.provider, "default")


# -- reading an answer -------------------------------------------------------------------------------------


def _choice(text: str, known: Sequence[str]) -> str:
    if text.strip().lower() not in known:
        raise click.BadParameter(f"choose one of {', '.join(known)}")
    return text.strip().lower()


def _name(text: str) -> str:
    """Return the name of a variable. The error does not quote the text, because a person may have pasted a key."""
    if not _VARIABLE.fullmatch(text.strip()):
        raise click.BadParameter("give the variable's name, such as OPENAI_API_KEY, never the key itself")
    return text.strip()


def _optional_name(text: str) -> str | None:
    return None if text.strip().lower() in {_NO_KEY, ""} else _name(text)


def _url(text: str) -> str:
    text = text.strip()
    try:
        parts = urlsplit(text)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not text.isprintable() or " " in text:
        raise click.BadParameter("give an address such as http://127.0.0.1:8080/v1")
    if urlsplit(text).username is not None:
        raise click.BadParameter("give the address without user and password")
    return text


def _line(text: str) -> str:
    text = " ".join(text.split())
    if not 0 < len(text) <= _LONGEST or not text.isprintable():
        raise click.BadParameter(f"give 1 to {_LONGEST} characters")
    return text


def _prompt(text: str) -> str:
    text = " ".join(text.split())
    if len(text) > _LONGEST_PROMPT or not text.isprintable():
        raise click.BadParameter("give one line of text. For a longer prompt, edit the file later")
    return text


def _port(text: str, around: Surroundings) -> int:
    if not text.strip().isdecimal() or int(text) > _LAST_PORT:
        raise click.BadParameter(f"give a number up to {_LAST_PORT} (0: any free one)")
    if not around.is_free(int(text)):
        raise click.BadParameter(f"another program uses the port {int(text)}. Choose another one")
    return int(text)


def _zone(text: str) -> str:
    try:
        ZoneInfo(text.strip())
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise click.BadParameter("give a name such as UTC or Europe/Berlin") from None
    return text.strip()
