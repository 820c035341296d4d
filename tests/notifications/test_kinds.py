"""What each service is sent, as its document demands: a server on loopback takes it."""

from typing import Any

import msgspec
import pytest

from tests.builders import NOON
from tests.delivery.builders import a_reader
from tests.notifications.receivers import Notifier, Received, Receiver
from tsuzuki.db import Database
from tsuzuki.model.errors import Invalid
from tsuzuki.notifications.kinds import KINDS
from tsuzuki.notifications.kinds.base import cut, read_config
from tsuzuki.notifications.tasks import Message, Send

BOT = "123456:ABC-DEF1234ghIkl-zyx57W2v1u123ew11"
KEY = "a" * 30
CONFIGS: dict[str, dict[str, Any]] = {
    "gotify": {"token": "A1b2"},
    "telegram": {"token": BOT, "chat": "-1001"},
    "discord": {},
    "slack": {},
    "matrix": {"token": "syt_x", "room": "!abc:example.org"},
    "pushover": {"token": KEY, "user": "u" * 30},
}
"""Without their addresses."""


async def tell(notifier: Notifier, receiver: Receiver, shelf: Any, kind: str, path: str = "/") -> Received:
    """A test message by this kind, as the service gets it."""
    config = {"url": receiver.url + path, **CONFIGS[kind]}
    added = await notifier.channels.add(shelf, kind, name=kind, config=config)
    async with notifier.open():
        await notifier.channels.try_out(shelf, added.channel.id)
        await notifier.until_quiet()
    [got] = receiver.got
    return got


def composed(kind: str, **said: Any) -> Any:
    """The document of a message that says this."""
    fields: dict[str, Any] = {"type": "item.new", "title": "A blog", "text": "Something", "at": NOON}
    send = Send(channel_id=1, delivery_id="msg_1", message=Message(**(fields | said)))
    config = read_config(KINDS[kind], {"url": "https://example.org/", **CONFIGS[kind]})
    return KINDS[kind].compose(config, send, now=NOON)


def document(kind: str, **said: Any) -> Any:
    return msgspec.json.decode(composed(kind, **said).body)


async def test_gotify_gets_a_message_of_its_application(db: Database, notifier: Notifier, receiver: Receiver) -> None:
    got = await tell(notifier, receiver, await a_reader(db), "gotify", "/below/")
    assert (got.path, got.headers["x-gotify-key"]) == ("/below/message", "A1b2")
    assert got.document == {"title": "Tsuzuki", "message": "This channel works.", "priority": 5}


async def test_telegram_gets_a_message_of_the_bot(db: Database, notifier: Notifier, receiver: Receiver) -> None:
    got = await tell(notifier, receiver, await a_reader(db), "telegram")
    assert got.path == f"/bot{BOT}/sendMessage"
    assert got.document == {
        "chat_id": "-1001",
        "text": "Tsuzuki\nThis channel works.",
        "disable_notification": False,
    }


async def test_discord_gets_an_embed(db: Database, notifier: Notifier, receiver: Receiver) -> None:
    got = await tell(notifier, receiver, await a_reader(db), "discord", "/api/webhooks/1/key")
    assert got.path == "/api/webhooks/1/key"
    [embed] = got.document["embeds"]
    assert (embed["title"], embed["description"]) == ("Tsuzuki", "This channel works.")
    assert embed["timestamp"].endswith("Z")


async def test_slack_gets_a_text(db: Database, notifier: Notifier, receiver: Receiver) -> None:
    got = await tell(notifier, receiver, await a_reader(db), "slack", "/services/T/B/key")
    assert got.path == "/services/T/B/key"
    assert got.document == {"text": "Tsuzuki\nThis channel works.", "unfurl_links": False}


async def test_matrix_gets_a_notice_under_the_id_of_the_delivery(
    db: Database, notifier: Notifier, receiver: Receiver
) -> None:
    """Sent again after a failure it has the same id, so the room is told once."""
    receiver.answers = [502]
    shelf = await a_reader(db)
    config = {"url": receiver.url, **CONFIGS["matrix"]}
    added = await notifier.channels.add(shelf, "matrix", name="Room", config=config)
    async with notifier.open():
        await notifier.channels.try_out(shelf, added.channel.id)
        notifier.later(10)
        await notifier.until_quiet()
        notifier.later(10_000)
        await notifier.until_idle()
    first, second = receiver.got
    assert first.path == second.path
    assert first.path.startswith("/_matrix/client/v3/rooms/!abc:example.org/send/m.room.message/msg_")
    assert first.headers["authorization"] == "Bearer syt_x"
    assert first.document == {"msgtype": "m.notice", "body": "Tsuzuki\nThis channel works.", "m.mentions": {}}


async def test_pushover_gets_a_message_for_the_user(db: Database, notifier: Notifier, receiver: Receiver) -> None:
    got = await tell(notifier, receiver, await a_reader(db), "pushover")
    assert got.path == "/1/messages.json"
    assert got.document == {
        "token": KEY,
        "user": "u" * 30,
        "title": "Tsuzuki",
        "message": "This channel works.",
        "priority": 0,
        "timestamp": NOON // 1000,
    }


@pytest.mark.parametrize("kind", CONFIGS)
async def test_no_secret_of_a_service_appears_in_errors(
    db: Database, notifier: Notifier, receiver: Receiver, kind: str
) -> None:
    receiver.always = 403
    shelf = await a_reader(db)
    config = {"url": f"{receiver.url}/path-key", **CONFIGS[kind]}
    added = await notifier.channels.add(shelf, kind, name=kind, config=config)
    async with notifier.open():
        await notifier.channels.try_out(shelf, added.channel.id)
        await notifier.until_quiet()
    shown = await notifier.only_channel(shelf)
    assert shown.last_error is not None
    said = f"{shown.last_error} {shown.config} {await notifier.tasks.letters()}"
    secrets = {"path-key", *(CONFIGS[kind][name] for name in CONFIGS[kind].keys() & {"token", "user"})}
    assert "403" in shown.last_error
    assert [secret for secret in secrets if secret in said] == []


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("gotify", {"token": "two words"}),
        ("telegram", {"token": "no-number:abcdefghijk"}),
        ("telegram", {"token": f"{BOT}/getUpdates?"}),
        ("telegram", {"chat": "somebody"}),
        ("matrix", {"room": "#alias:example.org"}),
        ("pushover", {"user": "short"}),
        ("pushover", {"priority": 2}),
    ],
)
def test_what_a_service_would_refuse_is_refused_by_the_form(kind: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as refused:
        read_config(KINDS[kind], {"url": "https://example.org/", **CONFIGS[kind], **wrong})
    assert refused.value.problems[0].field == f"config.{next(iter(wrong))}"


def test_nobody_is_mentioned_by_what_a_source_wrote() -> None:
    loud = {"title": "@everyone <!channel>", "text": "<@U1> @room & more", "url": "https://example.org/a|b>c"}
    assert document("discord", **loud)["allowed_mentions"] == {"parse": []}
    assert document("slack", **loud)["text"] == (
        "<https://example.org/a%7Cb&gt;c|@everyone &lt;!channel&gt;>\n&lt;@U1&gt; @room &amp; more"
    )
    assert document("matrix", **loud)["m.mentions"] == {}
    assert "parse_mode" not in document("telegram", **loud)


def test_what_is_too_long_for_a_service_is_cut() -> None:
    long = {"title": "t" * 5000, "text": "x" * 70_000, "url": "https://example.org/" + "p" * 1000}
    telegram = document("telegram", **long)["text"]
    assert len(telegram) == 4096
    assert telegram.endswith(f"…\n{long['url']}")
    [embed] = document("discord", **long)["embeds"]
    assert (len(embed["title"]), len(embed["description"])) == (256, 4096)
    pushover = document("pushover", **long)
    assert (len(pushover["title"]), len(pushover["message"]), "url" in pushover) == (250, 1024, False)
    assert len(composed("matrix", **long).body) < 65_536
    assert (cut("four", 4), cut("fives", 4)) == ("four", "fiv…")


def test_a_tap_opens_our_page_or_else_the_source() -> None:
    both = {"url": "https://example.org/1", "page": "https://mine.example/1"}
    assert document("gotify", **both)["extras"]["client::notification"]["click"]["url"] == both["page"]
    assert document("discord", url=both["url"])["embeds"][0]["url"] == both["url"]
    assert document("telegram", **both)["text"].endswith(both["page"])
    assert document("pushover", **both)["url"] == both["page"]
