"""Values go in and come back as what they are, on both engines."""

from typing import Any, Literal, NewType

import msgspec
import pytest

from tests.builders import stored_feed, stored_source
from tests.db.builders import a_query
from tsuzuki.db.errors import MisuseError
from tsuzuki.db.rows import bindable, json_batch, reader
from tsuzuki.db.vault import NO_KEY

LinkId = NewType("LinkId", int)
Strategy = Literal["ALWAYS_UPDATE", "ONLY_FETCH_ONCE"]


class Cover(msgspec.Struct, frozen=True):
    url: str
    width: int = 0


class Row(msgspec.Struct, frozen=True):
    id: LinkId
    is_nsfw: bool
    is_enabled: bool | None
    config: dict[str, Any]
    lang: Literal["all", "en"]
    last_failed_at: int | None


READ = a_query("select id, is_nsfw, is_enabled, config, lang, last_failed_at from source where id = :id")
READ_CONFIG = a_query("select config from source where id = :id")


async def test_booleans_json_new_types_and_literals_come_back_typed(db):
    source_id = await stored_source(db, config={"a": [1, "ü", None]}, is_nsfw=True)
    row = await db.read(lambda tx: tx.one(Row, READ, id=source_id))
    assert row == Row(LinkId(source_id), True, True, {"a": [1, "ü", None]}, "all", None)
    assert row.is_nsfw is True


async def test_a_single_column_comes_back_without_a_struct(db):
    source_id = await stored_source(db, config={"url": "x", "width": 3}, is_nsfw=True)

    async def work(tx):
        return (
            await tx.one(LinkId, a_query("select id from source")),
            await tx.one(bool, a_query("select is_nsfw from source")),
            await tx.one(int | None, a_query("select last_failed_at from source")),
            await tx.one(Cover, a_query("select 'x', 3")),
            await tx.one(dict[str, Any], READ_CONFIG, id=source_id),
        )

    found = await db.read(work)
    assert found == (source_id, True, None, Cover("x", 3), {"url": "x", "width": 3})
    assert found[1] is True


async def test_bytes_in_a_batch_arrive_as_bytes(db):
    feed_id = await stored_feed(db)

    class New(msgspec.Struct):
        key: str
        content_hash: bytes

    add = a_query("""
        insert into item (feed_id, key, title, sort_at, content_hash, created_at)
        select cast(:feed_id as bigint), value ->> 'key', '', 0, unhex(value ->> 'content_hash'), 0
        from json_each(cast(:rows as text))
        where true
        returning content_hash""")
    for row in (New("struct", b"\x00\xff"), {"key": "dict", "content_hash": b"\x01\xfe"}):
        stored = await db.with_tx(lambda tx, row=row: tx.bulk(bytes, add, [row], feed_id=feed_id))
        assert stored == [row["content_hash"] if isinstance(row, dict) else row.content_hash]


def test_only_what_needs_it_becomes_hex():
    assert json_batch([Cover("x"), [b"\x01", 2], b"\x02", 3]) == '[{"url":"x","width":0},["01",2],"02",3]'


@pytest.mark.parametrize(
    ("value", "bound"),
    [(Cover("x"), '{"url":"x","width":0}'), ([1, 2], "[1,2]"), ((), "[]"), ({"a": None}, '{"a":null}')],
)
def test_what_is_not_plain_is_bound_as_json(value, bound):
    assert bindable(value) == bound


def test_values_that_are_not_json_are_refused_by_type():
    with pytest.raises(MisuseError, match="cannot be a complex"):
        bindable(1j)


@pytest.mark.parametrize(
    ("kind", "raw", "value"),
    [
        (int, 5, 5),
        (bool, 1, True),
        (bool | None, None, None),
        (LinkId, 5, 5),
        (Strategy, "ALWAYS_UPDATE", "ALWAYS_UPDATE"),
        (Literal[1, 2], 1, 1),
        (bytes | None, b"x", b"x"),
        (tuple[int, ...], "[1,2]", (1, 2)),
        (list[str] | None, None, None),
        (Cover | None, '{"url":"u"}', Cover("u")),
    ],
)
def test_a_column_is_read_as_its_type(kind, raw, value):
    class One(msgspec.Struct):
        column: kind  # type: ignore[valid-type]  # the parameter is the point

    assert reader(One, NO_KEY)((raw,)).column == value


def test_json_that_is_not_of_its_type_is_refused():
    class One(msgspec.Struct):
        column: list[int]

    with pytest.raises(msgspec.ValidationError):
        reader(One, NO_KEY)(('["a"]',))
