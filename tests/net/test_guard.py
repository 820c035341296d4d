"""SEC-01, SEC-03, SEC-08: every address and form that the fetcher refuses, as one table."""

from ipaddress import ip_address

import pytest

from tests.net.vectors import PUBLIC_ADDRESSES, REFUSED_ADDRESSES, REFUSED_URLS
from tsuzuki.model.errors import Invalid, RefusedAddress
from tsuzuki.net.guard import AddressGuard, AllowList, Lane, read_address
from tsuzuki.net.urls import Url, join, parse

ALLOWED_URLS = {
    "https://EXAMPLE.com./feed": "https://example.com/feed",
    "https://münchen.example/": "https://xn--mnchen-3ya.example/",
    "http://1.1.1.1/": "http://1.1.1.1/",
    "http://[2a00:1450:4001:80b::200E]:8080/": "http://[2a00:1450:4001:80b::200e]:8080/",
    "HTTPS://example.com:443": "https://example.com/",
    "http://example.com:/": "http://example.com/",
    "http://example.com?x": "http://example.com/?x",
    "http://example.com/a/../b/./c?d#e": "http://example.com/b/c?d",
    "http://example.com/%2e%2E/x": "http://example.com/x",
    "http://foo_bar.example.com/": "http://foo_bar.example.com/",
    "https://api.example/manga?includes[]=cover_art&title=ねこ": "https://api.example/manga?includes[]=cover_art&title=%E3%81%AD%E3%81%93",
    "https://example.com/ö?q=a'b\"c<d>": "https://example.com/%C3%B6?q=a'b%22c%3Cd%3E",
    "https://example.com/100%/x%zz": "https://example.com/100%/x%zz",
}


def judge(url: Url) -> None:
    """All that is said of an address before a name is resolved."""
    AddressGuard().check_public_form(url)
    if url.literal is not None:
        AddressGuard().lane_of_literal(url.literal)


@pytest.mark.parametrize("text", REFUSED_ADDRESSES)
def test_an_address_off_the_public_internet_is_refused(text):
    with pytest.raises(RefusedAddress, match="refused"):
        AddressGuard().check(read_address(text), Lane.PUBLIC)


@pytest.mark.parametrize("text", PUBLIC_ADDRESSES)
def test_a_public_address_may_be_dialled(text):
    AddressGuard().check(read_address(text), Lane.PUBLIC)


@pytest.mark.parametrize("text", REFUSED_URLS)
def test_a_hostile_form_of_an_address_is_refused(text):
    with pytest.raises(RefusedAddress, match="refused") as refusal:
        judge(parse(text))
    assert str(refusal.value).endswith(".")


@pytest.mark.parametrize(("text", "canonical"), ALLOWED_URLS.items())
def test_an_ordinary_address_is_allowed_and_has_one_form(text, canonical):
    url = parse(text)
    judge(url)
    assert str(url) == canonical
    assert parse(canonical) == url


@pytest.mark.parametrize(
    ("answers", "lane"),
    [
        (["93.184.216.34"], Lane.PUBLIC),
        (["93.184.216.34", "2606:4700::1111"], Lane.PUBLIC),
        (["2606:4700::1111", "::ffff:10.0.0.1"], None),
        (["93.184.216.34", "127.0.0.1"], None),
        (["10.0.0.1"], None),
        (["192.168.7.1"], Lane.NETWORK),
        (["192.168.7.1", "::ffff:192.168.7.2"], Lane.NETWORK),
        (["192.168.7.1", "93.184.216.34"], None),
        (["192.168.7.1", "192.168.8.1"], None),
    ],
)
def test_one_bad_answer_refuses_the_name(answers, lane):
    guard = AddressGuard(allow=AllowList.read(["192.168.7.0/24"]))
    addresses = [ip_address(answer) for answer in answers]
    if lane is None:
        with pytest.raises(RefusedAddress):
            guard.lane_of_answers("a.example", addresses)
    else:
        assert guard.lane_of_answers("a.example", addresses) is lane


@pytest.mark.parametrize(
    ("base", "reference", "leads_to"),
    [
        ("https://example.com/", "//127.0.0.1/x", None),
        ("https://example.com/", "file:///etc/passwd", None),
        ("https://example.com/", "http://user@example.com/", None),
        ("https://example.com/", "\\\\127.0.0.1\\x", None),
        ("https://example.com/a/b?c", "", "https://example.com/a/b?c"),
        ("https://example.com/a/b?c", "#top", "https://example.com/a/b?c"),
        ("https://example.com/a/b?c", "?d", "https://example.com/a/b?d"),
        ("https://example.com/a/b?c", "d e", "https://example.com/a/d%20e"),
        ("https://example.com/a/b?c", "  ../ö  ", "https://example.com/%C3%B6"),
        ("https://example.com/a/b?c", "/x/../../y", "https://example.com/y"),
        ("https://example.com/a/b?c", "//other.example/z", "https://other.example/z"),
        ("https://example.com/a/b?c", "http://other.example", "http://other.example/"),
        ("https://example.com/a/b/", ".", "https://example.com/a/b/"),
        ("https://example.com/a/b/", "..", "https://example.com/a/"),
    ],
)
def test_a_reference_is_resolved_by_the_same_parser(base, reference, leads_to):
    """REL-34, SEC-03: relative, empty, with spaces or UTF-8."""
    if leads_to is not None:
        assert str(join(parse(base), reference)) == leads_to
        return
    with pytest.raises(RefusedAddress):
        judge(join(parse(base), reference))


def test_an_allow_listed_network_opens_its_addresses_and_nothing_else():
    guard = AddressGuard(allow=AllowList.read(["127.0.0.0/8", "fd00::/8", "10.1.2.3"]))
    for inside in ("127.0.0.1", "::1", "::ffff:127.0.0.1", "fd12::1", "10.1.2.3"):
        assert guard.lane_of_literal(ip_address(inside)) is Lane.NETWORK
    for outside in ("10.1.2.4", "192.168.0.1", "fe80::1", "fd12::1%eth0"):
        with pytest.raises(RefusedAddress):
            guard.lane_of_literal(ip_address(outside))
    with pytest.raises(RefusedAddress, match="not in an allowed network"):
        guard.check(ip_address("1.1.1.1"), Lane.NETWORK)


@pytest.mark.parametrize("never", ["0.0.0.0", "169.254.169.254", "224.0.0.1", "255.255.255.255", "fe80::1", "ff02::1"])
def test_no_allow_list_opens_metadata_broadcast_or_the_unspecified_address(never):
    guard = AddressGuard(allow=AllowList.read(["0.0.0.0/0", "::/0", "nas.lan"]))
    with pytest.raises(RefusedAddress):
        guard.lane_of_literal(ip_address(never))
    with pytest.raises(RefusedAddress):
        guard.check(ip_address(never), Lane.HOST)


def test_an_allow_listed_host_goes_its_own_lane():
    guard = AddressGuard(allow=AllowList.read(["nas.lan"]))
    assert guard.lane_of_answers("nas.lan", [ip_address("192.168.1.5")]) is Lane.HOST
    with pytest.raises(RefusedAddress):
        guard.lane_of_answers("other.lan", [ip_address("192.168.1.5")])


def test_on_a_nat64_host_the_address_inside_is_judged():
    guard = AddressGuard(nat64=True)
    guard.check(ip_address("64:ff9b::808:808"), Lane.PUBLIC)
    with pytest.raises(RefusedAddress):
        guard.check(ip_address("64:ff9b::a9fe:a9fe"), Lane.PUBLIC)


def test_an_allow_list_names_the_entry_it_cannot_read():
    assert AllowList.read(["127.0.0.1/8", " NAS.lan ", ""]) == AllowList.read(["127.0.0.0/8", "nas.lan"])
    with pytest.raises(Invalid, match=r"10\.0\.0\.0/99"):
        AllowList.read(["127.0.0.0/8", "10.0.0.0/99"])
