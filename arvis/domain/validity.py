"""Periods in which facts are true, and questions about earlier times.

People and models write a period as a year, a month or a day: `2024`, `2024-03`, `2024-03-15`. Facts that are no longer
true are recalled only for a question about earlier times, such as *Where did I live before?* The test for such a
question also accepts some other questions, so that it misses few questions about earlier times.
"""

from __future__ import annotations

from datetime import date, timedelta

from arvis.domain.memory import Fact
from arvis.domain.money import day_of, start_of_day
from arvis.domain.regex import regex

#: The form of a date, for errors and help.
DATE = "a date such as 2024, 2024-03 or 2024-03-15"
_DATE = regex(r"(1[6-9]\d\d|[2-9]\d{3})(?:-(\d{2})(?:-(\d{2}))?)?")


def _period(text: str) -> tuple[date, date] | None:
    """Return the first day of a year, month or day, and the day after its last day. Return None if the text is no
    date."""
    found = _DATE.fullmatch(text.strip())
    if found is None:
        return None
    year, month, day = (int(part or 0) for part in found.groups())
    try:
        first = date(year, month or 1, day or 1)
        if day:
            return first, first + timedelta(days=1)
        return first, date(year + (month in {0, 12}), month % 12 + 1 if month else 1, 1)
    except (ValueError, OverflowError):
        return None


def is_date(text: str) -> bool:
    return _period(text) is not None


def start_of(text: str, zone: str) -> int | None:
    """Return the time (ms) at which the year, month or day begins; None if the text is no date."""
    found = _period(text)
    return None if found is None else start_of_day(found[0], zone)


def end_of(text: str, zone: str) -> int | None:
    """Return the time (ms) at which the year, month or day is over; None if the text is no date."""
    found = _period(text)
    return None if found is None else start_of_day(found[1], zone)


def validity_of(fact: Fact, zone: str) -> str:
    """Return the period in which the fact is true, with its first and last day, such as `from 2024-01-01 until
    2024-12-31`. Return "" if the period is unknown."""
    began = "" if fact.valid_from is None else f"from {day_of(fact.valid_from, zone)}"
    ended = "" if fact.valid_until is None else f"until {day_of(fact.valid_until - 1, zone)}"
    return " ".join(filter(None, [began, ended]))


#: Words for earlier times in English, German, French, Spanish, Italian, Dutch, Portuguese and Russian.
_WORDS = (
    "earlier previous previously formerly former originally back.then in.the.past at.that.time once.upon used.to before until.recently "
    "long.ago years.ago months.ago weeks.ago last.year last.month last.summer last.winter last.spring last.autumn did.i.use "
    "früher vorher zuvor davor damals ehemals ehemalige ehemaliger ehemaligen ursprünglich einst bisher bis.vor vor.\\d+.jahren "
    "vor.jahren letztes.jahr letzten.monat letzten.sommer vergangenes.jahr vergangenheit vorige voriges vorigen vorheriger vorherige "
    "avant auparavant autrefois jadis à.l'époque l'an.dernier l'année.dernière le.mois.dernier précédent précédente ancien ancienne "
    "antes anteriormente antiguamente entonces solía solías el.año.pasado el.mes.pasado anterior hace.\\w+.años "
    "prima precedentemente una.volta l'anno.scorso il.mese.scorso precedente vroeger voorheen vorig.jaar destijds antigamente "
    "no.ano.passado раньше прежде прошлом.году тогда ранее"
)
#: Words for earlier times in Chinese, Japanese and Korean, and the pattern of a question in the past tense about a year
#: (`Who was my dentist in 2024?`).
_DENSE = "以前|之前|曾经|过去|去年|那时|前は|前に|昔|かつて|当時|예전|이전|전에|과거|작년"
_IN_A_YEAR = (
    r"\b(?:was|were|did|had|war|waren|hatte|hatten|wohnte|arbeitete|hieß|étai[st]|habitai[st]|travaillai[st]|era|vivía|trabajaba|"
    r"abitav[aoi]|lavorav[aoi])\b.{0,80}\b(?:19|20)\d\d\b"
)
_ASKS = regex(
    rf"(?<!\w)(?:{'|'.join(word.replace('.', '[ ]') for word in _WORDS.split())})(?!\w)|{_DENSE}|{_IN_A_YEAR}"
)
#: Beginnings of requests in which a word for earlier times concerns the order of actions: "before you answer, read the
#: file".
_ORDER = regex(
    r"(?<!\w)(?:before (?:you|we|i|it|they|that|the|doing|sending|answering|starting)|bevor|avant (?:de|que)|antes de|prima di)(?!\w)"
)
#: The maximum number of characters of a text that are read.
_MOST = 600


def asks_about_the_past(text: str) -> bool:
    """Return whether a text asks about earlier times."""
    folded = " ".join(text[:_MOST].casefold().replace("\u2019", "'").split())
    return bool(_ASKS.search(_ORDER.sub(" ", folded)))
