"""R109: what apps show loads without a cookie, for as long as the device password is valid."""

import re

from tests.delivery.builders import follow
from tests.images.builders import Gallery, a_gallery, a_picture, stored_picture
from tests.protocols.people import AppReader, an_app_reader
from tsuzuki.db.queries import parse_queries
from tsuzuki.delivery.fanout import deliver_chapters_tx
from tsuzuki.model.ids import SeriesId
from tsuzuki.shelves.groups import default_group_tx

q = parse_queries(
    "tests",
    """
-- name: series_of
select series_id from chapter where id = :id;
""",
)
_IMAGE = re.compile(r'<img src="([^"]+)"')


async def follow_gallery(gallery: Gallery, reader: AppReader) -> None:
    """Its chapter comes onto the reader's shelf."""
    db = gallery.db
    series = await db.read(lambda tx: tx.one(SeriesId, q.series_of, id=gallery.chapter_id))
    group = await db.read(lambda tx: default_group_tx(tx, reader.shelf))
    await follow(db, reader.shelf, series, group_id=group.id)
    now = gallery.app.time()
    await db.with_tx(lambda tx: deliver_chapters_tx(tx, series, [gallery.chapter_id], is_first_harvest=False, now=now))


async def images_of(reader: AppReader) -> list[str]:
    """The paths of the pictures in the only item."""
    [item] = (await reader.fever("api&items&since_id=0"))["items"]
    base = reader.app.client.base
    found = _IMAGE.findall(item["html"])
    assert all(address.startswith(f"{base}/") for address in found)
    return [address.removeprefix(base) for address in found]


async def test_a_chapters_pages_load_without_a_cookie(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url, pages=3) as gallery:
        ann = await an_app_reader(gallery.app, "fever")
        await follow_gallery(gallery, ann)
        pictures = [a_picture(color=color) for color in ("red", "green", "blue")]
        for position, picture in enumerate(pictures):
            gallery.show(position, picture)
        paths = await images_of(ann)
        shown = [await gallery.app.client.get(path) for path in paths]
        assert [(answer.status, answer.body) for answer in shown] == [(200, picture) for picture in pictures]
        assert shown[0].headers["cross-origin-resource-policy"] == "cross-origin"
        assert paths == await images_of(ann)  # apps keep them


async def test_addresses_end_with_the_password_and_cannot_be_made_up(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url, pages=1) as gallery:
        ann, other = [await an_app_reader(gallery.app, "fever") for _ in range(2)]
        await follow_gallery(gallery, ann)
        gallery.show(0, a_picture())
        [path] = await images_of(ann)
        _, _, password, signature, kind, what = path.split("/")
        theirs = str(other.issued.token.public_id.hex())
        made_up = [
            f"/pictures/{password}/{signature}/{kind}/{what}0",
            f"/pictures/{password}/{signature}/cover/{what}",
            f"/pictures/{password}/x{signature}/{kind}/{what}",
            f"/pictures/{theirs}/{signature}/{kind}/{what}",
            f"/pictures/x/{signature}/{kind}/{what}",
        ]
        assert [(await gallery.app.client.get(each)).status for each in made_up] == [404] * 5
        assert (await gallery.app.client.get(path)).status == 200
        caller = await gallery.app.accounts.devices.sign_in(ann.request, ann.user.username, ann.key)
        await gallery.app.accounts.tokens.revoke(caller.caller, ann.issued.token.public_id)
        assert (await gallery.app.client.get(path)).status == 404


async def test_an_articles_pictures_are_proxied_where_wanted(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url) as gallery:
        ann = await an_app_reader(gallery.app, "fever")
        address = "https://example.org/on-paper.png"
        picture = await stored_picture(gallery.app, address)
        feed = await ann.add_feed("The Gull Letters")
        await ann.release(feed, 1, content=f'<p>Wind <img src="{address}" alt="a pier"></p>')
        [item] = (await ann.fever("api&items&since_id=0"))["items"]
        assert f'src="{address}"' in item["html"]
        shelf = await gallery.app.accounts.current_user.shelf_of(ann.user)
        await gallery.app.accounts.current_user.proxy_images(shelf, wanted=True)
        [path] = await images_of(ann)
        answer = await gallery.app.client.get(path)
        assert (answer.status, answer.body) == (200, picture)
