"""A body that is wrong in a hundred thousand ways is refused as quickly as one that is wrong in one."""

import pytest

from tests.api.endpoints import NewCar
from tests.growth import within
from tsuzuki.api.binding import _decoded, _json
from tsuzuki.api.decoder import LONGEST_NAME, MOST_PROBLEMS, CheckedValue


def refused(body: bytes) -> CheckedValue:
    """What is said of it, in little time: this is on the event loop, and for whoever is not signed in too."""

    def told() -> CheckedValue:
        with pytest.raises(CheckedValue) as found:
            _decoded(NewCar, _json(body))
        return found.value

    return within(1.0, told)


def test_of_a_hundred_thousand_unknown_keys_some_are_named():
    """SEC-45: with a suggestion for each, this took nine seconds and four megabytes."""
    checked = refused(b"{" + b",".join(b'"nam%d":1' % n for n in range(80_000)) + b"}")
    assert len(checked.problems) == MOST_PROBLEMS
    assert checked.problems[1].message == "nam0 is unknown; did you mean name?"


def test_a_name_of_a_megabyte_is_told_by_its_beginning():
    [_, unknown] = refused(b'{"' + b"name" * 250_000 + b'": 1}').problems
    assert unknown.field == "name" * (LONGEST_NAME // 4)
    assert unknown.message.endswith("is unknown.")


@pytest.mark.parametrize("wrong", [b"1,", b'"a",', b"{},", b'{"size":0},'])
def test_of_a_long_list_the_first_problems_are_named(wrong):
    checked = refused(b'{"name": "a", "wheels": [' + wrong * 90_000 + b"1]}")
    assert len(checked.problems) == MOST_PROBLEMS
    assert checked.problems[0].field.startswith("wheels.0")


def test_a_problem_far_down_a_long_list_is_still_one():
    checked = refused(b'{"name": "a", "tags": {' + b",".join(b'"k%d":1' % n for n in range(90_000)) + b', "z": "x"}}')
    assert [problem.field.partition(".")[0] for problem in checked.problems] == ["tags"]


def test_nul_among_many_is_found():
    [problem] = refused(b'{"name": "a", "wheels": [' + b"1," * 400_000 + b'"\\u0000"]}').problems
    assert problem.message == "The body must not contain the character NUL."
    [problem] = refused(b'{"name": "\\u0000"}').problems
    assert problem.message == "name must not contain the character NUL."
