"""Tests if a fact states another value for the same attribute of the same subject as another fact.

Two near facts are often about two things ("attended a workshop", "attended a parade"), and both must be stored. The
older fact is replaced only if the form of the sentence shows that one value replaces the other. Such forms are: an
attribute with a single value right before the difference; a difference only in numbers or dates, outside of events; a
negation; an addition at the end; a reversed preference; a word such as "now" in the new fact. No model is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from arvis.domain.regex import regex
from arvis.memory.similarity import Similarity, Wording, distance, similarity

#: The maximum number of words of a value.
_LONGEST_VALUE = 8
_NUMBER = regex(r"v?\d+(?:[.,:/-]\d+)*(?:%|st|nd|rd|th|am|pm|h|°c)?")
_QUOTED = regex(r"[\"'].+[\"']")
_POSSESSIVE = regex(r"\w+'s?")
#: Verbs in the past: `visited`; in Spanish and Italian `visitó`, `andò`.
_PAST = regex(r"[a-z]{3,}ed|[a-zñáéíóú]{3,}[óò]")


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_DATES = _listed(
    """
    monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays
    january february march april may june july august september october november december today tomorrow yesterday
    montag dienstag mittwoch donnerstag freitag samstag sonntag lundi mardi mercredi jeudi vendredi samedi dimanche
    """
)
_DENIALS = _listed(
    """
    not no never none neither nor without cannot don't doesn't didn't isn't aren't wasn't won't can't nicht kein keine keinen nie ohne
    ne pas jamais sans nunca no sin não non mai senza не нет никогда longer anymore
    """
)
#: Words that are ignored. `do` and its forms are among them, because negations add and remove them.
_SMALL = _listed("a an the s to do does did so that")
#: Words that show that something has changed.
_CHANGED = _listed("now nowadays currently instead anymore jetzt inzwischen maintenant ahora")
#: Words that may occur between the attribute and its value.
_BETWEEN = _SMALL | _listed(
    """
    in at on as for by of near with from der die das den dem ein eine einer einem les la le l' un une el à au en de dr mr mrs ms
    bei beim zum zur von vom für um mit del por para con
    """
)
#: Verbs that have one object at a time (a person `lives` in one place), and nouns for attributes that have one value.
_VERBS = _listed(
    """
    lives live living resides reside stays based works work working prefers prefer preferred called named weighs costs
    starts ends begins opens closes expires lies located belongs reports uses wohnt lebt arbeitet heißt bevorzugt habite
    travaille préfère s'appelle vive trabaja prefiere abita lavora preferisce живёт живет работает
    """
)
_NOUNS = _listed(
    """
    name nickname surname birthday birthdate age address email mail phone number password username deadline budget price cost
    kennwort lieblingsessen lieblingsband telefon telefonnummer handynummer nummer miete preis spitzname nachname chef chefin arzt
    ärztin vermieter vermieterin beruf firma größe gewicht gehalt ziel titel wohnort budget alter partnerin
    contraseña dirección teléfono número plazo alquiler precio nombre apellido apodo cumpleaños edad jefe jefa médico médica doctora
    presupuesto sueldo peso talla fecha límite puesto profesión empresa versión meta objetivo estado pareja marido esposa favorito
    favorita téléphone numéro loyer prix nom prénom surnom âge patron médecin délai taille poids métier entreprise mari femme préféré
    préférée mot indirizzo telefono affitto prezzo nome soprannome compleanno capo medico scadenza preferito preferita
    salary size height weight colour color language timezone zone employer job profession occupation title role position version status
    currency capital goal target limit interval port host url path branch editor theme mode model plan hometown nationality
    boss manager husband wife spouse partner doctor dentist landlord owner favourite favorite preferred due appointment
    meeting geburtstag adresse lieblingsfarbe passwort frist anniversaire adresse
    """
)
_COPULAS = _listed("is are was were be becomes remains equals = : ist sind est es son è")
#: Verbs of past events. A later event does not make an earlier event untrue.
_EVENTS = _listed(
    """
    went saw met bought read ran took made won got had did came gave began felt found told said wrote sang swam flew drove rode
    taught brought heard spent lost built grew left ate drank sent sold wore chose held kept led spoke threw understood
    war hatte ging kaufte traf lief fuhr flog sah las schrieb bekam gewann fand besuchte machte reiste lernte baute verlor verkaufte
    fue fui estuvo hizo hice vino dio dijo tuvo vio perdió ganó était fut alla acheta vit andò fu fece vide купил купила был была ездил
    """
)
_ED_STATES = _listed(
    "based named called located married preferred interested tired need speed red bed wed feed seed allowed"
)
#: Things that their numbers distinguish: a fact with another number is about another thing.
_NUMBERED = _listed(
    """
    room invoice order ticket issue bug bus tram train flight line gate platform chapter page step part section floor level table
    seat house flat apartment exam task item case contract bill unit lesson season episode volume week game round lot box bay
    raum zimmer rechnung bestellung bahn zug flug linie gleis kapitel seite schritt teil etage stock tisch platz haus wohnung aufgabe
    fall vertrag woche habitación factura pedido autobús tren vuelo línea capítulo página paso piso mesa chambre facture commande vol
    ligne quai chapitre étape étage salle
    """
)
_WEEKLY = _listed("mondays tuesdays wednesdays thursdays fridays saturdays sundays")
_YEAR = regex(r"(?:19|20)\d\d")
_IN = _listed("in im en em")
#: The last letters of most verbs that begin a fact without a subject, in English and German.
_OF_VERBS = ("s", "t")
_ARTICLES = _listed("a an the der die das den dem ein eine einen einem el la los las un una le les une no #")
#: The statement that a person has one thing of a kind, such as `has a `. The person may have other things of this kind.
_HAS_ONE = regex(
    r"\b(?:has|have|owns|hat|habe|haben|besitzt|tiene|tengo|ha|a|ai) (?:\w+ ){0,3}(?:an?|another|eine?n?|une?|una) "
)
#: Words that a negation exchanges: `with milk`, `without milk`.
_EXCHANGED = _listed("with mit con avec")
#: The minimum length of a word that a negation changes ("eat", but not "is").
_SHORTEST = 3
#: Endings that a negation changes (`eats`, `does not eat`; `lange`, `keine langen`).
_ENDINGS = _listed("s n e en es")
_RELATIVES = _listed(
    """
    son daughter child kid brother sister cousin uncle aunt nephew niece friend colleague neighbour neighbor grandson granddaughter
    sohn tochter kind bruder schwester freund freundin kollege kollegin hijo hija hermano hermana amigo amiga fils fille frère sœur
    """
)
_NAMED = _listed("name named called heißt llama s'appelle")
_OWN = _listed("my his her their our your mein meine sein seine ihr ihre mi su mon ma son sa")
_DENSE = regex("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]")
_DENSE_DENIAL = regex("[不没沒無无未别勿非]")
_DENSE_NUMBERED = regex("(?:房间|房|第|航班|订单|发票|路|线|楼|部屋|番)$")
_DENSE_BEFORE = regex("(住在|住|叫|名字是|生日是|工作在|在|是)$")
_DENSE_AFTER = regex("^(に住|で働|が好き|に살|에 살|公司|工作|上班|家)")


def likeness(new: Wording, old: Wording) -> Similarity | None:
    """Return the similarity of two facts if they are the same, or if the new fact updates the old fact; otherwise None.
    Facts that differ only in a negation need not be near, because a negation changes many letters of a short text."""
    like = similarity(new, old)
    if like is None:
        return Similarity(same=False, differing=1.0) if _denies(_words(new), _words(old)) else None
    return like if like.same or updates(new, old) else None


def updates(new: Wording, old: Wording) -> bool:
    """Return True if `new` states another value for the same attribute of the same subject as `old`. The facts must be
    near (`similarity`)."""
    if _DENSE.search(new.text) and _DENSE.search(old.text):
        return _updates_dense(new.text, old.text)
    words, before = _words(new), _words(old)
    if not words or not before:
        return False
    return (
        _denies(words, before)
        or _counts_anew(words, before)
        or _adds_to_its_end(words, before)
        or _turns_round(words, before)
        or _replaces_the_value(words, before)
    )


def _words(wording: Wording) -> list[str]:
    stripped = (word.strip(".,;:!?()[]") for word in wording.text.replace("\u2019", "'").split())
    return [word for word in stripped if word]


def _denies(new: Sequence[str], old: Sequence[str]) -> bool:
    """Return True if the facts differ only in a negation."""
    if bool(_DENIALS & set(new)) == bool(_DENIALS & set(old)):
        return False
    without = _DENIALS | _SMALL | _CHANGED | _EXCHANGED
    left, known = ([word for word in words if word not in without] for words in (new, old))
    return len(left) == len(known) > 0 and all(_is_form_of(*pair) for pair in zip(left, known, strict=True))


def _is_form_of(word: str, other: str) -> bool:
    """Return True if the words are equal, or if the longer word is the shorter word with an ending."""
    short, long = sorted((word, other), key=len)
    return word == other or (len(short) >= _SHORTEST and long.startswith(short) and long[len(short) :] in _ENDINGS)


def _counts_anew(new: Sequence[str], old: Sequence[str]) -> bool:
    """Return True if the facts describe the same state with different numbers or dates, each in the same position."""
    if _is_event(new) or _is_event(old):
        return False
    sorts = [[_sort(word) for word in words] for words in (new, old)]
    if sorts[0] != sorts[1] or not any(sort in {"#number", "#date"} for sort in sorts[0]) or not _has_substance(new):
        return False
    changed = [place for place, word in enumerate(new) if word != old[place]]
    return not (_HAS_ONE.search(" ".join(new)) or any(_names_a_thing(new, place) for place in changed))


def _names_a_thing(words: Sequence[str], place: int) -> bool:
    """Return True if the number or date at this position distinguishes things of the same kind (`room 12`, `in 2019`,
    `on Mondays`), so that a fact with another number or date is about another thing."""
    before = [word for word in words[:place] if word not in _ARTICLES]
    if words[place] in _WEEKLY or (before and before[-1] in _NUMBERED):
        return True
    if place < len(words) - 1 and len(before) == 1 and (before[0] in _NOUNS or not before[0].endswith(_OF_VERBS)):
        return True  # "shelf 3 holds books", but not "weighs 80 kg"
    if _YEAR.fullmatch(words[place]) and (not before or before[-1] in _IN):
        return len(before) < 2 or before[-2] not in _VERBS | _NOUNS  # noqa: PLR2004 - "ends in 2026" is a value
    return False


def _sort(word: str) -> str:
    if _NUMBER.fullmatch(word):
        return "#number"
    return "#date" if word in _DATES else word


def _has_substance(words: Sequence[str]) -> bool:
    """Return True if the words contain a subject in addition to numbers and dates."""
    return any(not _sort(word).startswith("#") and word not in _BETWEEN | _COPULAS for word in words)


def _adds_to_its_end(new: Sequence[str], old: Sequence[str]) -> bool:
    """Return True if the new fact is the old fact with an addition at its end, so that the replacement loses
    nothing."""
    return len(new) > len(old) and list(new[: len(old)]) == list(old) and not _DENIALS & set(new[len(old) :])


def _turns_round(new: Sequence[str], old: Sequence[str]) -> bool:
    """Return True if the new fact reverses a preference (`prefers tea over coffee`, `prefers coffee over tea`)."""
    compares = {"over", "than", "before"} & set(new) and _VERBS & set(new)
    return bool(compares) and new != old and sorted(new) == sorted(old)


def _replaces_the_value(new: Sequence[str], old: Sequence[str]) -> bool:
    """Return True if the facts differ in only one sequence of words, and if these words follow an attribute with a
    single value or occur beside a word such as "now"."""
    if _is_event(old):
        return False
    signals = _CHANGED & set(new)
    plain = [word for word in new if word not in _CHANGED]
    known = [word for word in old if word not in _CHANGED]
    changes = [code for code in SequenceMatcher(None, known, plain, autojunk=False).get_opcodes() if code[0] != "equal"]
    changes = [code for code in changes if not set(known[code[1] : code[2]] + plain[code[3] : code[4]]) <= _SMALL]
    if len(changes) != 1:
        return False
    kind, start, end, first, last = changes[0]
    if kind != "replace" or max(end - start, last - first) > _LONGEST_VALUE or _is_event(plain):
        return False
    if _DENIALS & set(known[start:end] + plain[first:last]):
        return False
    prefix, suffix = known[:start], known[end:]
    if _COPULAS & set(suffix):
        return False  # the difference is in the subject: "her number at work is", "her number at home is"
    if set(known[start:end]) <= _WEEKLY:
        return bool(signals)  # a fact with another weekday is about a further habit
    if _is_attribute(prefix):
        return not _is_one_of_several(prefix) or _is_respelt(known[start:end], plain[first:last])
    # A word such as "now" shows a change of state only if words come before the difference and at most two words follow
    # it.
    behind = [word for word in suffix if word not in _BETWEEN]
    shown = bool(signals) and len([word for word in prefix if word not in _BETWEEN]) > 0
    return shown and len(behind) <= 2  # noqa: PLR2004 - "at home"


def _is_attribute(prefix: Sequence[str]) -> bool:
    """Return True if these words end with an attribute that has a single value: `lives in`, `her favourite colour
    is`."""
    words = list(prefix)
    while words and words[-1] in _BETWEEN:
        words.pop()
    if not words:
        return False
    if words[-1] in _COPULAS:
        before = [word for word in words[:-1] if word not in _BETWEEN]
        return any(word in _NOUNS for word in before)
    return words[-1] in _VERBS or (words[-1] in _NOUNS and any(_POSSESSIVE.fullmatch(word) for word in words))


def _is_one_of_several(prefix: Sequence[str]) -> bool:
    """Return True if these words introduce a thing (`has a`), a relative or a friend (`my son is named`): a person may
    have several of them."""
    if _HAS_ONE.search(" ".join(prefix)):
        return True
    owned = any(word.endswith("'s") or word in _OWN for word in prefix)
    return owned and bool(_RELATIVES & set(prefix)) and bool(_NAMED & set(prefix))


def _is_respelt(old: Sequence[str], new: Sequence[str]) -> bool:
    return len(old) == len(new) == 1 and distance(old[0], new[0]) == 1


def _is_event(words: Sequence[str]) -> bool:
    """Return True if the words describe an event: they contain a verb in the past without a form of `be` before it."""
    for place, word in enumerate(words):
        if word in _EVENTS:
            return True
        if _PAST.fullmatch(word) and word not in _ED_STATES and not _COPULAS & set(words[max(0, place - 1) : place]):
            return True
    return False


def _updates_dense(new: str, old: str) -> bool:
    """Return the result of `updates` for languages without blanks between words."""
    if bool(_DENSE_DENIAL.search(new)) != bool(_DENSE_DENIAL.search(old)):
        return _DENSE_DENIAL.sub("", new) == _DENSE_DENIAL.sub("", old)
    if (count := _NUMBER.sub("#", new)) == _NUMBER.sub("#", old) and "#" in count:
        pairs = zip(_NUMBER.finditer(new), _NUMBER.finditer(old), strict=True)
        return not any(one[0] != other[0] and _DENSE_NUMBERED.search(new[: one.start()]) for one, other in pairs)
    changes = [c for c in SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if c[0] != "equal"]
    if len(changes) != 1 or changes[0][0] != "replace":
        return False
    _, start, end, _, _ = changes[0]
    before = _DENSE_BEFORE.search(old[:start]) or _DENSE_BEFORE.search(old[: max(0, start - 1)])
    return bool(before or _DENSE_AFTER.search(old[end:]))
