"""Words with the same stem, and words with typing errors, are found by the keys of the vocabulary."""

from __future__ import annotations

import pytest

from arvis.domain.search import message_words, question_of
from arvis.store.sql.stems import share_stem, stems_of
from arvis.store.sql.vocabulary import Range, has_keys, keys_of, near_ranges, nearest


def folded(word: str) -> str:
    [only] = message_words(word)
    return only


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("en", "painting", "painted"), ("en", "studies", "study"), ("de", "Häuser", "Haus"), ("de", "gekaufte", "gekauften"),
        ("es", "canciones", "canción"), ("fr", "mangé", "manger"), ("it", "ragazzi", "ragazzo"), ("pt", "corações", "corações"),
        ("nl", "katten", "kat"), ("sv", "bilarna", "bilar"), ("ru", "красивый", "красивая"),
    ],
)  # fmt: skip
def test_forms_of_a_word_share_their_stem(language: str, one: str, other: str) -> None:
    assert share_stem(folded(one), folded(other), [language])
    assert not share_stem(folded(one), folded("zebra"), [language])


def test_only_words_of_letters_have_stems() -> None:
    assert stems_of("painting", ["en", "ru"]) == ["paint"]
    for word in ("kx1234", "東京", "ab", "a" * 25, "привет1", "c++", "🎉"):
        assert stems_of(word) == ()
        assert not has_keys(word)


def found_by(word: str, other: str) -> bool:
    return any(each.first <= key < each.last for each in near_ranges(word) for key in keys_of(other))


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("harbuor", "harbour"), ("harbor", "harbour"), ("arbour", "harbour"), ("harbourr", "harbour"), ("hxrbour", "harbour"),
        ("telescpoe", "telescope"), ("televcope", "telescope"), ("birthdya", "birthday"), ("dentst", "dentist"),
    ],
)  # fmt: skip
def test_a_typing_error_is_corrected(typed: str, meant: str) -> None:
    assert found_by(typed, meant)
    assert nearest(typed, ["zebra", meant, "anything"]) == [meant]


def test_other_words_are_not_corrected() -> None:
    assert near_ranges("cart") == ()
    assert nearest("horse", ["house", "mouse", "zebra"]) == ["house"]
    assert nearest("dentist", ["densest", "artist"]) == []
    assert nearest("accordion", ["acordeon", "according"]) == ["acordeon", "according"]
    assert Range("cra", "cra\U0010ffff") not in near_ranges("crane")


@pytest.mark.parametrize(
    ("text", "words", "languages"),
    [
        ("When does Dmitri see the dentist?", ("dmitri", "see", "dentist"), ("en",)),
        ("Wie heißt der Bruder von Greta?", ("heisst", "bruder", "greta"), ("de",)),
        ("¿Cuándo va Inés al dentista?", ("ines", "dentista"), ("es",)),
        ("东京在哪里", ("东京", "京在", "在哪"), None),
        ("the who", ("the", "who"), None),
        ("kayak", ("kayak",), None),
        ("", (), None),
    ],
)
def test_a_question_has_no_stop_words(text: str, words: tuple[str, ...], languages: tuple[str, ...] | None) -> None:
    question = question_of(text)
    assert question.words == words
    assert languages is None or question.languages[: len(languages)] == languages


def test_texts_in_quotes_must_be_found_exactly() -> None:
    question = question_of('where is "the old harbour" now 東')
    assert [phrase.words for phrase in question.phrases] == [("the", "old", "harbour")]
    assert (question.words, question.beginnings, question.is_sentence) == (("old", "harbour", "now"), ("東",), True)
    assert not question_of("old harbour").is_sentence
    assert question_of("王小梅的牙医是谁").is_sentence
