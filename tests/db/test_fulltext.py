"""Words as PostgreSQL's index takes them: each with its places, which are bounded in number and in reach."""

import pytest

from tsuzuki.db.fulltext import GAP, LAST_POSITION, MOST_POSITIONS, words_of


def places(title: list[str], body: list[str]) -> dict[str, list[str]]:
    """What a tsvector says of each word."""
    pairs = (entry.rpartition(":") for entry in words_of("postgres", title, body).vector.split(" ") if entry)
    return {word.strip("'"): seen.split(",") for word, _, seen in pairs}


def test_no_phrase_reaches_from_title_into_body():
    assert places(["a", "b", "a"], ["b", "c"]) == {"a": ["1A", "3A"], "b": ["2A", "5"], "c": ["6"]}


def test_a_row_without_words_has_none():
    assert words_of("postgres", [], []).vector == ""


@pytest.mark.parametrize("length", [1, 1_996, 1_997, 1_998, 1_999, 2_000, 2_500, 16_379, 16_380, 16_381, 20_000])
def test_places_are_counted_up_to_the_last_that_there_is(length: int):
    title = ["t"]
    body = [f"w{number}" for number in range(length)]
    expected = {word: [str(min(number + 1 + GAP, LAST_POSITION))] for number, word in enumerate(body)}
    assert places(title, body) == {"t": ["1A"]} | expected


def test_a_word_has_no_more_places_than_the_index_keeps():
    assert places([], ["w"] * 1_000)["w"] == [str(place) for place in range(GAP, GAP + MOST_POSITIONS)]


def test_sqlite_takes_the_words_as_they_are():
    found = words_of("sqlite", ["a", "b"], ["c", "d"])
    assert (found.title, found.body, found.vector) == ("a b", "c d", "")
