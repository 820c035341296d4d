"""A harvest out of a raw feed: identities, moments, safe markup, pages. Every reader's result goes through here."""

import re
from decimal import Decimal
from urllib.parse import urljoin

from tsuzuki.connectors.feed.dates import moment_of
from tsuzuki.connectors.feed.identity import keys_of, link_key, told_apart
from tsuzuki.connectors.feed.media import is_image, is_player, seconds_of
from tsuzuki.connectors.feed.pages import pages_of
from tsuzuki.connectors.feed.presets import number_of, shows_only_thumbnails
from tsuzuki.connectors.feed.raw import Media, RawFeed, RawItem, Text
from tsuzuki.connectors.feed.wishes import interval_of, skipped_days, skipped_hours
from tsuzuki.connectors.html.addresses import http_url
from tsuzuki.connectors.html.safe import SafeHtml, Sanitiser, one_line, plain_text, text_to_html
from tsuzuki.model.harvest import Enclosure, FeedHarvest, FoundItem
from tsuzuki.model.numbers import parse_number

MAX_TITLE = 1000
MAX_NAME = 300
MAX_SUMMARY = 5000
MAX_LIST = 100
_MARKUP = re.compile(r"[<&]")


def assemble(feed: RawFeed) -> FeedHarvest:
    """The harvest of a feed, entries in document order, each once."""
    site_url = http_url(feed.site_url, feed.url)
    links = [_link(item, feed.url) for item in feed.items]
    keys, own_keys = keys_of(feed.items, links)
    sanitiser = Sanitiser()
    has_pages = not shows_only_thumbnails(feed.url)
    found = [
        _found(feed, item, key=key, link=link, sanitiser=sanitiser, has_pages=has_pages)
        for item, key, link in zip(feed.items, keys, links, strict=True)
    ]
    items = told_apart(found, own_keys)
    return FeedHarvest(
        kind=feed.kind,
        title=words_of(feed.title, MAX_TITLE),
        items=tuple(items),
        site_url=site_url,
        description=words_of(feed.description or feed.spare_description, MAX_SUMMARY) or None,
        language=_name(feed.language).replace("_", "-") or None,
        icon_url=feed.icon or feed.logo or feed.image,
        author=_name(", ".join(feed.authors) or feed.owner) or None,
        ttl=interval_of(feed),
        skip_hours=skipped_hours(feed.skip_hours),
        skip_days=skipped_days(feed.skip_days),
        hub_url=feed.hub,
        self_url=feed.self_url,
        unstable_keys=any(item.other_keys for item in items),
    )


def _found(
    feed: RawFeed, item: RawItem, *, key: str, link: str | None, sanitiser: Sanitiser, has_pages: bool
) -> FoundItem:
    texts = [text for text in (item.content, item.summary, *item.spare_texts) if text is not None]
    content = _markup(texts[0], sanitiser, _base(texts[0], feed, link)) if texts else SafeHtml("")
    published = item.published or item.created or item.updated
    published_at, updated_at = moment_of(published), moment_of(item.updated)
    return FoundItem(
        key=key,
        title=words_of(item.title or item.spare_title, MAX_TITLE),
        link=link,
        link_key=link_key(link),
        content=content,
        summary=_summary(texts),
        author=(_name(", ".join(item.authors)) or None) if item.authors else None,
        published_at=published_at,
        published_raw=_name(published) or None,
        updated_at=updated_at if updated_at != published_at else None,
        categories=_categories(item),
        enclosures=_enclosures(item),
        image_url=_image(item),
        comments_url=http_url(item.comments, feed.url),
        page_urls=pages_of(content) if has_pages else (),
        number=_number(item.number) or number_of(link),
    )


def words_of(text: Text | None, limit: int) -> str:
    """A text as words on one line, whatever it was written in; empty for none."""
    if text is None:
        return ""
    value = text.value[: limit * 20]
    return (plain_text(value) if text.is_html else one_line(value))[:limit].strip()


def _name(text: str | None) -> str:
    return one_line(text)[:MAX_NAME].strip() if text else ""


def _link(item: RawItem, base: str) -> str | None:
    guid = item.guid if item.guid_is_link else None
    return http_url(item.link, base) or http_url(guid, base) or http_url(item.other_link, base)


def _markup(text: Text, sanitiser: Sanitiser, base: str) -> SafeHtml:
    if not text.is_html or not _MARKUP.search(text.value):
        return text_to_html(text.value)
    return sanitiser.sanitise(text.value, base)


def _base(text: Text, feed: RawFeed, link: str | None) -> str:
    """The document's xml:base; else what Atom says, the feed's address; RSS says nothing: the entry's page."""
    if text.base is not None:
        return text.base
    if feed.kind == "atom":
        return feed.url
    return link or urljoin(feed.url, feed.site_url or "")


def _summary(texts: list[Text]) -> str | None:
    """The short text beside a full one, as words; None when there is none or it says the same."""
    if len(texts) < 2:
        return None
    short = words_of(texts[1], MAX_SUMMARY)
    return short if short and texts[1].value != texts[0].value else None


def _categories(item: RawItem) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for word in item.categories[:MAX_LIST] if (name := _name(word))))


def _enclosures(item: RawItem) -> tuple[Enclosure, ...]:
    if not item.media:
        return ()
    duration = seconds_of(item.duration)
    found: dict[str, Enclosure] = {}
    for media in item.media[:MAX_LIST]:
        if not is_player(media) and media.url not in found:
            found[media.url] = _enclosure(media, duration)
    return tuple(found.values())


def _enclosure(media: Media, duration: int | None) -> Enclosure:
    return Enclosure(
        url=media.url,
        media_type=_name(media.media_type) or None,
        length=media.length,
        title=_name(media.title) or None,
        duration_seconds=media.duration_seconds or (None if is_image(media) else duration),
    )


def _image(item: RawItem) -> str | None:
    if not item.media and not item.thumbnails:
        return item.image or None
    pictures = (media.url for media in item.media if is_image(media))
    return next((url for url in (*item.thumbnails, item.image, *pictures) if url), None)


def _number(text: str | None) -> Decimal | None:
    number = parse_number(text)
    return number if number is not None and number < 10**6 else None
