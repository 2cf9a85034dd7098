"""Judges the data that a call would send to other systems in a tainted turn (ADR 0071).

In such a turn, a text of an unknown author may have chosen the call. So the call runs without an approval only if its
destination is known and if all its words are known, for example from the message of the person who asked. The judge
does not need to recognize secrets: it recognizes known words, and every other word counts as new.

The choice among known words or addresses also carries data. `Judge` adds up the bits of these choices over the turn.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from enum import StrEnum
from functools import cached_property
from math import log2
from typing import Any
from urllib.parse import unquote_plus, urlsplit

from arvis.domain.dataclass import dataclass
from arvis.domain.regex import regex

#: The maximum number of bits that choices of addresses may carry in a turn. It is small, because the author of a page
#: may also own the host that receives these addresses.
ADDRESS_BITS = 8.0
#: The maximum number of bits that choices of words may carry in a turn to services of the configuration.
SERVICE_BITS = 64.0

#: The bits of one choice for a service: an own word, a common word, a public word, a number, a day, a sign, and a
#: repeated word.
_OWN, _COMMON, _PUBLIC, _NUMBER, _DAY, _SIGN, _AGAIN = 1.0, 4.0, 12.0, 4.0, 10.0, 2.0, 4.0
_LONGEST_NAMED = 80
#: The minimum length of a public word. Shorter words could spell any text.
_SHORTEST_PUBLIC = 4
#: A text is accepted only if it contains more known words than common words below this length.
_SHORTEST_COMMON = 3
#: The maximum number of signs between two words.
_LONGEST_SIGN = 3
_DAYS_AROUND = 400

_ADDRESS = regex(r"[a-z][a-z0-9+.-]{0,30}:[/\\]{1,9}[^\s\"'<>]{1,8000}", re.IGNORECASE)
_BARE_ADDRESS = regex(r"(?<![\w@./:-])(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,24}(?:[:/][^\s\"'<>]{0,2000})?", re.IGNORECASE)
_LINK = regex(r"\]\(<?(https?://[^\s)>]{1,2000})", re.IGNORECASE)
#: Programs differ in how they interpret these characters in addresses. So the host of an address with such a character
#: is not certain.
_DOUBTFUL = regex(r"[\\@\x00-\x20\x7f]")
#: Signs that end an address in a text and are not a part of it.
_AFTER_ADDRESS = ".,;:!?]}»”*_`'"
_PIECE = regex(r"(?P<word>[^\W_]+)|(?P<sign>[\W_]+)")
_ISO_DAY = regex(r"(?<!\d)(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d)?(?:\.0+)?(?:Z|\+\d\d:\d\d)?)?(?!\d)")
_YEAR = regex(r"(?:19|20)\d\d")
_DOT = regex(r"(?<=[\w-])\.(?=\w)")
_PLAIN_PATH = regex(r"[\w/.?=&+-]*", re.ASCII)
#: Signs that cost nothing between words.
_FREE_SIGNS = frozenset({" ", "", ", ", ". ", "-", ".", ": ", "/", "@", "'", "_", "?", "\n"})


class Reach(StrEnum):
    """The kinds of systems that receive the arguments of a call."""

    #: The arguments stay on this machine, according to the declaration of the tool.
    LOCAL = "local"
    #: A service that the configuration names, such as a search provider or a tool server.
    SERVICE = "service"
    #: Only the hosts of the addresses in the arguments.
    ADDRESSES = "addresses"


@dataclass(frozen=True, slots=True)
class Outgoing:
    """The data of one call."""

    arguments: Mapping[str, Any]
    reach: Reach
    #: The JSON schema of the arguments. The service knows the names and values in this schema.
    schema: Mapping[str, Any]
    #: Texts that this service itself returned in the turn. Empty if the service passes data on to other systems.
    returned: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """A public output of a tool in this turn: the results of a search, or a page of a public host."""

    text: str
    #: The addresses that a search service listed.
    listed: Sequence[str] = ()
    #: The address of the page; empty for results of a search.
    page: str = ""


@dataclass(frozen=True, slots=True)
class Known:
    """The texts and hosts that a call may use without an approval."""

    #: The person's own text in this turn.
    own: str
    #: The hosts of the configuration.
    hosts: Collection[str] = ()
    #: Texts of the person from earlier turns, and tasks that an agent wrote without other sources. Services may get the
    #: words of these texts.
    earlier: str = ""
    found: Sequence[Found] = ()
    #: The current day.
    today: date = date.min


class Judge:
    """The judge of the calls of one turn, in their order. `address_bits` and `service_bits` are the limits."""

    def __init__(self, known: Known, *, address_bits: float = ADDRESS_BITS, service_bits: float = SERVICE_BITS) -> None:
        self._known = known
        self._limits = (address_bits, service_bits)
        self._spent = (0.0, 0.0)

    def objection(self, call: Outgoing) -> str | None:
        """Return the reason why a person must approve the call, as a sentence. Return None if the call may run; its
        choices then count towards the limits of the turn."""
        try:
            costs = self._costs(call)
        except _Unknown as unknown:
            return str(unknown)
        spent = tuple(before + cost for before, cost in zip(self._spent, costs, strict=True))
        if spent[0] >= self._limits[0]:
            return "The agent could encode data in its choice of addresses, and this turn has reached the limit."
        if spent[1] > self._limits[1]:
            return "The agent could encode data in its choice of words, and this turn has reached the limit."
        self._spent = (spent[0], spent[1])
        return None

    # -- the parts of a call -------------------------------------------------------------------------------------

    def _costs(self, call: Outgoing) -> tuple[float, float]:
        """Return the bits of the choices of addresses and of words. Raise `_Unknown` if a part of the call is not
        known."""
        to_addresses = to_service = 0.0
        service = _Words(self, call)
        for text, key in texts_in(call.arguments):
            addresses = _ADDRESS.findall(text)
            for address in addresses:
                if call.reach is Reach.LOCAL:
                    self._check_host(address)
                else:
                    to_addresses += self._cost_of_address(address, service)
            rest = _ADDRESS.sub(" ", text)
            if call.reach is Reach.ADDRESSES and key is not None and rest.strip():
                raise _Unknown("The address is not complete, so its host is not certain.")
            if call.reach is Reach.SERVICE:
                to_service += service.cost(rest)
        if call.reach is Reach.SERVICE:
            to_service += sum(service.cost(number, is_number=True) for number in _numbers(call.arguments))
        return to_addresses, to_service + service.in_addresses

    def _check_host(self, address: str) -> None:
        host = _host(address)
        if host is None:
            raise _Unknown("An address is written in such a way that its host is not certain.")
        if not self.knows_host(host):
            raise _Unknown(_unknown_host(host))

    def knows_host(self, host: str) -> bool:
        """Return True if the person, the configuration or a search result of this turn named the host."""
        return host in self._known.hosts or _is_named(host, self._known.own) or host in self._listed_hosts

    def _cost_of_address(self, address: str, service: _Words) -> float:
        host, key = _host(address), address_key(address)
        if host is None or key is None:
            raise _Unknown("An address is written in such a way that its host is not certain.")
        if host in self._known.hosts:
            service.in_addresses += service.cost(f"{host} {unquote_plus(key.partition('/')[2])}")
            return 0.0
        costs = [log2(len(self._own_keys))] if key in self._own_keys else []
        costs += self._cost_of_result(host, key)
        costs += self._cost_of_links(host, key)
        if costs:
            return min(costs)
        if not self.knows_host(host) and host not in self._page_hosts:
            raise _Unknown(_unknown_host(host))
        return self._cost_of_new_path(key)

    def _cost_of_result(self, host: str, key: str) -> list[float]:
        """Return the bits of the choice among all search results of the same site, because one person may own these
        results. Return an empty list if the address is not a search result."""
        site = _site(host)
        keys = {known for each in self._known.found for known in map(address_key, each.listed) if known}
        there = [known for known in keys if _site(known.partition("/")[0].partition(":")[0]) == site]
        return [log2(1 + len(there))] if key in keys else []

    def _cost_of_links(self, host: str, key: str) -> list[float]:
        costs = []
        for page, links in self._links.items():
            if key in links and (self.knows_host(host) or host == page):
                costs.append(log2(1 + len(links)))
        return costs

    def _cost_of_new_path(self, key: str) -> float:
        """Return the bits of an address on a known host. Raise `_Unknown` if the address has a port, or if its
        path contains anything but words that the person wrote."""
        place, _, path = key.partition("/")
        if ":" in place:
            raise _Unknown(f"The port of {_named(place)} is not in your message.")
        if not _PLAIN_PATH.fullmatch(path) or re.search(r"[/.?=&+-]{2}", path):
            raise _Unknown("The path or the query of the address contains data.")
        words = [found["word"] for found in _PIECE.finditer(path) if found["word"]]
        for word in words:
            if not (word.isalpha() and word.islower() and _is_known(word, self._own_words)):
                raise _Unknown(f"The address contains “{_named(word)}”, which your message does not contain.")
        return max(1.0, len(words) * log2(len(self._own_words)))

    # -- the known addresses and words -----------------------------------------------------------------------------

    @cached_property
    def _own_keys(self) -> frozenset[str]:
        return addresses_in(self._known.own)

    @cached_property
    def _listed_hosts(self) -> frozenset[str]:
        hosts = (_host(address) for each in self._known.found for address in each.listed)
        return frozenset(host for host in hosts if host)

    @cached_property
    def _page_hosts(self) -> frozenset[str]:
        return frozenset(host for each in self._known.found if each.page and (host := _host(each.page)))

    @cached_property
    def _links(self) -> Mapping[str, frozenset[str]]:
        """The links of each page, by the host of the page. Links of several pages of a host count together."""
        links: dict[str, set[str]] = {}
        for each in self._known.found:
            host = _host(each.page) if each.page else None
            if host is not None:
                links.setdefault(host, set()).update(addresses_in(each.text))
        return {host: frozenset(keys) for host, keys in links.items()}

    @cached_property
    def _own_words(self) -> frozenset[str]:
        return words_in(self._known.own)

    @cached_property
    def own_forms(self) -> frozenset[str]:
        """The words that services may get, in the forms in which the person wrote them."""
        earlier = (word for word in _forms_in(self._known.earlier) if word.isalpha())
        return frozenset(_forms_in(self._known.own)).union(earlier, *(_forms_in(host) for host in self._known.hosts))

    @cached_property
    def public_words(self) -> frozenset[str]:
        """The words of public outputs that services may get: words that consist of letters, and years."""
        words = (word for each in self._known.found for word in words_in(each.text))
        return frozenset(
            word for word in words if (word.isalpha() and len(word) >= _SHORTEST_PUBLIC) or _YEAR.fullmatch(word)
        )

    @property
    def own_text(self) -> str:
        return f"{self._known.own}\n{self._known.earlier}"

    @property
    def today(self) -> date:
        return self._known.today


class _Words:
    """The words that one service may get in one call, and the bits of their choice."""

    def __init__(self, judge: Judge, call: Outgoing) -> None:
        self._judge = judge
        self._used: set[str] = set()
        #: The bits of the words in addresses of the configuration.
        self.in_addresses = 0.0
        names = map(_forms_in, _names_in(call.schema))
        self._forms = judge.own_forms.union(*names, *map(_forms_in, call.returned))
        self._words = frozenset(form.casefold() for form in self._forms)

    def cost(self, text: str, *, is_number: bool = False) -> float:
        """Return the bits of the choice of this text. Raise `_Unknown` for a new word, and for a text with too few
        known words: common words or numbers alone could spell a secret piece by piece."""
        text = text.strip()
        if not text or text in self._forms:
            return 0.0
        days = [found[1] for found in _ISO_DAY.finditer(text) if self._is_near(found[1])]
        rest = _ISO_DAY.sub(lambda found: " " if found[1] in days else found[0], text).strip()
        costs = [
            self._cost_of_word(piece["word"]) if piece["word"] else self._cost_of_sign(piece["sign"])
            for piece in _PIECE.finditer(rest)
        ]
        words = [piece["word"] for piece in _PIECE.finditer(rest) if piece["word"]]
        known = sum(map(self._is_known, words))
        short = sum(len(word) < _SHORTEST_COMMON for word in words if not self._is_known(word))
        if words and not is_number and known <= short:
            raise _Unknown(_new(rest))
        return _DAY * len(days) + sum(costs)

    def _is_known(self, written: str) -> bool:
        word, known = written.casefold(), self._judge
        return _is_known(word, self._words) or _is_part(word, known.own_text) or _is_known(word, known.public_words)

    def _is_near(self, day: str) -> bool:
        try:
            return abs((date.fromisoformat(day) - self._judge.today).days) <= _DAYS_AROUND
        except ValueError:
            return False

    def _cost_of_word(self, written: str) -> float:
        word = written.casefold()
        again = _AGAIN if word in self._used else 0.0
        self._used.add(word)
        if written in self._forms:
            return again + _OWN
        if written not in {word, word.upper(), word.capitalize()}:
            raise _Unknown(_new(written))
        if _is_known(word, self._words) or _is_part(word, self._judge.own_text):
            return again + _OWN
        if word in SEARCH_WORDS or word in ADDRESS_WORDS or word in _words_of_day(self._judge.today):
            return again + _COMMON
        if word in ROUND_NUMBERS:
            return again + _NUMBER
        if _is_known(word, self._judge.public_words):
            return again + _PUBLIC
        raise _Unknown(_new(written))

    def _cost_of_sign(self, sign: str) -> float:
        if sign in _FREE_SIGNS:
            return 0.0
        if len(sign) > _LONGEST_SIGN:
            raise _Unknown(f"The call contains more than {_LONGEST_SIGN} signs in succession: {_named(ascii(sign))}.")
        if not (sign.isascii() and sign.isprintable()) and sign.strip() not in self._judge.own_text:
            raise _Unknown(f"The call contains the characters {sign!a}, which your message does not contain.")
        return _SIGN * len(sign)


class _Unknown(Exception):
    """The signal that a part of the call is not known. Its text is a sentence for people."""


def _new(word: str) -> str:
    return f"The call contains “{_named(word)}”, which your message does not contain."


def _unknown_host(host: str) -> str:
    return f"The host {_plain_host(host)} is neither in your message nor in the configuration nor in a search result."


def _plain_host(host: str) -> str:
    """Return a host for people. Letters of other scripts can imitate a known host, so add the encoded form that is used
    for connections."""
    if host.isascii():
        return _named(host)
    try:
        return f"{_named(host)} ({_named(host.encode('idna').decode())})"
    except UnicodeError:
        return _named(ascii(host))


def _named(text: str) -> str:
    """Return a short form of the text. No program makes a link of a host in it, which a click would send."""
    shown = _DOT.sub("[.]", text.replace("://", "[:]//"))
    return shown if len(shown) <= _LONGEST_NAMED else f"{shown[:_LONGEST_NAMED]}…"


# -- addresses ---------------------------------------------------------------------------------------------------------


def _host(address: str) -> str | None:
    """Return the host of an address; None if the host is not certain."""
    if _DOUBTFUL.search(address.partition("?")[0]):
        return None
    try:
        host = urlsplit(address).hostname
    except ValueError:
        return None
    return host.rstrip(".").lower() if host else None


def address_key(address: str, *, fragment: bool = False) -> str | None:
    """Return host, port, path and query of an address: the part that is sent. None if the host is not certain. With
    `fragment`, also return the fragment, which the program of a page can read."""
    host = _host(address)
    if host is None:
        return None
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return None
    place = host if port in {None, 80, 443} else f"{host}:{port}"
    query, added = parts.query and f"?{parts.query}", parts.fragment and f"#{parts.fragment}"
    return f"{place}{parts.path or '/'}{query}{added if fragment else ''}"


def addresses_in(text: str, *, fragments: bool = False) -> frozenset[str]:
    """Return the keys (see `address_key`) of the addresses in a text."""
    written = [*_ADDRESS.findall(text), *_LINK.findall(text)]
    written += [f"https://{bare}" for bare in _BARE_ADDRESS.findall(text)]
    keys = (address_key(_trimmed(each), fragment=fragments) for each in written)
    return frozenset(key for key in keys if key)


def _trimmed(written: str) -> str:
    """Return an address without the signs that end it in a text."""
    address = written.rstrip(_AFTER_ADDRESS)
    while address.endswith(")") and address.count(")") > address.count("("):
        address = address[:-1].rstrip(_AFTER_ADDRESS)
    return address


def _site(host: str) -> str:
    """Return the last two labels of a host, because one person may own all hosts with these labels."""
    return ".".join(host.split(".")[-2:])


def _is_named(host: str, words: str) -> bool:
    """Return True if `words` contains the host, except as a part of a longer name."""
    return re.search(rf"(?<![\w.-]){re.escape(host)}(?![\w-]|\.\w)", words, re.IGNORECASE) is not None


# -- words -------------------------------------------------------------------------------------------------------------


def texts_in(value: Any, key: str = "") -> Iterator[tuple[str, str | None]]:
    """Yield each text in a value with its key. Also yield the keys themselves, with None as their key."""
    if isinstance(value, str):
        yield value, key
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield str(name), None
            yield from texts_in(each, str(name))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from texts_in(each, key)


def _numbers(value: Any) -> Iterator[str]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _numbers(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _numbers(each)


def _names_in(schema: Any) -> Iterator[str]:
    """Yield the names of arguments in a JSON schema, and the values that it lists. Descriptions are left out, because
    they contain words of every kind."""
    if isinstance(schema, Mapping):
        for key, each in schema.items():
            if key == "properties" and isinstance(each, Mapping):
                yield from map(str, each)
            if key in {"enum", "const", "default"}:
                yield from (text for text, _ in texts_in([each]))
            else:
                yield from _names_in(each)
    elif isinstance(schema, list | tuple):
        for each in schema:
            yield from _names_in(each)


def _forms_in(text: str) -> Iterator[str]:
    """Yield the words of a text, and the words of its percent-decoded form."""
    for form in dict.fromkeys((text, unquote_plus(text))):
        yield from (found["word"] for found in _PIECE.finditer(form) if found["word"])


def words_in(text: str) -> frozenset[str]:
    """Return the words of a text in lower case."""
    return frozenset(form.casefold() for form in _forms_in(text))


def _is_known(word: str, words: Collection[str]) -> bool:
    """Return True if a word is among `words`, perhaps with another ending."""
    if word in words:
        return True
    if not word.isalpha() or len(word) < _SHORTEST_PUBLIC:
        return False
    stems = {word.removesuffix(ending) for ending in ENDINGS if word.endswith(ending)}
    return any(stem + ending in words for stem in stems if len(stem) >= _SHORTEST_PUBLIC - 1 for ending in ENDINGS)


def _is_part(word: str, text: str) -> bool:
    """Return True if a word of a script without spaces is a part of the text."""
    return not word.isascii() and all(ord(letter) >= 0x2E80 for letter in word) and word in text  # noqa: PLR2004


def _words_of_day(today: date) -> frozenset[str]:
    if today == date.min:
        return frozenset()
    return frozenset({str(today.year), str(today.year - 1), str(today.year + 1), f"{today:%B}".casefold()})


# -- words that may be sent although no person wrote them --------------------------------------------------------------
#
# None of them contains data of a person. Their choice counts towards the limits.


#: Function words of four languages, and words that models add to searches.
_SEARCH_WORDS = """
a about after all an and any are as at be before best between but by can cheap compare comparison cost current
date day definition details difference documentation docs does download english example examples explained facts
find first for forecast free from full german guide has have help history hours how in info information instructions
introduction is it its language last latest list local manual map meaning menu month more most nearby near new news
next not now number of official on online open opening or other out overview page people population price prices
problem program release released report result results review reviews schedule search site since size solution
source specification statistics status summary table than that the their this time times timetable to today tomorrow
top tutorial tutorials under update updates us use used using version vs was weather website week what when where
which who why will with without world year years yesterday you your
das dem den der des die ein eine einen einer für im in ist mit nach oder und von wann was wer wie wo zu zum zur
au aux avec ce dans de des du en est et la le les ou où pour quand que qui sur un une
con cuando de del donde el en es la las lo los para por que quien sin un una y
"""
SEARCH_WORDS = frozenset(_SEARCH_WORDS.split())
#: Words of addresses that many sites use. They may be sent to hosts of the configuration.
_ADDRESS_WORDS = """
about api article articles blog changelog contact de doc docs download en es faq feed fr guide help home htm html
index info json latest license main md news pdf php pricing privacy readme releases robots rss search sitemap
support txt wiki www xml
"""
ADDRESS_WORDS = frozenset(_ADDRESS_WORDS.split())
#: Numbers that models choose for sizes and pages.
ROUND_NUMBERS = frozenset({"0", "1", "2", "3", "4", "5", "10", "15", "20", "25", "30", "50", "100"})
#: Endings of words. Two words that differ only in one of these endings count as the same word.
ENDINGS = ("", "s", "es", "ed", "ing", "er", "en", "e", "n", "ly")
