"""Channels are vetted when they are saved, show no secret, and belong to one shelf."""

import re
from pathlib import Path

import msgspec
import pytest

from tests.builders import a_public_id
from tests.delivery.builders import a_reader
from tests.notifications.receivers import a_notifier, a_receiver
from tsuzuki.model.errors import Conflict, Invalid, NotFound
from tsuzuki.model.secrets import MASKED
from tsuzuki.net.guard import AddressGuard
from tsuzuki.notifications.channels import ChannelChange
from tsuzuki.notifications.kinds import KINDS
from tsuzuki.notifications.kinds.base import hidden, read_config, restored
from tsuzuki.notifications.kinds.ntfy import Ntfy
from tsuzuki.notifications.kinds.webhook import Webhook, sign

README = Path(__file__).parents[2] / "README.md"
DOCUMENT = README.parent / "docs" / "channels.md"
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
HOOK = "http://127.0.0.1:9/hooks/a-long-key"


def a_config(**over):
    return {"url": HOOK, "secret": SECRET} | over


# -- saving


async def test_a_new_webhook_shows_the_secret_that_we_made_once(db, notifier):
    shelf = await a_reader(db)
    added = await notifier.webhook(shelf, HOOK)
    assert added.made["secret"].startswith("whsec_")
    shown = await notifier.only_channel(shelf)
    assert shown == added.channel
    assert shown.config == {"url": f"http://127.0.0.1:9/{MASKED}", "secret": MASKED}


async def test_a_secret_that_the_owner_brings_is_not_shown_back(db, notifier):
    added = await notifier.webhook(await a_reader(db), HOOK, secret=SECRET)
    assert added.made == {}
    assert SECRET not in repr(added)


async def test_neither_topic_nor_token_of_ntfy_is_shown(db, notifier):
    shelf = await a_reader(db)
    await notifier.ntfy(shelf, "http://127.0.0.1:9", topic="my-secret-topic", token="tk_abc")
    shown = (await notifier.only_channel(shelf)).config
    assert shown == {"url": "http://127.0.0.1:9/", "topic": MASKED, "token": MASKED, "priority": 3}


@pytest.mark.parametrize(
    "url", ["http://169.254.169.254/", "http://10.0.0.1/", "ftp://example.org/", "nonsense", "http://me:pw@127.0.0.1/"]
)
async def test_an_address_that_the_guard_refuses_is_not_saved(db, notifier, url):
    shelf = await a_reader(db)
    with pytest.raises(Invalid) as refused:
        await notifier.webhook(shelf, url)
    assert refused.value.problems[0].field == "config.url"
    assert await notifier.channels.list(shelf) == []


async def test_loopback_is_refused_where_the_operator_did_not_open_it(db):
    async with a_notifier(db, guard=AddressGuard()) as notifier:
        with pytest.raises(Invalid):
            await notifier.webhook(await a_reader(db), HOOK)


@pytest.mark.parametrize(
    ("kind", "config", "field"),
    [
        ("webhook", {}, "config"),
        ("webhook", {"url": 5}, "config.url"),
        ("webhook", {"url": HOOK, "secret": "short"}, "config"),
        ("webhook", {"url": HOOK, "secret": "whsec_" + "A" * 8}, "config"),
        ("webhook", {"url": HOOK, "more": 1}, "config"),
        ("ntfy", {"topic": "with space"}, "config.topic"),
        ("ntfy", {"topic": "a", "token": "line\nbreak"}, "config.token"),
        ("ntfy", {"topic": "a", "priority": 6}, "config.priority"),
        ("pigeon", {}, "kind"),
    ],
)
async def test_a_wrong_config_is_named(db, notifier, kind, config, field):
    with pytest.raises(Invalid) as refused:
        await notifier.channels.add(await a_reader(db), kind, name="A", config=config)
    assert refused.value.problems[0].field == field


async def test_an_address_that_is_none_is_not_changed_to(db, notifier):
    shelf = await a_reader(db)
    added = await notifier.webhook(shelf, HOOK)
    with pytest.raises(Invalid):
        await notifier.channels.change(
            shelf, added.channel.id, ChannelChange(config={"url": "no address", "secret": SECRET})
        )


@pytest.mark.parametrize("name", ["", "   ", "x" * 101])
async def test_a_channel_needs_a_name(db, notifier, name):
    with pytest.raises(Invalid):
        await notifier.webhook(await a_reader(db), HOOK, name=name)


async def test_a_name_is_taken_once_on_a_shelf(db, notifier):
    shelf, other = await a_reader(db), await a_reader(db)
    await notifier.webhook(shelf, HOOK)
    with pytest.raises(Conflict):
        await notifier.webhook(shelf, HOOK)
    await notifier.webhook(other, HOOK)


# -- changing


async def test_a_masked_secret_sent_back_is_unchanged(db, notifier):
    shelf = await a_reader(db)
    async with a_receiver() as receiver:
        added = await notifier.webhook(shelf, f"{receiver.url}/key", secret=SECRET)
        change = ChannelChange(config=added.channel.config, name="Renamed")
        changed = await notifier.channels.change(shelf, added.channel.id, change)
        assert (changed.name, changed.config) == ("Renamed", added.channel.config)
        await notifier.channels.try_out(shelf, added.channel.id)
        async with notifier.open():
            await notifier.until_idle()
    [got] = receiver.got
    expected = sign(SECRET, got.id, got.headers["webhook-timestamp"], body=got.body)
    assert (got.path, got.headers["webhook-signature"]) == ("/key", f"v1,{expected}")
    assert got.document["type"] == "channel.test"


async def test_a_secret_does_not_follow_to_another_origin(db, notifier):
    shelf = await a_reader(db)
    added = await notifier.ntfy(shelf, "http://127.0.0.1:9", token="tk_abc")
    moved = added.channel.config | {"url": "http://127.0.0.2:9/"}
    with pytest.raises(Invalid) as refused:
        await notifier.channels.change(shelf, added.channel.id, ChannelChange(config=moved))
    assert refused.value.problems[0].field in {"config.token", "config.topic"}
    assert (await notifier.only_channel(shelf)).config == added.channel.config


async def test_nobody_touches_the_channels_of_another_shelf(db, notifier):
    owner, stranger = await a_reader(db), await a_reader(db)
    channel = (await notifier.webhook(owner, HOOK)).channel.id
    with pytest.raises(NotFound):
        await notifier.channels.change(stranger, channel, ChannelChange(name="Mine"))
    with pytest.raises(NotFound):
        await notifier.channels.remove(stranger, channel)
    with pytest.raises(NotFound):
        await notifier.channels.try_out(stranger, channel)
    assert await notifier.channels.list(stranger) == []
    await notifier.channels.remove(owner, channel)
    with pytest.raises(NotFound):
        await notifier.channels.remove(owner, channel)


async def test_what_is_not_there_is_not_found(db, notifier):
    with pytest.raises(NotFound):
        await notifier.channels.change(await a_reader(db), a_public_id(), ChannelChange(name="A"))


# -- the kinds


def test_the_signature_is_that_of_the_published_example():
    body = b'{"test": 2432232314}'
    signature = sign(SECRET, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", body=body)
    assert signature == "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_stored_kind_is_found_by_its_name():
    assert {"webhook", "ntfy"} <= KINDS.keys()
    assert all(name == kind.name for name, kind in KINDS.items())


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_the_document_of_channels_lists_each_kinds_config(kind):
    rows = re.findall(rf"^\| `{kind.name}` \|(.*)\|$", DOCUMENT.read_text("utf-8"), re.MULTILINE)
    assert len(rows) == 1, f"{DOCUMENT.name} has no row for {kind.name} in its table of kinds"
    assert [name for name in kind.config.__struct_fields__ if f"`{name}`" not in rows[0]] == [], DOCUMENT.name


def test_the_readme_names_every_kind_of_channel():
    [row] = re.findall(r"^\| where notices go \| ([^|]+) \|", README.read_text("utf-8"), re.MULTILINE)
    assert set(row.split(", ")) == set(KINDS), "README.md: where notices go"


def test_only_the_origin_of_an_address_is_shown():
    assert hidden(Webhook(), a_config())["url"] == f"http://127.0.0.1:9/{MASKED}"
    assert hidden(Webhook(), a_config(url="http://127.0.0.1:9/"))["url"] == "http://127.0.0.1:9/"


def test_an_unset_secret_is_shown_as_unset():
    assert hidden(Ntfy(), {"url": "https://ntfy.sh/", "topic": "a", "token": None})["token"] is None


def test_stars_with_nothing_behind_them_are_refused():
    stored = {"url": "https://ntfy.sh/", "topic": "a", "token": None}
    with pytest.raises(Invalid):
        restored(Ntfy(), stored | {"token": MASKED}, stored)


def test_new_values_replace_what_is_stored():
    wanted = {"url": "https://ntfy.example.org/", "topic": "b", "token": "tk_new", "priority": 5}
    assert restored(Ntfy(), wanted, {"url": "https://ntfy.sh/", "topic": "a", "token": "tk_old"}) == wanted


def test_the_default_ntfy_server_is_the_public_one():
    config = read_config(Ntfy(), {"topic": "a"})
    assert msgspec.structs.asdict(config) == {
        "url": "https://ntfy.sh/",
        "topic": "a",
        "token": None,
        "priority": 3,
    }
