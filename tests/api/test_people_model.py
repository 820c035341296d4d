"""I8, R91: two tenants, one of them a household, do whatever they can think of to their own and each other's shelves.

A plain model knows who has what. Each act is answered as the model says, and after each act every person sees at every
shelf, through the API, exactly what the model says.
"""

import random
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.api.people import RunningApp, Visitor, a_running_app
from tests.app import in_settings
from tests.delivery.builders import publish
from tests.scale import scaled
from tsuzuki.accounts.sharing import shelf_user
from tsuzuki.accounts.types import SYSTEM
from tsuzuki.model.ids import PublicId, read_id

ACTS = (25, 1_000)
ROLES = ("owner", "editor", "reader")
LINKS = [f"http://93.184.216.34/{number}" for number in range(5)]
"""Few: shelves of both tenants follow the same feeds."""
MOST_PEOPLE, MOST_SHELVES = 7, 14


@dataclass
class Person:
    tenant: str
    visitor: Visitor
    public_id: Any


@dataclass
class Shelf:
    tenant: str
    name: str
    roles: dict[str, str]
    """By the names of its people."""
    feeds: dict[str, set[str]] = field(default_factory=dict)
    """The unread items of each."""
    bookmarks: set[str] = field(default_factory=set)


class PeopleModel:
    """The model beside the server."""

    def __init__(self, app: RunningApp, rng: random.Random) -> None:
        self.app = app
        self.rng = rng
        self.people: dict[str, Person] = {}
        self.shelves: dict[str, Shelf] = {}
        self.log: list[str] = []
        self.published = 0

    # -- what the model knows

    def of(self, name: str) -> dict[str, str]:
        """The shelves of this person with their roles."""
        return {key: shelf.roles[name] for key, shelf in self.shelves.items() if name in shelf.roles}

    def answer(self, name: str, key: str, *, writes: bool) -> int:
        """What this person is answered at this shelf; 0 is being let in."""
        role = self.shelves[key].roles.get(name)
        return 404 if role is None else 403 if writes and role == "reader" else 0

    def owners(self, key: str) -> set[str]:
        return {name for name, role in self.shelves[key].roles.items() if role == "owner"}

    def pick(self) -> tuple[str, str]:
        """Anybody and any shelf, more often one that they have."""
        name = self.rng.choice(list(self.people))
        keys = list(self.of(name)) if self.rng.random() < 0.7 else list(self.shelves)
        return name, self.rng.choice(keys)

    async def ask(self, name: str, method: str, path: str, body: Any = None) -> int:
        status = (await self.people[name].visitor.ask(method, path, body)).status
        self.log.append(f"{name} {method} {path} {body} -> {status}")
        return status if status >= 400 else 0

    # -- acts

    async def follow(self) -> None:
        name, key = self.pick()
        link = self.rng.choice(LINKS)
        known = self.shelves[key].feeds
        expected = self.answer(name, key, writes=True) or (409 if link in known else 0)
        assert await self.ask(name, "POST", f"/feeds?shelf={key}", {"link": link}) == expected
        if expected == 0:
            listed = (await self.people[name].visitor.get(f"/items?shelf={key}&limit=100")).json()["data"]
            mine = {one["guid"] for one in listed if one["guid"].startswith(f"{link} ") and one["unread"]}
            known[link] = mine  # what was there already, of which some may come along

    async def publish(self) -> None:
        """Something new comes to everybody who follows it, whoever they are."""
        link = self.rng.choice(LINKS)
        shelves = [shelf for shelf in self.shelves.values() if link in shelf.feeds]
        if not shelves:
            return
        self.published += 1
        guid = f"{link} {self.published}"
        key = next(key for key, shelf in self.shelves.items() if link in shelf.feeds)
        member = next(iter(self.shelves[key].roles))
        listed = (await self.people[member].visitor.get(f"/feeds?shelf={key}")).json()["data"]
        user = await self.app.accounts.users.find(member)
        shelf = await self.app.accounts.sharing.shelf(shelf_user(user), _id(key))
        public_id = _id(next(one["id"] for one in listed if one["link"] == link))
        feed = await self.app.reading.subscriptions.get(shelf.id, public_id)
        await publish(self.app.db, feed.feed_id, [guid])
        self.log.append(f"published {guid}")
        for one in shelves:
            one.feeds[link].add(guid)

    async def mark_all(self) -> None:
        name, key = self.pick()
        expected = self.answer(name, key, writes=True)
        assert await self.ask(name, "PATCH", f"/items/-/read?shelf={key}", {"all": True}) == expected
        if expected == 0:
            for unread in self.shelves[key].feeds.values():
                unread.clear()

    async def bookmark(self) -> None:
        name, key = self.pick()
        title = secrets.token_hex(4)
        expected = self.answer(name, key, writes=True)
        body = {"link": f"https://example.org/{title}", "title": title}
        assert await self.ask(name, "POST", f"/bookmarks?shelf={key}", body) == expected
        if expected == 0:
            self.shelves[key].bookmarks.add(title)

    async def share(self) -> None:
        name, key = self.pick()
        other, role = self.rng.choice(list(self.people)), self.rng.choice(ROLES)
        expected = self.owned(name, key)
        if expected == 0 and self.people[other].tenant != self.shelves[key].tenant:
            expected = 404
        elif expected == 0 and role != "owner" and self.owners(key) == {other}:
            expected = 409
        assert await self.ask(name, "PUT", f"/me/shelves/{key}/people/{other}", {"role": role}) == expected
        if expected == 0:
            self.shelves[key].roles[other] = role

    def owned(self, name: str, key: str) -> int:
        role = self.shelves[key].roles.get(name)
        return 404 if role is None else 0 if role == "owner" else 403

    async def unshare(self) -> None:
        """Or leave, where it is oneself."""
        name, key = self.pick()
        other = self.rng.choice([name, *self.shelves[key].roles])
        has = name in self.shelves[key].roles
        expected = 404 if not has else 0 if other == name else self.owned(name, key)
        if expected == 0 and self.owners(key) == {other}:
            expected = 409
        assert await self.ask(name, "DELETE", f"/me/shelves/{key}/people/{other}") == expected
        if expected == 0:
            del self.shelves[key].roles[other]
            await self.see_to(other)

    async def rename(self) -> None:
        name, key = self.pick()
        expected, text = self.owned(name, key), secrets.token_hex(4)
        assert await self.ask(name, "PATCH", f"/me/shelves/{key}", {"name": text}) == expected
        if expected == 0:
            self.shelves[key].name = text

    async def make(self) -> None:
        name = self.rng.choice(list(self.people))
        if len(self.shelves) >= MOST_SHELVES:
            return
        answer = await self.people[name].visitor.post("/me/shelves", {"name": secrets.token_hex(4)})
        assert answer.status == 201
        made = answer.json()["data"]
        self.log.append(f"{name} makes {made['id']}")
        self.shelves[made["id"]] = Shelf(self.people[name].tenant, made["name"], {name: "owner"})

    async def delete(self) -> None:
        name, key = self.pick()
        expected = self.owned(name, key)
        if expected == 0 and len(self.of(name)) == 1:
            expected = 409
        assert await self.ask(name, "DELETE", f"/me/shelves/{key}") == expected
        if expected == 0:
            await self.forget(key)

    async def choose(self) -> None:
        name, key = self.pick()
        expected = self.answer(name, key, writes=False)
        assert await self.ask(name, "PATCH", "/me", {"default_shelf_id": key}) == expected

    async def come(self) -> None:
        """Somebody new has a shelf of their own at once."""
        if len(self.people) >= MOST_PEOPLE:
            return
        tenant = self.rng.choice(["household", "other"])
        name = f"person{secrets.token_hex(4)}"
        public_id = None if tenant == "household" else self.app.other_tenant
        user = await self.app.add(username=name, tenant_id=public_id)
        self.people[name] = Person(tenant, await self.app.signed_in(user), user.public_id)
        self.log.append(f"{name} comes to {tenant}")
        await self.see_to(name)

    async def go(self) -> None:
        """With the shelves that nobody else owns."""
        if len(self.people) < 4:
            return
        name = self.rng.choice(list(self.people))
        sole = [key for key in self.of(name) if self.owners(key) == {name}]
        await self.app.accounts.users.delete(SYSTEM, self.people.pop(name).public_id)
        self.log.append(f"{name} goes")
        for shelf in self.shelves.values():
            shelf.roles.pop(name, None)
        for key in sole:
            await self.forget(key)

    async def forget(self, key: str) -> None:
        for name in self.shelves.pop(key).roles:
            await self.see_to(name)

    async def see_to(self, name: str) -> None:
        """Nobody is ever without a shelf of their own: the server has made one, and it is empty."""
        if self.of(name):
            return
        [made] = (await self.people[name].visitor.get("/me")).json()["data"]["shelves"]
        assert made["id"] not in self.shelves
        self.shelves[made["id"]] = Shelf(self.people[name].tenant, made["name"], {name: made["role"]})
        assert made["role"] == "owner"

    # -- what everybody sees

    async def look(self) -> None:
        for name, person in self.people.items():
            mine = {one["id"]: one for one in (await person.visitor.get("/me")).json()["data"]["shelves"]}
            assert {key: one["role"] for key, one in mine.items()} == self.of(name)
            for key, shelf in self.shelves.items():
                await self.look_at(name, person.visitor, key, shelf)

    async def look_at(self, name: str, visitor: Visitor, key: str, shelf: Shelf) -> None:
        feeds = await visitor.get(f"/feeds?shelf={key}")
        if name not in shelf.roles:
            assert feeds.status == 404
            return
        assert {one["link"] for one in feeds.json()["data"]} == set(shelf.feeds)
        assert (await visitor.get(f"/shelf?shelf={key}")).json()["data"]["name"] == shelf.name
        marks = (await visitor.get(f"/bookmarks?shelf={key}&limit=100")).json()["data"]
        assert {one["title"] for one in marks} == shelf.bookmarks
        unread = (await visitor.get(f"/counts?shelf={key}")).json()["data"]["unread"]
        assert unread == sum(len(items) for items in shelf.feeds.values())


def _id(text: str) -> PublicId:
    found = read_id(text)
    assert found is not None
    return found


@pytest.mark.soak
@pytest.mark.timeout(1800)
async def test_everybody_sees_what_the_model_says(database_url, tmp_path):
    """1,000 acts in the soak, 25 ordinarily, on each engine."""
    seed = secrets.randbits(32)
    rng = random.Random(seed)
    async with a_running_app(tmp_path, database_url=in_settings(database_url)) as app:
        model = PeopleModel(app, rng)
        for _ in range(4):
            await model.come()
        acts: dict[Callable[[], Awaitable[None]], int] = {
            model.follow: 4,
            model.publish: 3,
            model.mark_all: 3,
            model.bookmark: 2,
            model.share: 6,
            model.unshare: 4,
            model.rename: 1,
            model.make: 2,
            model.delete: 2,
            model.choose: 2,
            model.come: 1,
            model.go: 1,
        }
        try:
            for _ in range(scaled(*ACTS)):
                [act] = rng.choices(list(acts), list(acts.values()))
                await act()
                await model.look()
        except AssertionError as error:
            error.add_note("\n".join([f"seed {seed}", *model.log[-20:]]))
            raise
