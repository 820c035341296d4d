"""Sealing and opening (R123)."""

import stat
from concurrent.futures import ThreadPoolExecutor

import pytest
from cryptography.hazmat.primitives.hashes import SHA512
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from tsuzuki.db.vault import NO_KEY, PREFIX, Vault, _stretched, load_vault
from tsuzuki.model.errors import Unavailable
from tsuzuki.model.secrets import CHANNEL, NOTE, SOURCE, Unreadable, unreadable_places

OLD, NEW = "o" * 40, "n" * 40
CONFIG = {
    "ratelimit": 3,
    "proxy": "http://user:hunter2@proxy.example:3128",
    "headers": {"Cookie": "sid=hunter2", "Accept": "text/html"},
    "token": ["hunter2", 1],
    "pin_secret": 12345,
    "password": "",
    "mirrors": ["https://a.example", "https://u:hunter2@b.example"],
}


def test_what_is_secret_is_sealed_and_the_rest_stays_readable():
    vault = Vault((OLD,))
    sealed = vault.seal_source(CONFIG)
    assert "hunter2" not in repr(sealed)
    assert "12345" not in repr(sealed)
    assert (sealed["ratelimit"], sealed["headers"]["Accept"], sealed["password"]) == (3, "text/html", "")
    assert vault.open_values(sealed, SOURCE) == CONFIG


def test_equal_secrets_are_sealed_differently_but_proxies_alike():
    vault = Vault((OLD,))
    assert vault.seal("x", NOTE) != vault.seal("x", NOTE)
    proxy = str(CONFIG["proxy"])
    assert vault.seal_proxy(proxy) == vault.seal_proxy(proxy) != proxy
    assert vault.seal_proxy("http://proxy.example:3128") == "http://proxy.example:3128"


def test_another_key_or_column_opens_nothing():
    sealed = Vault((OLD,)).seal("hunter2", NOTE)
    for vault, place in ((Vault((NEW,)), NOTE), (NO_KEY, NOTE), (Vault((OLD,)), CHANNEL)):
        opened = vault.open(sealed, place)
        assert isinstance(opened, Unreadable)
        assert opened == sealed
    assert isinstance(Vault((OLD,)).open(sealed[:-2], NOTE), Unreadable)
    assert isinstance(Vault((OLD,)).open(PREFIX + "no base64!", NOTE), Unreadable)


def test_what_cannot_be_read_is_written_back_as_it_was():
    sealed = Vault((OLD,)).seal_source(CONFIG)
    other = Vault((NEW,))
    opened = other.open_values(sealed, SOURCE)
    assert set(unreadable_places(opened)) == {
        *("config.proxy", "config.headers.Cookie", "config.token", "config.pin_secret", "config.mirrors[1]"),
    }
    assert other.seal_source(opened) == sealed
    assert Vault((OLD,)).open_values(other.seal_source(opened), SOURCE) == CONFIG


def test_a_sealed_text_that_somebody_types_is_a_text():
    """Whoever has a backup must not have the server open what is in it by sending it back as a secret."""
    vault = Vault((OLD,))
    stolen = vault.seal_source({"password": "hunter2"})["password"]
    again = vault.seal_source({"password": stolen, "proxy": stolen})
    assert vault.open_values(again, SOURCE) == {"password": stolen, "proxy": stolen}


def test_the_first_key_seals_and_all_open():
    sealed = Vault((OLD,)).seal_source(CONFIG)
    both = Vault((NEW, OLD))
    assert both.open_values(sealed, SOURCE) == CONFIG
    renewed = both.reseal_source(sealed)
    assert renewed != sealed
    assert Vault((NEW,)).open_values(renewed, SOURCE) == CONFIG
    assert both.reseal_source(renewed) == renewed
    assert both.open_values(both.reseal_source(CONFIG), SOURCE) == CONFIG


def test_keys_are_derived_as_the_library_derives_them():
    """What was sealed when the library still did it is opened by the same key."""
    for purpose, length in (("fingerprint", 32), ("secrets v1", 64)):
        derive = HKDF(algorithm=SHA512(), length=length, salt=None, info=f"tsuzuki {purpose}".encode())
        assert _stretched("ключ " + OLD, purpose, length) == derive.derive(("ключ " + OLD).encode())


def test_a_key_is_made_once_and_is_its_owners_alone(tmp_path):
    sealed = load_vault((), tmp_path).seal("hunter2", NOTE)
    file = tmp_path / "secret.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["secret.key"]
    assert load_vault((), tmp_path).open(sealed, NOTE) == "hunter2"
    assert load_vault((NEW,), tmp_path).open(sealed, NOTE) == "hunter2"


def test_concurrent_starts_agree_on_one_key(tmp_path):
    with ThreadPoolExecutor(16) as starting:
        vaults = list(starting.map(lambda _: load_vault((), tmp_path), range(16)))
    assert len({vault.fingerprint for vault in vaults}) == 1
    assert [one.name for one in tmp_path.iterdir()] == ["secret.key"]


def test_with_a_key_of_the_operator_no_file_is_made(tmp_path):
    load_vault((NEW,), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", ["", "short\n", "\xff" * 40])
def test_a_file_without_a_key_is_refused_in_words(tmp_path, content):
    (tmp_path / "secret.key").write_text(content, "latin-1")
    with pytest.raises(Unavailable, match=r"secret\.key"):
        load_vault((), tmp_path)
