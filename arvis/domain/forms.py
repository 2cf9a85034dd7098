"""Questions of tool servers to people: a form with simple fields, a page to open, or the use of a model.

The Model Context Protocol calls them elicitation and sampling. A server is untrusted. So Arvis limits the length of its
texts, shows that they come from the server, and refuses a form that seems to ask for a secret. A person writes the
values of a form in a chat, as lines `name: value`, or enters them on a page.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import date, datetime
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import Unprocessable
from arvis.domain.model_requests import ModelRequest
from arvis.domain.regex import regex
from arvis.domain.text import storable, storable_json

#: The decisions about a question of a server.
ACCEPT, DECLINE, CANCEL = "accept", "decline", "cancel"
DECISIONS = (ACCEPT, DECLINE, CANCEL)
#: The choices for a question that is answered by yes or no.
_YES, _NO = "yes", "no"

_MOST_FIELDS = 20
_MOST_OPTIONS = 100
#: People answer a list with more options in writing, because a chat shows a limited number of buttons.
_MOST_CHOICES = 20
_LONGEST_MESSAGE = 2_000
_LONGEST_TEXT = 500
_LONGEST_NAME = 100
_LONGEST_URL = 2_000
#: The maximum number of characters of a value.
LONGEST_VALUE = 4_000

_TRUE = frozenset({"yes", "true", "y", "on", "1", "ja", "oui", "si", "sí", "да", "是"})
_FALSE = frozenset({"no", "false", "n", "off", "0", "nein", "non", "нет", "否"})
_EMAIL = regex(r"[^@\s]{1,64}@[^@\s]{1,255}")
#: The titles of options that can be buttons: they contain nothing that could imitate other text, such as line breaks.
_PLAIN = regex(r"(?:[^\W\u115f\u1160\u3164\uffa0]|[ .,:;!?()'\"/&+%$€#@*-]){1,75}")
_SECRET = regex(
    r"pass(?:word|wd|phrase|code)|\bpin\b|\bsecret|api[\s_-]?key|(?:access|auth|authentication|bearer|refresh)[\s_-]?token"
    r"|\btoken\b|credential|private[\s_-]?key|seed[\s_-]?phrase|(?:credit|debit)[\s_-]?card|card[\s_-]?number|\bcvv\b|\bcvc\b"
    r"|\botp\b|one[\s_-]?time[\s_-]?(?:code|password)|verification[\s_-]?code|security[\s_-]?code",
    re.IGNORECASE,
)
#: A demand for a value in the message of the server. The message may ask for a secret even if no field does.
_DEMANDS = regex(r"\b(?:enter|provide|type|give|send|paste|share|what is|tell)\b[^.?!]{0,60}", re.IGNORECASE)


class UnusableQuestion(Exception):
    """The signal that a question of a server cannot be shown; the text completes "because …"."""


class WrongValue(ValueError):
    """The error for a value that a field does not accept. The text follows the name of the field."""


class FieldKind(StrEnum):
    TEXT = "text"
    NUMBER = "number"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    #: One of the options.
    CHOICE = "choice"
    #: Any number of the options.
    CHOICES = "choices"


class QuestionKind(StrEnum):
    FORM = "form"
    #: A page to open in a browser; Arvis gets no data from it.
    PAGE = "page"
    #: The server wants to use a model of the person.
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of a form. The limits apply to the length of a text, to a number, or to the number of chosen options."""

    name: str
    kind: FieldKind
    title: str = ""
    description: str = ""
    required: bool = False
    #: The initial value; None if there is none.
    default: Any = None
    #: The values and titles of the options.
    options: tuple[tuple[str, str], ...] = ()
    least: float | None = None
    most: float | None = None
    #: `email`, `uri`, `date`, `date-time`, or empty.
    format: str = ""

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> FormField:
        options = tuple((value, title) for value, title in kept["options"])
        return cls(**{**kept, "kind": FieldKind(kept["kind"]), "options": options})

    @property
    def label(self) -> str:
        return self.title or self.name

    def checked(self, value: Any) -> Any:
        """Return the value in the form for the server. Raise `WrongValue` if the field does not accept it."""
        match self.kind:
            case FieldKind.TEXT:
                return self._text(value)
            case FieldKind.NUMBER | FieldKind.INTEGER:
                return self._number(value)
            case FieldKind.BOOLEAN:
                if not isinstance(value, bool):
                    raise WrongValue("must be yes or no")
                return value
            case FieldKind.CHOICE:
                return self._option(value)
            case FieldKind.CHOICES:
                if not isinstance(value, list | tuple):
                    raise WrongValue("must be a list of options")
                chosen = list(dict.fromkeys(self._option(each) for each in value))
                self._check_limits(len(chosen), "options")
                return chosen

    def read(self, text: str) -> Any:
        """Return the value that the text of a person means. Raise `WrongValue` if the field does not accept it."""
        word = text.strip().casefold()
        match self.kind:
            case FieldKind.TEXT:
                return self.checked(text.strip())
            case FieldKind.NUMBER | FieldKind.INTEGER:
                try:
                    number = float(word)
                except ValueError:
                    raise WrongValue("must be a number") from None
                whole = number.is_integer() and re.fullmatch(r"[+-]?\d+", word) is not None
                return self.checked(int(word) if whole else number)
            case FieldKind.BOOLEAN:
                if word in _TRUE or word in _FALSE:
                    return word in _TRUE
                raise WrongValue("must be yes or no")
            case FieldKind.CHOICE:
                return self._option_named(text)
            case FieldKind.CHOICES:
                return self.checked([self._option_named(each) for each in text.split(",") if each.strip()])

    def _text(self, value: Any) -> str:
        if not isinstance(value, str):
            raise WrongValue("must be a text")
        text = storable(value)
        if len(text) > LONGEST_VALUE:
            raise WrongValue(f"must have at most {LONGEST_VALUE:,} characters")
        self._check_limits(len(text), "characters")
        if self.format and not _FORMATS[self.format](text):
            raise WrongValue(f"must be {_FORMAT_NAMES[self.format]}")
        return text

    def _number(self, value: Any) -> int | float:
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise WrongValue("must be a number")
        if self.kind is FieldKind.INTEGER and not whole:
            raise WrongValue("must be a whole number")
        self._check_limits(value, "")
        return int(value) if self.kind is FieldKind.INTEGER else value

    def _option(self, value: Any) -> str:
        found = next((known for known, _ in self.options if known == value), None)
        if found is None:
            # Users read this error as a text of Arvis. So leave out titles that could imitate other text, for example
            # by line breaks.
            plain = [title for _, title in self.options if _PLAIN.fullmatch(title)][:_MOST_CHOICES]
            raise WrongValue(f"must be one of {', '.join(plain)}" if plain else "must be one of the options")
        return found

    def _option_named(self, text: str) -> str:
        word = text.strip().casefold()
        named = (known for known, title in self.options if word in {known.casefold(), title.casefold()})
        return self._option(next(named, None))

    def _check_limits(self, size: float, unit: str) -> None:
        words = f" {unit}" if unit else ""
        verb = "have" if unit else "be"
        if self.least is not None and size < self.least:
            raise WrongValue(f"must {verb} at least {self.least:g}{words}")
        if self.most is not None and size > self.most:
            raise WrongValue(f"must {verb} at most {self.most:g}{words}")

    def about(self) -> str:
        """Return the kind and the limits of the field in a few words."""
        kinds = {
            FieldKind.TEXT: "text",
            FieldKind.NUMBER: "number",
            FieldKind.INTEGER: "whole number",
            FieldKind.BOOLEAN: "yes or no",
            FieldKind.CHOICE: f"one of: {self._titles()}",
            FieldKind.CHOICES: f"any of: {self._titles()}; separate them by commas",
        }
        first = _FORMAT_NAMES.get(self.format, kinds[self.kind])
        unit = {FieldKind.TEXT: " characters", FieldKind.CHOICES: " options"}.get(self.kind, "")
        limits = [
            f"{word} {limit:g}{unit}"
            for word, limit in (("at least", self.least), ("at most", self.most))
            if limit is not None
        ]
        return ", ".join([first, *limits, "required" if self.required else "optional"])

    def _titles(self) -> str:
        return ", ".join(title for _, title in self.options)


def _is_uri(text: str) -> bool:
    try:
        return bool(urlsplit(text).scheme)
    except ValueError:
        return False


def _is(read: Callable[[str], object]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            read(text)
        except ValueError:
            return False
        return True

    return check


_FORMATS: Mapping[str, Callable[[str], bool]] = {
    "email": lambda text: _EMAIL.fullmatch(text) is not None,
    "uri": _is_uri,
    "date": _is(date.fromisoformat),
    "date-time": _is(datetime.fromisoformat),
}
_FORMAT_NAMES = {
    "email": "an e-mail address",
    "uri": "an address such as https://example.org",
    "date": "a date such as 2026-11-28",
    "date-time": "a time such as 2026-11-28T12:00:00+01:00",
}


@dataclass(frozen=True, slots=True)
class ServerQuestion:
    """A question of a tool server to the person for whom an agent calls its tool."""

    server: str
    kind: QuestionKind
    #: The text of the server.
    message: str
    #: The address of a page.
    url: str = ""
    fields: tuple[FormField, ...] = ()
    #: The whole request to a model, as text.
    request: str = ""
    #: The values that the person wrote in a chat and has not accepted yet; None if there are none.
    draft: Mapping[str, Any] | None = None

    @classmethod
    def form(cls, server: str, message: str, schema: Mapping[str, Any]) -> ServerQuestion:
        """Return the question for a form. Raise `UnusableQuestion` if the form cannot be shown, or asks for a
        secret."""
        made = cls(server, QuestionKind.FORM, _message(message), fields=_fields_of(schema))
        if made.asks_for_secret:
            raise UnusableQuestion("the question seems to ask for a secret, which a form must not do")
        return made

    @classmethod
    def page(cls, server: str, message: str, url: str) -> ServerQuestion:
        """Return the question to open a page. Raise `UnusableQuestion` if the address cannot be used."""
        try:
            parts = urlsplit(url)
            usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.username is None
        except ValueError:
            usable = False
        if not usable or len(url) > _LONGEST_URL or not url.isprintable() or " " in url:
            raise UnusableQuestion("the page has no usable http or https address")
        return cls(server, QuestionKind.PAGE, _message(message), url=url)

    @classmethod
    def model(cls, server: str, request: ModelRequest) -> ServerQuestion:
        """Return the question that asks the person to permit the use of a model."""
        return cls(server, QuestionKind.MODEL, "", request=request.text)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> ServerQuestion:
        fields = tuple(FormField.from_json(each) for each in kept["fields"])
        return cls(**{**kept, "kind": QuestionKind(kept["kind"]), "fields": fields})

    def to_json(self) -> dict[str, Any]:
        kept: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return kept

    @property
    def asks_for_secret(self) -> bool:
        """True if a field or the message asks for a password, a key or another secret."""
        texts = [each for each in self.fields if each.kind is FieldKind.TEXT]
        named = " ".join(f"{each.name} {each.title} {each.description}" for each in texts)
        if _SECRET.search(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", named).replace("_", " ")):
            return True
        return bool(texts) and any(_SECRET.search(found[0]) for found in _DEMANDS.finditer(self.message))

    @property
    def start(self) -> dict[str, Any]:
        """The values that are sent if the person accepts without new values: the draft, or the initial values."""
        if self.draft is not None:
            return dict(self.draft)
        return {each.name: each.default for each in self.fields if each.default is not None}

    @property
    def single(self) -> FormField | None:
        """The only field, if each of its values can be a button."""
        if self.draft is not None or len(self.fields) != 1:
            return None
        [only] = self.fields
        if only.kind is FieldKind.BOOLEAN:
            return only
        titles = {title.casefold() for _, title in only.options}
        fits = len(only.options) <= _MOST_CHOICES and len(titles) == len(only.options) and not titles & {*DECISIONS}
        fits = fits and all(_PLAIN.fullmatch(title) for _, title in only.options)
        return only if only.kind is FieldKind.CHOICE and fits else None

    @property
    def choices(self) -> tuple[str, ...]:
        """The answers that a person can give by a button."""
        if (only := self.single) is not None:
            titles = (_YES, _NO) if only.kind is FieldKind.BOOLEAN else tuple(title for _, title in only.options)
            return (*titles, DECLINE, CANCEL)
        ready = all(each.name in self.start for each in self.fields if each.required)
        return DECISIONS if ready else (DECLINE, CANCEL)

    @property
    def takes_text(self) -> bool:
        """True if the person can write values as text."""
        return bool(self.fields)

    def chosen(self, choice: str) -> dict[str, Any] | None:
        """Return the values for one of the `choices`. Return None if the choice is a decision, such as `decline`."""
        if choice in DECISIONS or (only := self.single) is None:
            return None
        return {only.name: only.read(choice)}

    def checked(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values in the form for the server. If values are invalid, raise `Unprocessable` with all
        problems."""
        found, problems = {}, [f"`{name[:_LONGEST_NAME]}` is not a field" for name in values.keys() - self._names]
        for each in self.fields:
            value = values.get(each.name)
            if value is None or value == "":
                problems += [f"`{each.name}` is missing"] if each.required else []
                continue
            try:
                found[each.name] = each.checked(value)
            except WrongValue as wrong:
                problems.append(f"`{each.name}` {wrong}")
        if problems:
            raise self._unusable(problems)
        return found

    def read(self, text: str) -> dict[str, Any]:
        """Return the values that a person wrote: the value of the only field, lines `name: value`, or a JSON object. If
        values are invalid, raise `Unprocessable` with all problems."""
        if text.lstrip().startswith("{"):
            try:
                values = json.loads(text)
            except (ValueError, RecursionError):
                raise self._unusable(["the text is not valid JSON"]) from None
            return self.checked(values if isinstance(values, dict) else {})
        lines = [text] if len(self.fields) == 1 else [each for each in text.splitlines() if each.strip()]
        values, problems = self.start, []
        for line in lines:
            named, value = self._named(line)
            if named is None:
                problems.append(f"the line “{line.strip()[:_LONGEST_NAME]}” does not begin with a field and a colon")
                continue
            try:
                values[named.name] = named.read(value)
            except WrongValue as wrong:
                problems.append(f"`{named.name}` {wrong}")
        if problems:
            raise self._unusable(problems)
        return self.checked(values)

    def may_mean(self, text: str) -> bool:
        """Return whether a message may contain the values although it does not reply to the question. This is
        possible if the message names a field, or if the only field accepts the text and has no draft value yet."""
        heads = (line.partition(":") for line in text.splitlines())
        if any(colon and head.strip().casefold() in self._words for head, colon, _ in heads):
            return True
        if self.draft is not None or len(self.fields) != 1:
            return False
        try:
            self.fields[0].read(text)
        except WrongValue:
            return False
        return True

    def with_draft(self, values: Mapping[str, Any]) -> ServerQuestion:
        return replace(self, draft=dict(values))

    def _named(self, line: str) -> tuple[FormField | None, str]:
        head, colon, rest = line.partition(":")
        word = head.strip().casefold()
        if colon and word in self._words:
            return next(each for each in self.fields if word in {each.name.casefold(), each.title.casefold()}), rest
        return (self.fields[0], line) if len(self.fields) == 1 else (None, line)

    @property
    def _words(self) -> frozenset[str]:
        return frozenset(word.casefold() for each in self.fields for word in (each.name, each.title) if word)

    @property
    def _names(self) -> frozenset[str]:
        return frozenset(each.name for each in self.fields)

    def _unusable(self, problems: Sequence[str]) -> Unprocessable:
        example = "\n".join(f"{each.name}: …" for each in self.fields)
        how = f"Write one line for each field:\n{example}" if len(self.fields) > 1 else "Correct the value."
        what = "; ".join(problems[:5])
        return Unprocessable(f"{what[:1].upper()}{what[1:]}.", fix=how)


# -- the forms of servers ----------------------------------------------------------------------------------------------


def _message(text: str) -> str:
    text = storable(text)
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}…"


def _fields_of(schema: Mapping[str, Any]) -> tuple[FormField, ...]:
    properties = schema.get("properties", {})
    required = schema.get("required", [])
    if not isinstance(properties, dict) or not isinstance(required, list):
        raise UnusableQuestion("the form is not a list of fields")
    if len(properties) > _MOST_FIELDS:
        raise UnusableQuestion(f"the form has more than {_MOST_FIELDS} fields")
    return tuple(_field(name, each, name in required) for name, each in properties.items())


def _field(name: str, schema: Any, required: bool) -> FormField:
    if not isinstance(schema, dict) or len(name) > _LONGEST_NAME or not name.isprintable():
        raise UnusableQuestion("a field of the form cannot be shown")
    kind, options = _kind_of(name, schema)
    limits = _LIMITS[kind]
    made = FormField(
        name=name,
        kind=kind,
        title=_short(schema.get("title")),
        description=_short(schema.get("description")),
        required=required,
        options=options,
        least=_limit(schema, limits[0]),
        most=_limit(schema, limits[1]),
        format=schema["format"] if kind is FieldKind.TEXT and schema.get("format") in _FORMATS else "",
    )
    try:
        default = None if schema.get("default") is None else made.checked(storable_json(schema["default"]))
    except WrongValue:
        return made  # an invalid default is ignored
    return replace(made, default=default)


def _kind_of(name: str, schema: Mapping[str, Any]) -> tuple[FieldKind, tuple[tuple[str, str], ...]]:
    items = schema.get("items")
    match schema.get("type"):
        case "string" if "enum" in schema or "oneOf" in schema:
            return FieldKind.CHOICE, _options(schema, "oneOf")
        case "string":
            return FieldKind.TEXT, ()
        case "number":
            return FieldKind.NUMBER, ()
        case "integer":
            return FieldKind.INTEGER, ()
        case "boolean":
            return FieldKind.BOOLEAN, ()
        case "array" if isinstance(items, dict) and ("enum" in items or "anyOf" in items):
            return FieldKind.CHOICES, _options(items, "anyOf")
    raise UnusableQuestion(f"the field {name} of the form has a type that Arvis does not support")


def _options(schema: Mapping[str, Any], titled: str) -> tuple[tuple[str, str], ...]:
    if isinstance(given := schema.get(titled), list):
        pairs = [(each.get("const"), each.get("title")) for each in given if isinstance(each, dict)]
    else:
        values = schema.get("enum")
        values = values if isinstance(values, list) else []
        names = schema.get("enumNames")
        names = names if isinstance(names, list) and len(names) == len(values) else values
        pairs = list(zip(values, names, strict=True))
    options = tuple(
        (storable(value), _short(title) or _short(value)) for value, title in pairs if isinstance(value, str)
    )
    if not options or len(options) != len(pairs) or len(options) > _MOST_OPTIONS:
        raise UnusableQuestion(f"a list of the form must have 1 to {_MOST_OPTIONS} texts as options")
    return options


_LIMITS: Mapping[FieldKind, tuple[str, str]] = {
    FieldKind.TEXT: ("minLength", "maxLength"),
    FieldKind.NUMBER: ("minimum", "maximum"),
    FieldKind.INTEGER: ("minimum", "maximum"),
    FieldKind.BOOLEAN: ("", ""),
    FieldKind.CHOICE: ("", ""),
    FieldKind.CHOICES: ("minItems", "maxItems"),
}


def _limit(schema: Mapping[str, Any], name: str) -> float | None:
    value = schema.get(name)
    usable = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if usable and isinstance(value, int | float) else None


def _short(text: object) -> str:
    return storable(text)[:_LONGEST_TEXT] if isinstance(text, str) else ""
