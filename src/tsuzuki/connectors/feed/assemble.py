"""A harvest out of a raw feed: identities, moments, safe markup, pages. Every reader's result goes through here."""

import re
from collections.abc import Sequence
from decimal import Decimal
from itertools import compress

from tsuzuki.connectors.feed.channels import interval_of, skipped_days, skipped_hours
from tsuzuki.connectors.feed.dates import moment_of
from tsuzuki.connectors.feed.digests import digests_of, join, split
from tsuzuki.connectors.feed.identity import ItemKey, disambiguated, keys_of, link_key
from tsuzuki.connectors.feed.items import is_image, is_player, seconds_of
from tsuzuki.connectors.feed.presets import number_of, shows_only_thumbnails
from tsuzuki.connectors.feed.raw import MAX_LIST, MAX_LISTED, RawFeed, RawItem, RawText
from tsuzuki.connectors.html.addresses import http_url
from tsuzuki.connectors.html.sanitiser import SafeHtml, Sanitiser, one_line, plain_text, text_to_html
from tsuzuki.model.harvest import Enclosure, FeedHarvest, FoundItem
from tsuzuki.model.numbers import parse_number
from tsuzuki.model.times import Millis
from tsuzuki.model.titles import unescaped

WORDS_PER_IMAGE = 140
"""Characters of text that one image carries before the entry counts as an article."""
MAX_WORDS = 1000
_SMALL = 100
_DECORATION = re.compile(
    r"[/_.-](?:emojis?|avatars?|gravatar|smileys?|smilies|icons?|buttons?|badges?|share|logo)(?:[/_.\d-]|\Z)",
    re.IGNORECASE,
)
# The sanitiser writes one form of markup only, lower case and every value in double quotes: patterns can read it.
_ARTICLE = re.compile(r"<(?:video|audio|table|pre|h2|h3)[ >]")
_TAG = re.compile(r'<[^"<>]*+(?:"[^"]*+"[^"<>]*+)*+>')
_IMAGE = re.compile(r'<img((?: [a-z]+="[^"]*")*)>')
_ATTRIBUTE = re.compile(r' ([a-z]+)="([^"]*)"')


def pages_of(content: SafeHtml) -> tuple[str, ...]:
    """The addresses of an entry's pages, in order; none for an article that has pictures."""
    if "<img" not in content or _ARTICLE.search(content):
        return ()
    images = dict.fromkeys(source for image in _IMAGE.findall(content) if (source := _page(image)))
    most = min(WORDS_PER_IMAGE * len(images), MAX_WORDS)
    if not images or (len(content) > 6 * most and _length(content[: 6 * most]) > most) or _length(content) > most:
        return ()  # a long article shows in its beginning what it is, and need not be measured whole
    return tuple(images)


def _length(html: str) -> int:
    """How much there is to read."""
    return len(" ".join(unescaped(_TAG.sub(" ", html)).split()))


def _page(image: str) -> str | None:
    """The address of an image large enough to be a page."""
    attributes = dict(_ATTRIBUTE.findall(image))
    source = unescaped(attributes.get("src", ""))
    if not source or _DECORATION.search(source.partition("://")[2]):
        return None
    sizes = (attributes.get("width", ""), attributes.get("height", ""))
    return None if any(size.isdecimal() and int(size) < _SMALL for size in sizes) else source


MAX_TITLE = 1000
MAX_NAME = 300
MAX_SUMMARY = 5000
MAX_PAGES = 4096
_SPARES = ("dc:description", "itunes:summary", "itunes:subtitle")
"""What stands in for a text of the entry's own, or beside it as its short form; the best first."""
_MARKUP = re.compile(r"[<&]")


def assemble(feed: RawFeed, known: bytes = b"") -> FeedHarvest:
    """The harvest of a feed, entries in document order, each once, without those whose digests are known."""
    links = [_link(item, feed.url) for item in feed.items]
    keys = keys_of(feed.items, links)
    sanitiser = Sanitiser()
    limits = _limits(feed)
    digests = digests_of(feed, keys, links, limits)
    is_wanted = _wanted(feed, links, digests=digests, known=known)
    found = [
        _found(feed, item, key=key, link=link, sanitiser=sanitiser, limits=limits)
        for item, key, link in compress(zip(feed.items, keys, links, strict=True), is_wanted)
    ]
    items = disambiguated(found, [key.own for key in compress(keys, is_wanted)])
    spares = (feed.spare_descriptions[name] for name in _SPARES if name in feed.spare_descriptions)
    return FeedHarvest(
        kind=feed.kind,
        title=words_of(feed.title, MAX_TITLE),
        items=tuple(items),
        site_url=http_url(feed.site_url, feed.url),
        description=words_of(feed.description or next(spares, None), MAX_SUMMARY) or None,
        language=_name(feed.language).replace("_", "-") or None,
        icon_url=feed.icon or feed.logo or feed.image,
        author=_names(feed.authors) or _name(feed.owner) or None,
        ttl=interval_of(feed),
        skip_hours=skipped_hours(feed.skip_hours),
        skip_days=skipped_days(feed.skip_days),
        hub_url=feed.hub,
        self_url=feed.self_url,
        unstable_keys=any(item.other_keys for item in items),
        digests=join(digests),
        left_out=tuple(key.key for key, wanted in zip(keys, is_wanted, strict=True) if not wanted) if items else (),
    )


def _limits(feed: RawFeed) -> tuple[int, int]:
    """How long the lists of an entry may be, and how many pages it may have. One entry more seldom changes them."""
    most = MAX_LISTED // max(len(feed.items), 1)
    most_pages = 0 if shows_only_thumbnails(feed.url) else 1 << (min(most, MAX_PAGES).bit_length() - 1)
    return min(most, MAX_LIST), most_pages


def _wanted(feed: RawFeed, links: Sequence[str | None], *, digests: Sequence[bytes], known: bytes) -> list[bool]:
    """Whether each entry is new, or shares its page with one that is: what it is stored as depends on both (REL-27)."""
    if not digests or not known:
        return [True] * len(feed.items)
    there = split(known)
    is_new = [digest not in there for digest in digests]
    if not any(is_new):
        return is_new
    pages = [link_key(item.original_link or link) for item, link in zip(feed.items, links, strict=True)]
    new_pages = set(compress(pages, is_new)) - {None}
    return [new or page in new_pages for new, page in zip(is_new, pages, strict=True)]


def _found(
    feed: RawFeed, item: RawItem, *, key: ItemKey, link: str | None, sanitiser: Sanitiser, limits: tuple[int, int]
) -> FoundItem:
    most, most_pages = limits
    texts = _texts(item)
    content = _markup(texts[0], sanitiser, _base(texts[0], feed, link), link or "") if texts else SafeHtml("")
    # Where there is something that it is the title of, and not a song that somebody listened to.
    spare_title = item.spare_title if item.media or item.thumbnails else None
    published_at, published = _published(item)
    updated_at = moment_of(item.updated)
    return FoundItem(
        key=key.key,
        other_keys=key.former,
        title=words_of(item.title or spare_title, MAX_TITLE),
        link=item.original_link or link,
        link_key=link_key(item.original_link or link),
        content=content,
        summary=_summary(texts),
        author=_names(_authors(feed, item)) or None,
        published_at=published_at,
        published_raw=_name(published) or None,
        updated_at=updated_at if updated_at != published_at else None,
        categories=_categories(item, most),
        enclosures=_enclosures(item, most),
        image_url=_image(item),
        comments_url=http_url(item.comments, feed.url),
        page_urls=pages_of(content)[:most_pages] if most_pages else (),
        number=_number(item.number) or number_of(link),
    )


def words_of(text: RawText | None, limit: int) -> str:
    """A text as words on one line, whatever it was written in; empty for none."""
    if text is None:
        return ""
    value = text.value[: limit * 20]
    return (plain_text(value) if text.is_html else one_line(value))[:limit].strip()


def _texts(item: RawItem) -> list[RawText]:
    """What the entry says, the whole text first. What is said of its pictures is no short form of it."""
    own = [item.content, item.summary, *(item.spare_texts.get(name) for name in _SPARES)]
    texts = [text for text in own if text is not None]
    return texts or list(item.spare_texts.values())


def _published(item: RawItem) -> tuple[Millis | None, str | None]:
    """The moment, and the text that named it; a text that names none does not hide one that does."""
    said = [raw for raw in (item.published, item.created, item.updated) if raw]
    for raw in said:
        if (moment := moment_of(raw)) is not None:
            return moment, raw
    return None, said[0] if said else None


def _authors(feed: RawFeed, item: RawItem) -> list[str]:
    """RFC 4287 4.2.1, and JSON Feed 1.1: an entry without authors has those of its source, else of its feed."""
    inherited = feed.authors if feed.kind in {"atom", "json"} else []
    return item.authors or item.source_authors or inherited


def _names(authors: list[str]) -> str:
    return _name(", ".join(dict.fromkeys(authors)))


def _name(text: str | None) -> str:
    return one_line(text)[:MAX_NAME].strip() if text else ""


def _link(item: RawItem, base: str) -> str | None:
    guid = item.guid if item.guid_is_link else None
    return http_url(item.link, base) or http_url(guid, base) or http_url(item.other_link, base)


def _markup(text: RawText, sanitiser: Sanitiser, base: str, page: str) -> SafeHtml:
    if not text.is_html or not _MARKUP.search(text.value):
        return text_to_html(text.value)
    return sanitiser.sanitise(text.value, base, page)


def _base(text: RawText, feed: RawFeed, link: str | None) -> str:
    """The document's xml:base; else what Atom says, the feed's address; RSS says nothing: the entry's page."""
    if text.base is not None:
        return text.base
    if feed.kind == "atom":
        return feed.url
    return link or http_url(feed.site_url, feed.url) or feed.url


def _summary(texts: list[RawText]) -> str | None:
    """The short text beside a full one, as words; None when there is none or it says the same."""
    if len(texts) < 2:
        return None
    short = words_of(texts[1], MAX_SUMMARY)
    return short if short and texts[1].value != texts[0].value else None


def _categories(item: RawItem, most: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for word in item.categories[:most] if (name := _name(word))))


def _enclosures(item: RawItem, most: int) -> tuple[Enclosure, ...]:
    if not item.media:
        return ()
    duration = seconds_of(item.duration)
    found: dict[str, Enclosure] = {}
    for media in item.media[:most]:
        if not is_player(media) and media.url not in found:
            found[media.url] = Enclosure(
                url=media.url,
                media_type=_name(media.media_type) or None,
                length=media.length,
                title=_name(media.title) or None,
                duration_seconds=media.duration_seconds or (None if is_image(media) else duration),
            )
    return tuple(found.values())


def _image(item: RawItem) -> str | None:
    if not item.media and not item.thumbnails:
        return item.image or None
    pictures = (media.url for media in item.media if is_image(media))
    return next((url for url in (*item.thumbnails, item.image, *pictures) if url), None)


def _number(text: str | None) -> Decimal | None:
    number = parse_number(text)
    return number if number is not None and number < 10**6 else None
