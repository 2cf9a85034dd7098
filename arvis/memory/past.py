"""A test that finds questions about earlier times, such as *Where did I live before?* Only such a question recalls facts that
were true before, so the test prefers a few needless recalls to a question without its facts."""

from __future__ import annotations

from arvis.domain.regex import regex

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
#: The same in Chinese, Japanese and Korean, and a question in the past tense about a period (`Who was my dentist in 2024?`).
_DENSE = "以前|之前|曾经|过去|去年|那时|前は|前に|昔|かつて|当時|예전|이전|전에|과거|작년"
_IN_A_YEAR = (
    r"\b(?:was|were|did|had|war|waren|hatte|hatten|wohnte|arbeitete|hieß|étai[st]|habitai[st]|travaillai[st]|era|vivía|trabajaba|"
    r"abitav[aoi]|lavorav[aoi])\b.*\b(?:19|20)\d\d\b"
)
_ASKS = regex(
    rf"(?<!\w)(?:{'|'.join(word.replace('.', '[ ]') for word in _WORDS.split())})(?!\w)|{_DENSE}|{_IN_A_YEAR}"
)
#: Beginnings of requests in which a word for earlier times is about the order of actions: "before you answer, read the file".
_ORDER = regex(
    r"(?<!\w)(?:before (?:you|we|i|it|they|that|the|doing|sending|answering|starting)|bevor|avant (?:de|que)|antes de|prima di)(?!\w)"
)
#: Only this many characters of a text are read.
_MOST = 2_000


def asks_about_the_past(text: str) -> bool:
    """Return whether a text asks about earlier times."""
    folded = " ".join(text[:_MOST].casefold().replace("\u2019", "'").split())
    return bool(_ASKS.search(_ORDER.sub(" ", folded)))
