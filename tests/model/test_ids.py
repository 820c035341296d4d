"""Ids as clients send and see them."""

import secrets
import uuid

import pytest

from tests.builders import NOON, a_public_id
from tsuzuki.model.ids import MOST_DIGITS, read_id, read_number, show_id, uuid7
from tsuzuki.model.times import Millis


def test_a_public_id_is_a_uuid_of_version_7():
    made = uuid.UUID(bytes=a_public_id())
    assert made.version == 7
    assert made.variant == uuid.RFC_4122
    assert int.from_bytes(made.bytes[:6], "big") == NOON


def test_later_ids_sort_later():
    ids = [uuid7(Millis(NOON + n), secrets.token_bytes(10)) for n in range(50)]
    assert ids == sorted(ids)


def test_an_id_survives_being_shown():
    made = a_public_id()
    assert show_id(made) == str(uuid.UUID(bytes=made))
    assert read_id(show_id(made)) == made


@pytest.mark.parametrize("text", ["", "x", "0" * 32, "g" * 36, "-" * 36, "01952ff9-0000-7000-8000-00000000000é"])
def test_what_is_no_id_is_none(text):
    assert read_id(text) is None


def test_a_uuid_needs_all_its_random_bytes():
    with pytest.raises(ValueError, match="ten"):
        uuid7(NOON, b"short")


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("7", 7), ("007", 7), ("9" * MOST_DIGITS, 10**MOST_DIGITS - 1)])
def test_a_number_is_read(text, number):
    assert read_number(text) == number


@pytest.mark.parametrize(
    "text", ["", " 7", "-1", "+1", "1.5", "1e3", "0x1", "1_0", "x", "٣", "²", "9" * (MOST_DIGITS + 1)]
)
def test_what_is_no_number_of_ours_is_none(text):
    assert read_number(text) is None
