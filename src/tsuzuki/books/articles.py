"""Articles of a shelf as EPUB files: one alone, or those that arrived on a day."""

from collections.abc import Callable, Sequence
from typing import Final
from uuid import NAMESPACE_URL, uuid5

import msgspec

from tsuzuki.books.archives import Archive
from tsuzuki.books.comic_info import ascii_name, names_on_devices
from tsuzuki.books.epub import Book, BookArticle, picture_path, write_epub
from tsuzuki.books.xhtml import to_xhtml
from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.images.articles import images_in
from tsuzuki.images.files import Image, at_address
from tsuzuki.images.service import Images
from tsuzuki.inbox.entries import Entry, EntryFilter
from tsuzuki.inbox.service import Inbox
from tsuzuki.model.documents import name_md5
from tsuzuki.model.errors import NotFound, SourceError, Unavailable
from tsuzuki.model.ids import ItemId, ShelfId
from tsuzuki.model.pages import PageCursor
from tsuzuki.model.requests import Parsers
from tsuzuki.model.times import DAY, Millis, iso
from tsuzuki.model.titles import title_of
from tsuzuki.polling.articles import Articles

q = load_queries("tsuzuki.books")

MOST_ARTICLES: Final = 100
"""Articles in a day's book; the newest are taken."""
MOST_PICTURES: Final = 60
MOST_BYTES: Final = 48 * 1024 * 1024
"""Bytes of a book's pictures together; further ones are left out."""
WIDEST: Final = 640
"""Pixels of a picture: no reader for books shows more."""
_PLAIN_TYPES = frozenset({"image/jpeg", "image/png", "image/gif"})
"""What every reader shows; anything else is made a JPEG."""


class ArticleFile(msgspec.Struct, frozen=True):
    """Articles as a file."""

    archive: Archive
    items: tuple[ItemId, ...]
    """In the order of the book."""
    names: frozenset[str]
    """What devices may call it."""


class KnownArticle(msgspec.Struct, frozen=True):
    """An article of a device's file, as it stands on the shelf now."""

    item_id: ItemId
    unread: bool
    read_at: Millis | None
    place: int
    """In the book, from 1."""


class ArticleFiles:
    """Writes articles as books."""

    def __init__(
        self,
        db: Database,
        inbox: Inbox,
        articles: Articles,
        images: Images,
        *,
        parsers: Parsers,
        clock: Callable[[], Millis],
    ) -> None:
        self._db = db
        self._inbox = inbox
        self._articles = articles
        self._images = images
        self._parsers = parsers
        self._clock = clock

    async def article(self, shelf_id: ShelfId, item_id: ItemId) -> ArticleFile:
        """An article of the shelf, with the whole text of its page where its reader wants that; NotFound."""
        item = await self._inbox.get_item(shelf_id, item_id)
        content = item.content or ""
        if item.wants_full_text:
            content = (await self._articles.full_text(item_id, item.link)).content or content
        title = _title(item)
        archive = await self._written(f"item {item_id}", title, [(item, content)])
        names = {archive.name, ascii_name(archive.name, article_name(item_id))}
        return ArticleFile(archive, (item_id,), frozenset(names | names_on_devices([title], item.author, ".epub")))

    async def remember(self, shelf_id: ShelfId, file: ArticleFile) -> None:
        """Remember the file by its partial MD5 and its names, so that this shelf finds what is in it.

        A name may have stood for other articles before: the last file of that name counts.
        """
        partial = await file.archive.partial_md5(self._images)
        digests = sorted({partial, *map(name_md5, file.names)})
        rows = [[item_id, place] for place, item_id in enumerate(file.items, 1)]

        async def remember(tx: Tx) -> None:
            for digest in digests:
                await tx.run(q.forget_article_book, shelf_id=shelf_id, digest=digest)
                await tx.run(q.add_article_book, shelf_id=shelf_id, digest=digest, rows=rows)

        await self._db.with_tx(remember)

    async def find(self, shelf_id: ShelfId, digest: str) -> Sequence[KnownArticle]:
        """The articles of the file that this shelf was given, and that has this MD5 or a name with it."""
        wanted = {"shelf_id": shelf_id, "digest": digest}
        return await self._db.read(lambda tx: tx.many(KnownArticle, q.articles_of_digest, **wanted))

    async def digest(
        self, shelf_id: ShelfId, since: Millis | None, until: Millis | None, *, unread: bool | None = None
    ) -> ArticleFile:
        """The articles that arrived from one moment up to another, the oldest first; NotFound when there are none.

        Up to now, and from a day before, where nothing else is said.
        """
        end = self._clock() if until is None else until
        start = Millis(max(0, end - DAY if since is None else since))
        wanted = EntryFilter(kind="item", unread=unread, since=start, detail="content")
        items: list[Entry] = []
        place: PageCursor | None = PageCursor(Millis(max(0, end)), 0)
        while place is not None and len(items) < MOST_ARTICLES:
            page = await self._inbox.list(shelf_id, wanted, after=place, most=MOST_ARTICLES - len(items))
            items += page.rows
            place = page.next_cursor
        if not items:
            raise NotFound("Nothing arrived in that time.")
        name, title = f"shelf {shelf_id} from {start} to {end}", f"Tsuzuki {iso(Millis(end - 1))[:10]}"
        items.reverse()
        archive = await self._written(name, title, [(item, item.content or "") for item in items])
        names = names_on_devices([day_title(iso(start)[:10])], None, ".epub") | {archive.name}
        return ArticleFile(archive, tuple(item.item_id for item in items if item.item_id is not None), frozenset(names))

    async def _written(self, name: str, title: str, items: Sequence[tuple[Entry, str]]) -> Archive:
        pictures = await self._pictures([content for _, content in items])
        paths = {address: picture_path(place, one) for place, (address, one) in enumerate(pictures.items(), 1)}
        articles = []
        for item, content in items:
            body = await self._parsers.run(to_xhtml, (content, paths))
            articles.append(BookArticle(title=_title(item), about=_about(item), link=item.link, body=body))
        feeds = {item.feed_name or "" for item, _ in items}
        # Another server's article of the same number is another book: readers know a book by this.
        name = " ".join(["tsuzuki", name, *(item.link or "" for item, _ in items)])
        book = Book(
            identifier=f"urn:uuid:{uuid5(NAMESPACE_URL, name)}",
            title=title,
            author=(feeds.pop() if len(feeds) == 1 else "") or "Tsuzuki",
            changed_at=max(item.updated_at or item.created_at for item, _ in items),
            articles=articles,
            pictures=list(pictures.values()),
        )
        return write_epub(book)

    async def _pictures(self, contents: list[str]) -> dict[str, Image]:
        """Those that can be had, within the limits; a picture that is missing spoils no book."""
        found: dict[str, Image] = {}
        size = 0
        for address in (await self._parsers.run(images_in, (contents,)))[:MOST_PICTURES]:
            try:
                picture = await self._picture(address)
            except (SourceError, NotFound, Unavailable):
                continue
            if size + picture.bytes <= MOST_BYTES:
                found[address] = picture
                size += picture.bytes
        return found

    async def _picture(self, address: str) -> Image:
        subject = at_address(address)
        picture = await self._images.ensure(subject, address=address)
        if picture.media_type not in _PLAIN_TYPES or picture.width > WIDEST:
            picture = await self._images.jpeg(subject, WIDEST, address=address)
        return await self._images.with_crc32(picture)


def day_title(day: str) -> str:
    """What the book of a day is called in catalogues."""
    return f"Articles of {day}"


def article_name(item_id: ItemId | None) -> str:
    """What an article is called where its title has no letter of ASCII."""
    return f"article {item_id}"


def _title(item: Entry) -> str:
    return title_of(item.title, item.content or "") or iso(item.published_at or item.sort_at)[:10]


def _about(item: Entry) -> str:
    day = iso(item.published_at or item.sort_at)[:10]
    return ", ".join(part for part in (item.feed_name, item.author, day) if part)
