from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from tests.scale import examples
from tsuzuki.connectors.config import SourceConfig, config_schema, decode_config, masked, unmasked
from tsuzuki.connectors.local import LocalConfig
from tsuzuki.connectors.mangadex.connector import MangaDexConfig
from tsuzuki.model.errors import Invalid


class SiteConfig(SourceConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    language: str
    sizes: tuple[Annotated[int, Meta(ge=1)], ...] = ()
    apitoken: str | None = None


def problems_of(kind, raw):
    with pytest.raises(Invalid) as caught:
        decode_config(kind, raw)
    return {problem.field: problem.message for problem in caught.value.problems}


def test_every_config_knows_rate_proxy_headers_and_pages():
    config = decode_config(
        SourceConfig,
        {"ratelimit": 0.5, "proxy": "http://u:p@proxy.example:1080", "headers": {"X-A": "b"}, "maxpages": 3},
    )
    assert (config.ratelimit, config.headers, config.maxpages) == (0.5, {"X-A": "b"}, 3)
    assert decode_config(SourceConfig, {}) == SourceConfig()


@pytest.mark.parametrize("proxy", ["socks5://proxy.example:1080", "socks5h://u:p@proxy.example:1080", "proxy.example"])
def test_a_proxy_that_cannot_be_used_is_refused(proxy):
    told = problems_of(SourceConfig, {"proxy": proxy})
    assert told == {"config.proxy": "Write the proxy as http://host:port or https://host:port; SOCKS is not supported."}


def test_sec_27_all_unknown_missing_and_mistyped_keys_are_named_at_once():
    raw = {"ratelimt": 1, "maxpages": "many", "sizes": [1, 0], "headers": {"X A": "b"}, "__class__": "os.system"}
    assert problems_of(SiteConfig, raw) == {
        "config.ratelimt": "Unknown key: did you mean ratelimit?",
        "config.__class__": "Unknown key: this source knows "
        "apitoken, fetchpages, headers, language, maxpages, proxy, ratelimit, sizes.",
        "config.language": "This key is required.",
        "config.maxpages": "Expected `int`, got `str`.",
        "config.sizes[1]": "Expected `int` >= 1.",
        "config.headers": 'Expected `str` matching regex "^[A-Za-z0-9!#$%&\'*+.^_`|~-]+$".',
    }


@pytest.mark.parametrize("raw", [None, [], "x", 3, True])
def test_a_config_is_an_object(raw):
    assert set(problems_of(SourceConfig, raw)) == {"config"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("ratelimit", 0),
        ("ratelimit", -1),
        ("ratelimit", 1e9),
        ("ratelimit", True),
        ("maxpages", 0),
        ("maxpages", 1.5),
        ("proxy", "ftp://proxy.example"),
        ("proxy", "proxy.example:80"),
        ("proxy", "http://[::1"),
        ("proxy", "http://host:99999"),
        ("headers", {"Host": "other.example"}),
        ("headers", {"Via": "1.1 me"}),
        ("headers", {"X-A": "b\r\nEvil: 1"}),
        ("headers", {"X-A\r\nEvil": "1"}),
        ("headers", {"": "1"}),
        ("headers", {f"X-{number}": "1" for number in range(51)}),
        ("headers", ["X-A: b"]),
    ],
)
def test_impossible_values_are_refused(key, value):
    (field,) = problems_of(SourceConfig, {key: value})
    assert field.startswith(f"config.{key}")


def test_a_connectors_config_adds_its_own_rules():
    assert "config.headers.User-Agent" in problems_of(MangaDexConfig, {"headers": {"User-Agent": "Mozilla"}})
    assert "config.contentrating" in problems_of(MangaDexConfig, {"contentrating": []})
    assert "config.excludedgroups[0]" in problems_of(MangaDexConfig, {"excludedgroups": ["../admin"]})
    assert "config.folder" in problems_of(LocalConfig, {"folder": "relative"})
    assert "config.folder" in problems_of(LocalConfig, {})


def test_a_config_schema_serves_forms_and_marks_secrets():
    schema = config_schema(SiteConfig)
    properties = schema["$defs"]["SiteConfig"]["properties"]
    assert set(properties) == {
        "ratelimit",
        "proxy",
        "headers",
        "maxpages",
        "fetchpages",
        "language",
        "sizes",
        "apitoken",
    }
    assert properties["apitoken"]["writeOnly"] is True
    assert "writeOnly" not in properties["language"]
    assert schema["$defs"]["SiteConfig"]["additionalProperties"] is False


STORED = {
    "proxy": "http://user:pa:ss@proxy.example:3128",
    "headers": {"Authorization": "Bearer abc", "Cookie": "sid=1", "X-Api-Key": "k", "Referer": "https://a.example/"},
    "token": "t0k",
    "cookies": [{"name": "a", "value": "b"}, "c"],
    "nested": {"client_secret": "s", "page": 3},
    "maxpages": 7,
    "password": None,
}


def test_r47_secrets_are_shown_as_stars_wherever_they_are():
    assert masked(STORED) == {
        "proxy": "http://user:***@proxy.example:3128",
        "headers": {"Authorization": "***", "Cookie": "***", "X-Api-Key": "***", "Referer": "https://a.example/"},
        "token": "***",
        "cookies": [{"name": "***", "value": "***"}, "***"],
        "nested": {"client_secret": "***", "page": 3},
        "maxpages": 7,
        "password": None,
    }


def test_r47_stars_sent_back_keep_what_is_stored():
    sent = masked(STORED) | {"maxpages": 9}
    assert unmasked(sent, STORED) == STORED | {"maxpages": 9}


def test_r47_the_config_is_replaced_whole_and_new_secrets_are_taken():
    assert unmasked({"token": "new", "headers": {"Cookie": "***"}}, STORED) == {
        "token": "new",
        "headers": {"Cookie": "sid=1"},
    }


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"token": "***"}, "config.token"),
        ({"headers": {"Cookie": "***"}}, "config.headers.Cookie"),
        ({"proxy": "http://u:***@proxy.example"}, "config.proxy"),
        ({"cookies": ["***"]}, "config.cookies[0]"),
    ],
)
def test_r47_stars_with_nothing_behind_them_are_refused(sent, field):
    with pytest.raises(Invalid) as caught:
        unmasked(sent, {})
    assert [problem.field for problem in caught.value.problems] == [field]


def test_r47_a_stored_password_is_not_sent_to_another_proxy():
    with pytest.raises(Invalid):
        unmasked({"proxy": "http://user:***@evil.example:3128"}, STORED)


CONFIGS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.just("***") | st.just("http://a:b@c/"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["token", "a", "b", "cookie"]), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(["token", "proxy", "headers", "x"]), CONFIGS, max_size=4))
@examples(1000)
def test_r47_what_was_masked_comes_back_as_it_was(stored):
    assert unmasked(masked(stored), stored) == stored
