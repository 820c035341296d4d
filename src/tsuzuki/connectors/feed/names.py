"""Elements by short names, whatever prefix a publisher chose: `title`, `dc:creator`, `media:thumbnail`."""

_PREFIXES = {
    "": "",
    "http://backend.userland.com/rss": "",
    "http://backend.userland.com/rss2": "",
    "http://blogs.law.harvard.edu/tech/rss": "",
    "http://channel.netscape.com/rdf/simple/0.9/": "",
    "http://my.netscape.com/rdf/simple/0.9/": "",
    "http://purl.org/atom/ns#": "",
    "http://purl.org/rss/1.0/": "",
    "http://www.w3.org/2005/atom": "",
    "http://purl.oclc.org/net/rss_2.0/enc#": "enc:",
    "http://purl.org/dc/elements/1.0/": "dc:",
    "http://purl.org/dc/elements/1.1/": "dc:",
    "http://purl.org/dc/terms/": "dcterms:",
    "http://purl.org/rss/1.0/modules/content/": "content:",
    "http://purl.org/rss/1.0/modules/slash/": "slash:",
    "http://purl.org/rss/1.0/modules/syndication/": "sy:",
    "http://rssnamespace.org/feedburner/ext/1.0": "feedburner:",
    "http://search.yahoo.com/mrss": "media:",
    "http://search.yahoo.com/mrss/": "media:",
    "http://www.itunes.com/dtds/podcast-1.0.dtd": "itunes:",
    "http://www.rssboard.org/media-rss": "media:",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf:",
    "http://www.w3.org/1999/xhtml": "xhtml:",
    "http://www.youtube.com/xml/schemas/2015": "yt:",
    "https://podcastindex.org/namespace/1.0": "podcast:",
    "https://github.com/podcastindex-org/podcast-namespace/blob/main/docs/1.0.md": "podcast:",
}
XML_BASE = "{http://www.w3.org/XML/1998/namespace}base"
XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
RDF_RESOURCE = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}resource"
RDF_ABOUT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"


_ATOM = "{http://www.w3.org/2005/Atom}"
_OFTEN = """
author category channel comments content description entry feed generator guid id item language lastBuildDate link name
pubDate published rss subtitle summary title ttl updated uri
"""
_USUAL = {f"{namespace}{name}": name.lower() for namespace in ("", _ATOM) for name in _OFTEN.split()}


class Names(dict[str, str]):
    """`{namespace}Local` -> our short name in lower case; what we do not know is `?:local`. One per document.

    `own` is the namespace that the document's own elements have, whatever it is.
    """

    def __init__(self, own: str = "") -> None:
        super().__init__(_USUAL)
        self._own = own

    def __missing__(self, tag: str) -> str:
        namespace, _, local = tag.rpartition("}")
        namespace = namespace.removeprefix("{")
        prefix = "" if namespace == self._own else _PREFIXES.get(namespace.lower(), "?:")
        # A prefix that was not declared is a part of the name, and most often means what it says.
        self[tag] = name = prefix + local.lower().removeprefix("atom:")
        return name


def is_of_atom(tag: str) -> bool:
    """Whether an element is Atom's, told from its tag as it came."""
    return "atom" in tag.lower()
