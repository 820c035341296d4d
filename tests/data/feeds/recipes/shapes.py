"""The plain outlines of the formats, to be filled with whatever a case is about."""

NAMESPACES = {
    "atom": "http://www.w3.org/2005/Atom",
    "content": "http://purl.org/rss/1.0/modules/content/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "feedburner": "http://rssnamespace.org/feedburner/ext/1.0",
    "itunes": "http://www.itunes.com/dtds/podcast-1.0.dtd",
    "media": "http://search.yahoo.com/mrss/",
    "podcast": "https://podcastindex.org/namespace/1.0",
    "slash": "http://purl.org/rss/1.0/modules/slash/",
    "sy": "http://purl.org/rss/1.0/modules/syndication/",
    "wfw": "http://wellformedweb.org/CommentAPI/",
    "yt": "http://www.youtube.com/xml/schemas/2015",
}
XML = '<?xml version="1.0" encoding="UTF-8"?>\n'


def spaces(*prefixes: str) -> str:
    return "".join(f' xmlns:{prefix}="{NAMESPACES[prefix]}"' for prefix in prefixes)


def item(inside: str = "", *, number: int = 1) -> str:
    """An RSS item with a title, a link and a guid, and what the case adds."""
    return (
        f"<item><title>Part {number}</title><link>https://comic.example/part/{number}</link>"
        f'<guid isPermaLink="false">part-{number}</guid>{inside}</item>'
    )


def rss(*items: str, channel: str = "", use: tuple[str, ...] = (), version: str = "2.0") -> bytes:
    head = (
        "<title>The Lamplighter</title><link>https://comic.example/</link><description>A comic in parts</description>"
    )
    return (
        f'{XML}<rss version="{version}"{spaces(*use)}>\n<channel>{head}{channel}\n' + "\n".join(items)
        + "\n</channel>\n</rss>\n"
    ).encode()  # fmt: skip


def entry(inside: str = "", *, number: int = 1) -> str:
    """An Atom entry with a title, a link, an id and a date, and what the case adds."""
    return (
        f'<entry><title>Part {number}</title><link href="https://comic.example/part/{number}"/>'
        f"<id>tag:comic.example,2024:{number}</id><updated>2024-03-0{number}T10:00:00Z</updated>{inside}</entry>"
    )


def atom(*entries: str, feed: str = "", use: tuple[str, ...] = (), attributes: str = "") -> bytes:
    head = '<title>The Lamplighter</title><link href="https://comic.example/"/><id>tag:comic.example,2024:feed</id>'
    return (
        f'{XML}<feed xmlns="http://www.w3.org/2005/Atom"{spaces(*use)}{attributes}>\n{head}{feed}\n'
        + "\n".join(entries) + "\n</feed>\n"
    ).encode()  # fmt: skip


def atom03(*entries: str, feed: str = "") -> bytes:
    head = '<title>The Lamplighter</title><link rel="alternate" type="text/html" href="https://comic.example/"/>'
    return (
        f'{XML}<feed version="0.3" xmlns="http://purl.org/atom/ns#">\n{head}{feed}\n'
        + "\n".join(entries)
        + "\n</feed>\n"
    ).encode()


def entry03(inside: str) -> str:
    return (
        '<entry><title>Part 1</title><link rel="alternate" type="text/html" href="https://comic.example/part/1"/>'
        f"<id>tag:comic.example,2004:1</id>{inside}</entry>"
    )


def rdf(*items: str, channel: str = "", use: tuple[str, ...] = ()) -> bytes:
    head = "<title>The Lamplighter</title><link>https://comic.example/</link><description>A comic</description>"
    return (
        f'{XML}<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"'
        f'{spaces(*use)}>\n<channel rdf:about="https://comic.example/">{head}{channel}</channel>\n'
        + "\n".join(items) + "\n</rdf:RDF>\n"
    ).encode()  # fmt: skip


def rdf_item(inside: str = "", *, number: int = 1) -> str:
    return (
        f'<item rdf:about="https://comic.example/part/{number}"><title>Part {number}</title>'
        f"<link>https://comic.example/part/{number}</link>{inside}</item>"
    )
