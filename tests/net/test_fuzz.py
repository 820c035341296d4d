"""SEC-01, SEC-03: whatever text is given as an address, nothing but a SourceError comes out and nothing goes inside."""

import asyncio
import socket
from ipaddress import ip_address

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from yarl import URL

from tests.net.builders import FAST, SOMEONE, StubResolver, a_client
from tests.scale import examples
from tsuzuki.model.errors import RefusedAddress, SourceError
from tsuzuki.model.requests import Ask
from tsuzuki.net.guard import AddressGuard, Lane
from tsuzuki.net.urls import join, parse

SCHEMES = st.sampled_from(["http", "https", "HTTP", "ftp", "file", "javascript", "", "http:http", "ws"])
SLASHES = st.sampled_from(["://", ":", ":/", ":///", "//", "\\\\", ":\\\\", "://\t", ":// "])
USERS = st.sampled_from(["", "", "", "user@", "u:p@", "@", "a@b@", "127.0.0.1@", "127.0.0.1\\@", "%40"])
_HOSTS = """
127.0.0.1 localhost 2130706433 0x7f000001 0177.0.0.1 127.1 [::1] [::ffff:127.0.0.1] [fe80::1%25lo] 10.0.0.1 1.1.1.1
169.254.169.254 example.com EXAMPLE.com. a..b.com x.local x.internal nas ①②⑦.⓪.⓪.① 127。0。0。1 ｌocalhost %31.0.0.1
xn--mnchen-3ya.example münchen.example ☃.net 0 :: [] [
"""
HOSTS = st.one_of(
    st.sampled_from(["", *_HOSTS.split()]),
    st.ip_addresses().map(lambda ip: f"[{ip}]" if ip.version == 6 else str(ip)),
    st.text(max_size=12),
    st.from_regex(r"[a-z0-9.-]{1,20}\.[a-z0-9]{1,5}", fullmatch=True),
)
PORTS = st.one_of(
    st.sampled_from(["", "", ":", ":80", ":443", ":22", ":0", ":65536", ":-1", ":８０", ":80:80"]), st.text(max_size=4)
)
PATHS = st.one_of(
    st.sampled_from(["", "/", "/a/../../b", "?x[]=1", "#f", "/%zz", "/ö", "/a b", "/\r\nX: 1"]), st.text(max_size=20)
)
GOOD_HOSTS = st.from_regex(r"[a-z]([a-z0-9-]{0,10}[a-z0-9])?\.(example|com|net)\.?", fullmatch=True) | HOSTS
ALMOST_GOOD = st.tuples(
    st.sampled_from(["http", "https"]), st.just("://"), GOOD_HOSTS, st.sampled_from(["", ":80", ":8443", ":22"]), PATHS
)
URLS = st.one_of(
    ALMOST_GOOD.map("".join),
    st.tuples(SCHEMES, SLASHES, USERS, HOSTS, PORTS, PATHS).map("".join),
    st.text(max_size=40),
)


class Dialled(StubResolver):
    """A resolver that never lets a name through, and says which were asked."""

    async def resolve(self, host: str, port: int = 0, family: int = socket.AF_UNSPEC):
        self.asked.append(host)
        raise OSError(None, f"{port} {family}: no names in this test")


@examples(3000)
@given(URLS)
@example("http://[::1]]/")
@example("http://a\u00ad.example/")
@example("http://\ud800.example/")
@example("http://a.example/x?")
def test_parsed_urls_are_canonical_for_the_fetching_library(text):
    try:
        url = parse(text)
    except RefusedAddress:
        return
    assert parse(str(url)) == url
    assert str(url).isascii()
    other = URL(str(url), encoded=True)
    assert (other.scheme, other.raw_host, other.port) == (url.scheme, url.host, url.port)
    assert other.user is None
    assert other.raw_path_qs == url.path


@examples(3000)
@given(st.text(max_size=40) | URLS)
def test_a_reference_leads_to_a_canonical_address_or_is_refused(reference):
    base = parse("https://a.example/x/y?z")
    try:
        url = join(base, reference)
    except RefusedAddress:
        return
    assert parse(str(url)) == url


@examples(600)
@given(st.lists(URLS, min_size=20, max_size=20))
def test_no_url_raises_or_reaches_a_refused_address(texts):
    """The suite's own watch on `socket.connect` sees any packet that would leave; the guard must come first."""
    asyncio.run(_fetch_all(texts))


async def _fetch_all(texts: list[str]) -> None:
    resolver = Dialled()
    async with a_client(resolver, guard=AddressGuard(), host_rate=FAST) as client:
        for text in texts:
            if _is_public_literal(text):
                continue  # this one may be dialled, but not from a test
            with pytest.raises(SourceError, match=r"\.$"):
                await client.fetch(Ask(text), SOMEONE)
    for host in resolver.asked:
        AddressGuard().check_public_form(parse(f"http://{host}/"))


def _is_public_literal(text: str) -> bool:
    try:
        literal = parse(text).literal
        if literal is None:
            return False
        AddressGuard().check(ip_address(literal), Lane.PUBLIC)
    except RefusedAddress:
        return False
    return True
