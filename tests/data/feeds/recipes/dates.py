"""Dates as the world writes them, one file each (REL-30)."""

from tests.data.feeds.recipes.shapes import atom, entry, item, rss

RSS_DATES = {
    "rfc822": "Fri, 01 Mar 2024 10:20:30 GMT",
    "rfc822-offset": "Fri, 01 Mar 2024 10:20:30 +0900",
    "rfc822-offset-colon": "Fri, 01 Mar 2024 10:20:30 -05:30",
    "rfc822-no-weekday": "01 Mar 2024 10:20:30 GMT",
    "rfc822-no-seconds": "Fri, 01 Mar 2024 10:20 GMT",
    "rfc822-two-digit-year": "Fri, 01 Mar 24 10:20:30 GMT",
    "rfc822-pst": "Fri, 01 Mar 2024 10:20:30 PST",
    "rfc822-edt": "Mon, 01 Jul 2024 10:20:30 EDT",
    "rfc822-no-zone": "Fri, 01 Mar 2024 10:20:30",
    "rfc822-single-digits": "Fri, 1 Mar 2024 9:05:07 GMT",
    "rfc822-wrong-weekday": "Mon, 01 Mar 2024 10:20:30 GMT",
    "rfc822-full-month": "Friday, 01 March 2024 10:20:30 GMT",
    "rfc822-day-only": "Fri, 01 Mar 2024",
    "rfc850": "Friday, 01-Mar-24 10:20:30 GMT",
    "asctime": "Fri Mar  1 10:20:30 2024",
    "iso": "2024-03-01T10:20:30Z",
    "iso-space": "2024-03-01 10:20:30",
    "iso-day": "2024-03-01",
    "future": "Sat, 01 Mar 2036 10:20:30 GMT",
    "epoch": "Thu, 01 Jan 1970 00:00:00 +0000",
    "year-zero": "Mon, 01 Jan 0000 00:00:00 +0000",
    "31-february": "Tue, 31 Feb 2024 10:20:30 GMT",
    "nonsense": "the day before yesterday",
    "german": "Fr, 01 Mär 2024 10:20:30 +0100",
    "american": "March 1, 2024 10:20 AM EST",
    "chinese": "2024年3月1日",
    "unix": "1709288430",
    "hour-24": "Fri, 01 Mar 2024 24:00:00 GMT",
    "leap-second": "Sat, 31 Dec 2016 23:59:60 GMT",
    "empty": "",
}
ATOM_DATES = {
    "utc": "2024-03-01T10:20:30Z",
    "offset": "2024-03-01T10:20:30+09:00",
    "fraction": "2024-03-01T10:20:30.5Z",
    "no-zone": "2024-03-01T10:20:30",
    "no-seconds": "2024-03-01T10:20Z",
    "compact": "20240301T102030Z",
    "month": "2024-03",
    "rfc822": "Fri, 01 Mar 2024 10:20:30 GMT",
    "lower-case": "2024-03-01t10:20:30z",
}


def recipes() -> dict[str, bytes]:
    files = {f"date-{name}": rss(item(f"<pubDate>{date}</pubDate>")) for name, date in RSS_DATES.items()}
    files |= {f"date-atom-{name}": atom(entry(f"<published>{date}</published>")) for name, date in ATOM_DATES.items()}
    files["date-dc"] = rss(item("<dc:date>2024-03-01T10:20:30+02:00</dc:date>"), use=("dc",))
    files["date-both"] = rss(
        item("<pubDate>Fri, 01 Mar 2024 10:20:30 GMT</pubDate><atom:updated>2024-03-05T00:00:00Z</atom:updated>"),
        use=("atom",),
    )
    files["date-dcterms"] = rss(
        item("<dcterms:issued>2024-03-01</dcterms:issued><dcterms:modified>2024-03-04</dcterms:modified>"),
        use=("dcterms",),
    )
    files["date-twice"] = rss(
        item("<pubDate>Fri, 01 Mar 2024 10:20:30 GMT</pubDate><pubDate>Sat, 02 Mar 2024 10:20:30 GMT</pubDate>")
    )
    return {f"{name}.xml": body for name, body in files.items()}
