"""Web Push: what a push service gets, what a browser reads of it, and what becomes of a browser that is gone."""

import hashlib
import hmac
import secrets
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from joserfc import jwt
from joserfc.jwk import ECKey

from tests.builders import NOON
from tests.delivery.builders import a_reader
from tests.net.builders import a_web_app
from tests.net.test_client import tls_client, tls_server
from tests.notifications.receivers import Notifier, Receiver, a_notifier
from tsuzuki.db import Database
from tsuzuki.model.errors import Invalid
from tsuzuki.model.ids import ShelfId
from tsuzuki.model.times import DAY
from tsuzuki.net.guard import AddressGuard
from tsuzuki.notifications.channels import Browser, ShownChannel
from tsuzuki.notifications.kinds import KINDS
from tsuzuki.notifications.kinds.base import read_config
from tsuzuki.notifications.push_encryption import (
    LONGEST,
    PushKeys,
    base64url,
    encrypted,
    from_base64url,
    private_key,
    public_key,
    sealed_record,
    vapid,
)
from tsuzuki.notifications.tasks import Message, Send

# The example of RFC 8291, section 5.
PLAIN = b"When I grow up, I want to be a watermelon"
AS_PRIVATE = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
UA_PUBLIC = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
AUTH = "BTBZMqHH6r4Tts7J_aSIgg"
SALT = "DGv6ra1nlYgDCS1FRnbzlw"
BODY = (
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl"
    "7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
)


class FakeBrowser:
    """Its keys, and what it makes of what a push service hands to it: written after the RFC, apart from ours."""

    def __init__(self) -> None:
        self._private = ec.generate_private_key(ec.SECP256R1())
        self.auth = secrets.token_bytes(16)

    @property
    def public(self) -> bytes:
        return self._private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)

    @property
    def keys(self) -> PushKeys:
        return PushKeys(self.public, self.auth)

    def read(self, body: bytes) -> bytes:
        salt, size, length = body[:16], int.from_bytes(body[16:20]), body[20]
        assert len(body) <= size == 4096
        sender = body[21 : 21 + length]
        shared = self._private.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender))
        material = expand(extract(self.auth, shared), b"WebPush: info\0" + self.public + sender, 32)
        key = extract(salt, material)
        cipher = AESGCM(expand(key, b"Content-Encoding: aes128gcm\0", 16))
        padded = cipher.decrypt(expand(key, b"Content-Encoding: nonce\0", 12), body[21 + length :], None)
        message, mark, _ = padded.rstrip(b"\0").rpartition(b"\x02")
        assert mark
        return message


def extract(salt: bytes, secret: bytes) -> bytes:
    return hmac.digest(salt, secret, hashlib.sha256)


def expand(key: bytes, info: bytes, size: int) -> bytes:
    return hmac.digest(key, info + b"\x01", hashlib.sha256)[:size]


def claims_of(authorization: str) -> dict[str, Any]:
    """What a push service reads of it, once the signature is that of the key beside it."""
    scheme, _, rest = authorization.partition(" ")
    parts = dict(part.split("=", 1) for part in rest.split(", "))
    point = from_base64url(parts["k"])
    key: dict[str, str | list[str]] = {
        "kty": "EC",
        "crv": "P-256",
        "x": base64url(point[1:33]),
        "y": base64url(point[33:]),
    }
    assert scheme == "vapid"
    return jwt.decode(parts["t"], ECKey.import_key(key), algorithms=["ES256"]).claims


def test_the_example_of_the_rfc_is_encrypted_exactly() -> None:
    keys = PushKeys(from_base64url(UA_PUBLIC), from_base64url(AUTH))
    body = sealed_record(PLAIN + b"\x02", keys, from_base64url(AS_PRIVATE), from_base64url(SALT))
    assert base64url(body) == BODY


@pytest.mark.parametrize("size", [0, 1, 511, 512, 513, LONGEST])
def test_a_browser_reads_what_we_encrypt(size: int) -> None:
    browser, message = FakeBrowser(), secrets.token_bytes(size)
    body = encrypted(message, browser.keys, b"seed" + bytes([size % 256]))
    assert browser.read(body) == message
    assert len(body) <= 4096


def test_lengths_of_messages_are_told_by_few_lengths_of_bodies() -> None:
    keys = FakeBrowser().keys
    assert {len(encrypted(b"x" * size, keys, b"seed")) for size in range(0, 513, 64)} == {16 + 4 + 1 + 65 + 513 + 16}


def test_each_message_has_its_own_key_and_salt() -> None:
    keys = FakeBrowser().keys
    one, other = encrypted(b"x", keys, b"1"), encrypted(b"x", keys, b"2")
    assert one[:16] != other[:16]
    assert one[21:86] != other[21:86]


def test_our_vapid_claim_names_the_origin_and_expires_soon() -> None:
    private = private_key(b"a seed")
    said = vapid("https://push.example:8443/x/y", private, "https://tsuzuki.example", NOON)
    assert claims_of(said) == {
        "aud": "https://push.example:8443",
        "exp": NOON // 1000 + 12 * 3600,
        "sub": "https://tsuzuki.example",
    }
    assert said.endswith(f"k={base64url(public_key(private))}")


# -- with a push service


@asynccontextmanager
async def a_push_service() -> AsyncIterator[Receiver]:
    """By https, as browsers have no other."""
    receiver = Receiver()
    async with a_web_app(web.route("*", "/{path:.*}", receiver.take), tls=tls_server()) as url:
        receiver.url = f"https://secure.example:{urlsplit(url).port}"
        yield receiver


@asynccontextmanager
async def a_push_notifier(db: Database) -> AsyncIterator[Notifier]:
    context: ssl.SSLContext = tls_client()
    async with a_notifier(db, names={"secure.example": ["127.0.0.1"]}, tls=context) as notifier:
        yield notifier


def described(browser: FakeBrowser, url: str, **over: Any) -> Browser:
    fields: dict[str, Any] = {
        "name": "Firefox",
        "url": url,
        "p256dh": base64url(browser.public),
        "auth": base64url(browser.auth),
        "contact": "https://tsuzuki.example",
    }
    return Browser(**(fields | over))


async def tried(notifier: Notifier, shelf: ShelfId, channel: ShownChannel) -> None:
    async with notifier.open():
        await notifier.channels.try_out(shelf, channel.id)
        await notifier.until_quiet()


async def test_a_browser_is_told_by_its_push_service(db: Database) -> None:
    browser = FakeBrowser()
    async with a_push_service() as service, a_push_notifier(db) as notifier:
        shelf = await a_reader(db)
        channel = await notifier.channels.add_browser(shelf, None, described(browser, f"{service.url}/to/me"))
        await tried(notifier, shelf, channel)
        [got] = service.got
        known = await notifier.channels.push_key()
    assert got.path == "/to/me"
    assert (got.headers["content-encoding"], got.headers["ttl"]) == ("aes128gcm", str(DAY // 1000))
    assert 0 < len(got.headers["topic"]) <= 32
    assert claims_of(got.headers["authorization"])["aud"] == service.url
    assert got.headers["authorization"].endswith(f"k={known}")
    said = msgspec.json.decode(browser.read(got.body))
    assert (said["title"], said["body"], said["path"]) == ("Tsuzuki", "This channel works.", "/")


@pytest.mark.parametrize("status", [404, 410])
async def test_r112_a_browser_that_is_gone_is_removed(db: Database, status: int) -> None:
    async with a_push_service() as service, a_push_notifier(db) as notifier:
        service.always = status
        shelf = await a_reader(db)
        channel = await notifier.channels.add_browser(shelf, None, described(FakeBrowser(), f"{service.url}/x"))
        await tried(notifier, shelf, channel)
        assert await notifier.channels.list(shelf) == []
        assert await notifier.tasks.letters() == []
    assert len(service.got) == 1


@pytest.mark.parametrize("status", [400, 403, 413, 500])
async def test_a_browser_stays_while_its_push_service_only_fails(db: Database, status: int) -> None:
    async with a_push_service() as service, a_push_notifier(db) as notifier:
        service.always = status
        shelf = await a_reader(db)
        channel = await notifier.channels.add_browser(shelf, None, described(FakeBrowser(), f"{service.url}/x"))
        await tried(notifier, shelf, channel)
        assert (await notifier.only_channel(shelf)).last_error is not None


async def test_a_browser_that_comes_again_is_the_same_channel(db: Database) -> None:
    browser = FakeBrowser()
    async with a_push_service() as service, a_push_notifier(db) as notifier:
        shelf = await a_reader(db)
        first = await notifier.channels.add_browser(shelf, None, described(browser, f"{service.url}/me"))
        other = await notifier.channels.add_browser(shelf, None, described(FakeBrowser(), f"{service.url}/you"))
        again = await notifier.channels.add_browser(shelf, None, described(browser, f"{service.url}/me", titles=True))
    assert (first.id, first.name, other.name) == (again.id, "Firefox", "Firefox 2")
    assert (first.config["titles"], again.config["titles"]) == (False, True)


@pytest.mark.parametrize(
    "wrong",
    [
        {"url": "http://push.example/x"},
        {"url": "https://127.0.0.1:1/x"},
        {"url": "https://user:secret@push.example/x"},
        {"p256dh": "B" + "A" * 86},
        {"auth": "AAAAAAAAAAAA"},
        {"contact": "javascript:alert(1)"},
    ],
)
async def test_what_is_no_browser_is_not_added(db: Database, wrong: dict[str, str]) -> None:
    async with a_notifier(db, names={"push.example": ["93.184.216.34"]}, guard=AddressGuard()) as notifier:
        shelf = await a_reader(db)
        with pytest.raises(Invalid):
            await notifier.channels.add_browser(
                shelf, None, described(FakeBrowser(), wrong.get("url", "https://push.example/x"), **wrong_of(wrong))
            )
        assert await notifier.channels.list(shelf) == []


def wrong_of(wrong: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in wrong.items() if name != "url"}


async def test_a_browser_adds_itself_and_is_not_typed_in(db: Database, notifier: Notifier) -> None:
    shelf = await a_reader(db)
    with pytest.raises(Invalid, match="A browser adds itself"):
        await notifier.channels.add(shelf, "push", name="Mine", config={"url": "https://push.example/"})


async def test_neither_address_nor_keys_of_a_browser_are_shown(db: Database) -> None:
    browser = FakeBrowser()
    async with a_push_service() as service, a_push_notifier(db) as notifier:
        shelf = await a_reader(db)
        channel = await notifier.channels.add_browser(shelf, None, described(browser, f"{service.url}/capability"))
    shown = str(channel.config)
    assert "capability" not in shown
    assert base64url(browser.auth) not in shown
    assert base64url(browser.public) not in shown
    assert {name for name, value in channel.config.items() if value == "***"} == {"p256dh", "auth", "key"}


def document_of(titles: bool, **said: Any) -> dict[str, Any]:
    browser = FakeBrowser()
    described_as = described(browser, "https://push.example/x", titles=titles)
    raw = {**msgspec.structs.asdict(described_as), "key": base64url(private_key(b"1"))}
    config = read_config(KINDS["push"], {name: value for name, value in raw.items() if name != "name"})
    fields: dict[str, Any] = {
        "type": "chapter.new",
        "title": "One",
        "text": "Chapter 5",
        "page": "/series/1",
        "at": NOON,
    }
    send = Send(channel_id=1, delivery_id="msg_" + "a" * 32, message=Message(**(fields | said)))
    ask = KINDS["push"].compose(config, send, now=NOON)
    assert ask.body is not None
    document: dict[str, Any] = msgspec.json.decode(browser.read(ask.body))
    return document


def test_r112_a_locked_screen_shows_titles_only_to_who_chose_so() -> None:
    assert document_of(titles=False)["body"] == "A new chapter"
    named = document_of(titles=True)
    assert (named["title"], named["body"], named["path"]) == ("One", "Chapter 5", "/series/1")


def test_a_long_message_is_cut_to_what_every_service_takes() -> None:
    named = document_of(titles=True, title="\N{SLEEPING FACE}" * 500, text="\x01" * 5000)
    assert named["title"].endswith("…") or named["title"] == "Tsuzuki"
