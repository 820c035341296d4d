"""R30, REL-30: a date names a moment or none; it never fails."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.connectors.feed.builders import item_of
from tests.scale import examples
from tsuzuki.connectors.feed.dates import moment_of
from tsuzuki.model.times import from_iso, iso


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37Z"),
        ("Sunday, 06-Nov-94 08:49:37 GMT", "1994-11-06T08:49:37Z"),
        ("Sun Nov  6 08:49:37 1994", "1994-11-06T08:49:37Z"),
        ("Sun Nov 6 08:49:37 PST 1994", "1994-11-06T16:49:37Z"),
        ("06 Nov 1994 08:49", "1994-11-06T08:49:00Z"),
        ("Sun, 6 Nov 94 8:49:37 UT", "1994-11-06T08:49:37Z"),
        ("Sun, 06 Nov 1994 08:49:37 -0800", "1994-11-06T16:49:37Z"),
        ("Sun, 06 Nov 1994 08:49:37 +05:30", "1994-11-06T03:19:37Z"),
        ("Sun, 06 Nov 1994 08:49:37 GMT+0200", "1994-11-06T06:49:37Z"),
        ("Sun, 06 Nov 1994 08:49:37 PST", "1994-11-06T16:49:37Z"),
        ("Fri, 01 Jul 1994 08:49:37 EDT", "1994-07-01T12:49:37Z"),
        ("Fri, 01 Jul 1994 08:49:37 CEST", "1994-07-01T06:49:37Z"),
        ("Fri, 01 Jul 1994 08:49:37 JST", "1994-06-30T23:49:37Z"),
        ("Fri, 01 Jul 1994 08:49:37 XYZ", "1994-07-01T08:49:37Z"),
        ("Fri, 01 Jul 1994 08:49:37", "1994-07-01T08:49:37Z"),
        ("Fri, 01 Jul 49 00:00:00 GMT", "2049-07-01T00:00:00Z"),
        ("Fri, 01 Jul 50 00:00:00 GMT", "1950-07-01T00:00:00Z"),
        ("Friday, July 1, 1994", "1994-07-01T00:00:00Z"),
        ("July 1, 1994 8:05 PM EST", "1994-07-02T01:05:00Z"),
        ("July 1st, 1994 12:05 a.m.", "1994-07-01T00:05:00Z"),
        ("1 juillet 1994 08:49", "1994-07-01T08:49:00Z"),
        ("Fr, 01 Mär 2024 10:20:30 +0100", "2024-03-01T09:20:30Z"),
        ("2024年3月1日 10:20", "2024-03-01T10:20:00Z"),
        ("2024-03-01T10:20:30Z", "2024-03-01T10:20:30Z"),
        ("2024-03-01T10:20:30.125Z", "2024-03-01T10:20:30.125Z"),
        ("2024-03-01T10:20:30.123456789+02:00", "2024-03-01T08:20:30.123Z"),
        ("2024-03-01t10:20:30z", "2024-03-01T10:20:30Z"),
        ("2024-03-01 10:20:30 -0500", "2024-03-01T15:20:30Z"),
        ("2024/03/01 10:20", "2024-03-01T10:20:00Z"),
        ("20240301T102030Z", "2024-03-01T10:20:30Z"),
        ("20240301", "2024-03-01T00:00:00Z"),
        ("2024-03", "2024-03-01T00:00:00Z"),
        ("2024", "2024-01-01T00:00:00Z"),
        ("2024-03-01T24:00:00Z", "2024-03-02T00:00:00Z"),
        ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59Z"),
        ("Thu, 01 Jan 1970 00:00:00 +0000", "1970-01-01T00:00:00Z"),
        ("Sat, 01 Mar 2036 10:20:30 GMT", "2036-03-01T10:20:30Z"),
        ("1709288430", "2024-03-01T10:20:30Z"),
        ("1709288430125", "2024-03-01T10:20:30.125Z"),
        ("Fri, 01 Jul 1994 08:49:37 America/Los_Angeles", "1994-07-01T15:49:37Z"),
        ("Thu, 01 Dec 1994 08:49:37 America/Los_Angeles", "1994-12-01T16:49:37Z"),
        ("1994-07-01 08:49:37 Europe/Berlin", "1994-07-01T06:49:37Z"),
        ("1994-07-01T08:49:37[Asia/Tokyo]", "1994-06-30T23:49:37Z"),
        ("Fri, 01 Jul 1994 08:49:37 Middle/Earth", "1994-07-01T08:49:37Z"),
        ("Fri, 01 Jul 1994 08:49:37 america/los_angeles", "1994-07-01T15:49:37Z"),
        ("1994-12-01 08:49:37 US/PACIFIC", "1994-12-01T16:49:37Z"),
        ("1994-07-01 08:49 Etc/GMT+5", "1994-07-01T13:49:00Z"),
        ("Fri, 01 Jul 1994 08:49:37 (etc/gmt-14)", "1994-06-30T18:49:37Z"),
        ("Fri, 01 Jul 1994 08:49:37 EST5EDT", "1994-07-01T12:49:37Z"),
        ("Thu, 01 Dec 1994 08:49:37 EST5EDT", "1994-12-01T13:49:37Z"),
        ("Fri, 01 Jul 1994 08:49:37 EST/EDT", "1994-07-01T13:49:37Z"),
        ("Fri, 01 Jul 1994 08:49:37 Etc/GMT+99", "1994-07-01T08:49:37Z"),
        ("Fri, 01 Jul 1994 08:49:37 MEST", "1994-07-01T06:49:37Z"),
        ("Sun Jul 15 01:16:00 +0000 2012", "2012-07-15T01:16:00Z"),
        ("Sun Jul 15 01:16:00 -0700 2012", "2012-07-15T08:16:00Z"),
        ("Sun Jul 15 01:16:00 +02:00 2012", "2012-07-14T23:16:00Z"),
        ("Sun Jul 15 01:16:00 GMT+0200 2012", "2012-07-14T23:16:00Z"),
        ("Sun Jul 15 01:16:00 America/Los_Angeles 2012", "2012-07-15T08:16:00Z"),
        ("Sun Jul 15 01:16:00 Etc/GMT+5 2012", "2012-07-15T06:16:00Z"),
        ("Sun Jul 15 01:16:00 PM PST 2012", "2012-07-15T21:16:00Z"),
        ("2012-07-15 1:16 pm PST", "2012-07-15T21:16:00Z"),
        ("2012/07/15 12:16:30 A.M.", "2012-07-15T00:16:30Z"),
        ("2012-07-15 4:20 p. m.", "2012-07-15T16:20:00Z"),
        ("July 15, 2012 4:20 p. m. EST", "2012-07-15T21:20:00Z"),
        ("2012-07-15 01:16:00 AMT", "2012-07-15T01:16:00Z"),
        ("Thu , 09 Feb 2006 10:11:12 GMT", "2006-02-09T10:11:12Z"),
        ("22.11.2022 12:16:00", "2022-11-22T12:16:00Z"),
        ("22.11.2022", "2022-11-22T00:00:00Z"),
        ("22.11.2022T12:16:00", "2022-11-22T12:16:00Z"),
        ("22.11.2022T12:16:00+01:00", "2022-11-22T11:16:00Z"),
        ("22.11.22", "2022-11-22T00:00:00Z"),
        ("22.11.96 12:16", "1996-11-22T12:16:00Z"),
        ("09/15/14", "2014-09-15T00:00:00Z"),
        ("09/15/14 4:20 pm PST", "2014-09-16T00:20:00Z"),
        ("1-2-2022 07:00", "2022-02-01T07:00:00Z"),
        ("Fri, 2006/09/15", "2006-09-15T00:00:00Z"),
        ("Fri, 2006-09-15 10:20:30 +0200", "2006-09-15T08:20:30Z"),
        ("09/15/2014 4:20 pm PST", "2014-09-16T00:20:00Z"),
        ("15/09/2014 16:20", "2014-09-15T16:20:00Z"),
        ("  Sun, 06 Nov 1994\n 08:49:37 GMT ", "1994-11-06T08:49:37Z"),
        ("Mon, 01 Jan 0001 00:00:00 +0100", "0001-01-02T00:00:00Z"),
        ("0001-01-01T00:00:00+14:00", "0001-01-02T00:00:00Z"),
        ("Fri, 31 Dec 9999 23:59:59 -2359", "9999-12-30T23:59:59.999Z"),
    ],
)
def test_a_date_names_its_moment(raw: str, expected: str):
    moment = moment_of(raw)
    assert moment is not None
    assert moment == from_iso(expected)


@pytest.mark.parametrize(
    "raw",
    ["", None, "   ", "yesterday", "Tue, 31 Feb 2024 10:00:00 GMT", "0000-00-00T00:00:00Z", "0000-01-01", "2024-13-01",
     "Mon, 01 Jan 0000 00:00:00 +0000", "2024-03-01T25:00:00Z", "Mon, 45 Foo 2024 10:00:00 GMT", "2024-045",
     "2024-W09-5", "99/99/9999", "22.11.202", "12.30.45", "2024-03-01T10:20:30+99:99", "9" * 5000,
     "1 Jan 2024 99:99:99", "1 Jan 2024 10:20:75"],
)  # fmt: skip
def test_what_names_no_moment_is_none(raw: str | None):
    assert moment_of(raw) is None


@given(
    st.text(max_size=60) | st.from_regex(r"[A-Z][a-z]{2}, \d{1,3} [A-Z][a-z]{2} \d{1,5} \d\d:\d\d:\d\d [A-Z+0-9-]{1,6}")
)
@examples(2000)
def test_any_text_is_answered(raw: str):
    moment = moment_of(raw)
    assert moment is None or isinstance(iso(moment), str)


def test_the_raw_text_is_kept_where_there_is_no_moment():
    item = item_of("<title>x</title><pubDate>Tue, 31 Feb 2024 10:00:00 GMT</pubDate>")
    assert (item.published_at, item.published_raw) == (None, "Tue, 31 Feb 2024 10:00:00 GMT")


def test_an_item_without_a_date_has_none():
    """REL-31: ingest keeps the time it was first seen."""
    item = item_of("<title>x</title>")
    assert (item.published_at, item.published_raw, item.updated_at) == (None, None, None)


def test_an_update_is_told_apart_from_the_publication():
    item = item_of("<pubDate>Fri, 01 Mar 2024 00:00:00 GMT</pubDate><dc:date>2024-03-05</dc:date>", use=("dc",))
    assert item.published_at is not None
    assert item.updated_at is not None
    assert item.published_at == from_iso("2024-03-01T00:00:00Z")
    assert item.updated_at == from_iso("2024-03-05T00:00:00Z")
