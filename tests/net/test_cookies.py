"""SEC-10: cookies stay with their source, and a jar has a bottom."""

from tsuzuki.model.requests import SourceIdentity
from tsuzuki.net.exchange import LONGEST_HEADER, MOST_COOKIES, MOST_JARS, Jar, Jars
from tsuzuki.net.urls import parse

HERE = parse("https://a.example/x/y")


async def test_a_cookie_goes_where_it_may_and_nowhere_else():
    jar = Jar()
    jar.store(
        HERE, ["all=1; Domain=a.example; Path=/", "deep=1; Path=/x/", "safe=1; Secure; Path=/", "gone=1; Max-Age=0"]
    )
    assert set(jar.header(HERE).split("; ")) == {"all=1", "deep=1", "safe=1"}
    assert jar.header(parse("https://sub.a.example/")) == "all=1"
    assert jar.header(parse("http://a.example/")) == "all=1"
    assert jar.header(parse("https://b.example/x/y")) == ""


async def test_a_cookie_for_somebody_else_is_not_taken():
    jar = Jar()
    jar.store(HERE, ["evil=1; Domain=bank.example", "broken", "=", "x" * (LONGEST_HEADER + 1)])
    assert jar.header(parse("https://bank.example/")) == ""
    assert jar.header(HERE) == ""


async def test_a_flood_of_cookies_empties_the_jar():
    jar = Jar()
    for start in range(0, 1000, 50):
        jar.store(HERE, [f"c{n}={'x' * 1000}; Path=/" for n in range(start, start + 50)])
        assert len(jar.header(HERE)) <= LONGEST_HEADER + 2 * MOST_COOKIES
    assert 0 < jar.header(HERE).count("=") <= MOST_COOKIES


async def test_jars_differ_by_source_and_proxy_and_are_evicted():
    jars = Jars()
    first = jars.of(SourceIdentity(source="0"))
    assert jars.of(SourceIdentity(source="0")) is first
    assert jars.of(SourceIdentity(source="0", proxy="http://p.example")) is not first
    for n in range(MOST_JARS + 1):
        jars.of(SourceIdentity(source=str(n + 1)))
    assert jars.of(SourceIdentity(source="0")) is not first
