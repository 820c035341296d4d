"""The bytes of a backup are those that Mihon's own encoder makes, and damaged ones end in a sentence."""

import pytest

from tsuzuki.model.errors import NotAFeed
from tsuzuki.transfer.mihon.wire import (
    ProtobufMessage,
    bytes_field,
    decimal_field,
    number_field,
    read_fields,
    replaced,
    text_field,
)

MEMO = bytes_field(112, b"{}")
GOLDEN = {
    "08001201758801018801ac028207027b7d": number_field(1, 0)
    + text_field(2, "u")
    + number_field(17, 1)
    + number_field(17, 300)
    + MEMO,
    "08ffffffffffffffffff01120175a00600b80600c806018207027b7d": number_field(1, -1)
    + text_field(2, "u")
    + number_field(100, 0)
    + number_field(103, 0)
    + number_field(105, 1)
    + MEMO,
    "0a016312016e200130054d00002841": text_field(1, "c")
    + text_field(2, "n")
    + number_field(4, 1)
    + number_field(6, 5)
    + decimal_field(9, 10.5),
}


@pytest.mark.parametrize(("encoded", "written"), GOLDEN.items())
def test_messages_are_written_as_mihon_writes_them(encoded, written):
    assert written.hex() == encoded


def test_numbers_text_and_lists_are_read_again():
    manga = ProtobufMessage(bytes.fromhex("08ffffffffffffffffff01120175a00600b80600c80601"), "a series")
    assert (manga.number(1), manga.required(2), manga.number(100, 1), manga.number(105)) == (-1, "u", 0, 1)
    assert manga.text(3) is None
    chapter = ProtobufMessage(bytes.fromhex("0a016312016e200130054d00002841"), "a chapter")
    assert (chapter.number(4), chapter.number(6), chapter.decimal(9)) == (1, 5, 10.5)


@pytest.mark.parametrize("encoded", ["08001201758801018801ac02", "08001201758a010301ac02"], ids=["unpacked", "packed"])
def test_lists_of_numbers_are_read_either_way(encoded):
    assert ProtobufMessage(bytes.fromhex(encoded), "a series").numbers(17) == [1, 300]


def test_what_nobody_knows_is_written_again_as_it_was():
    raw = number_field(1, 7) + text_field(777, "of a fork") + number_field(4, 1) + bytes.fromhex("c10101020304050607ff")
    again = replaced(read_fields(raw), {4: [number_field(4, 0)]})
    assert sorted(each.raw for each in read_fields(again)) == sorted(
        [number_field(1, 7), text_field(777, "of a fork"), number_field(4, 0), bytes.fromhex("c10101020304050607ff")]
    )


def test_fields_of_old_with_the_number_zero_do_no_harm():
    inside = bytes.fromhex("0201410801")  # field 0, then field 1
    assert ProtobufMessage(number_field(1, 5) + bytes_field(100, inside), "a backup").number(1) == 5


DAMAGED = {
    "ends in a number": b"\x08\xff",
    "ends in a text": b"\x12\x05ab",
    "a number of eleven bytes": b"\x08" + b"\xff" * 10 + b"\x01",
    "a kind that there is not": b"\x0b",
    "a length beyond all files": b"\x12" + b"\xff" * 9 + b"\x01",
}


@pytest.mark.parametrize("raw", DAMAGED.values(), ids=DAMAGED)
def test_damage_is_named(raw):
    with pytest.raises(NotAFeed, match=r"^The backup is damaged: .*\.$"):
        list(read_fields(raw))


@pytest.mark.parametrize("raw", [text_field(1, "x"), decimal_field(1, 1.0)], ids=["text", "decimal"])
def test_a_field_of_the_wrong_kind_is_named(raw):
    with pytest.raises(NotAFeed, match="field 1 of a series is"):
        ProtobufMessage(raw, "a series").number(1)


def test_text_that_is_none_is_named():
    with pytest.raises(NotAFeed, match="field 2 of a series is no UTF-8"):
        ProtobufMessage(bytes_field(2, b"\xff\xfe"), "a series").text(2)
