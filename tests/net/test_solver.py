"""SEC-07: FlareSolverr passes a check for us, and sees only what the guard let through."""

import asyncio

import pytest

from tests.net.builders import a_client, a_server, answer
from tests.net.hostile import CHALLENGE, HTML
from tests.net.solver import BROWSER, PASSED, WILLING, a_solver
from tsuzuki.model.errors import Blocked, RefusedAddress
from tsuzuki.model.requests import Ask, SourceIdentity


async def walled(head: bytes, writer: asyncio.StreamWriter) -> None:
    """A site behind a browser check: the right cookie counts only beside the right name."""
    if b"cf_clearance=yes" in head and BROWSER.encode() in head:
        writer.write(answer(200, PASSED, Content_Type=HTML))
    else:
        writer.write(answer(403, CHALLENGE, Content_Type=HTML, Cf_Mitigated="challenge"))


async def test_a_solved_check_reuses_cookies_with_its_user_agent():
    async with a_solver() as solver, a_server(walled) as site, a_client(solver_url=solver.url) as client:
        for _ in range(3):
            assert (await client.fetch(Ask(f"{site.url}/list"), WILLING)).body == PASSED
        assert solver.commands == ["sessions.create", "request.get"]
        assert solver.orders[1]["url"] == f"{site.url}/list"
        assert solver.orders[1]["session"] == "session-1"
    assert solver.commands[-1] == "sessions.destroy"
    assert solver.orders[-1]["session"] == "session-1"
    assert b"user-agent: tsuzuki/" in site.heads[0].lower()


async def test_many_who_meet_the_same_check_have_it_solved_once():
    async with a_solver() as solver, a_server(walled) as site, a_client(solver_url=solver.url) as client:
        replies = await asyncio.gather(*(client.fetch(Ask(f"{site.url}/{n}"), WILLING) for n in range(8)))
        assert [reply.body for reply in replies] == [PASSED] * 8
        assert solver.commands == ["sessions.create", "request.get"]


async def test_a_clearance_is_one_source_s_own():
    """SEC-10."""
    async with a_solver() as solver, a_server(walled) as site, a_client(solver_url=solver.url) as client:
        await client.fetch(Ask(site.url), WILLING)
        with pytest.raises(Blocked):
            await client.fetch(Ask(site.url), SourceIdentity(source="other"))
    assert b"tsuzuki/" in site.heads[-1].lower()


async def test_a_source_that_demands_an_honest_name_is_never_solved():
    async with a_solver() as solver, a_server(walled) as site, a_client(solver_url=solver.url) as client:
        with pytest.raises(Blocked):
            await client.fetch(Ask(site.url), SourceIdentity(source="honest"))
    assert solver.orders == []


async def test_where_cookies_fail_the_solvers_page_is_the_answer():
    async def stubborn(head, writer):
        writer.write(answer(403, CHALLENGE, Content_Type=HTML))

    async with a_solver() as solver, a_server(stubborn) as site, a_client(solver_url=solver.url) as client:
        reply = await client.fetch(Ask(f"{site.url}/x"), WILLING)
        assert (reply.status, reply.body, reply.headers["content-type"]) == (200, PASSED, HTML)
        solver.solution = {"response": CHALLENGE.decode()}
        with pytest.raises(Blocked):
            await client.fetch(Ask(f"{site.url}/x"), WILLING)


@pytest.mark.parametrize(
    "ended", ["http://10.0.0.1/", "http://169.254.169.254/", "file:///etc/passwd", "http://localhost:22/"]
)
async def test_a_result_from_where_we_may_not_go_is_refused(ended):
    """SEC-07: the browser was led elsewhere."""
    async with a_solver() as solver, a_server(walled) as site, a_client(solver_url=solver.url) as client:
        solver.solution = {"url": ended, "response": "secret"}
        with pytest.raises(Blocked, match="FlareSolverr could not pass it") as blocked:
            await client.fetch(Ask(site.url), WILLING)
    assert "secret" not in str(blocked.value)


async def test_a_target_is_judged_again_before_it_is_handed_over():
    """SEC-07, SEC-02: by now the name resolves inside; the browser is not told."""
    names = {"rebind.example": [["127.0.0.1"], ["127.0.0.1"], ["10.0.0.1"]]}
    async with a_solver() as solver, a_server(walled) as site, a_client(names, solver_url=solver.url) as client:
        with pytest.raises(Blocked, match="refused") as blocked:
            await client.fetch(Ask(f"http://rebind.example:{site.port}/"), WILLING)
    assert isinstance(blocked.value.__cause__, RefusedAddress)
    assert solver.orders == []


async def test_a_failing_solver_is_named_and_restarted():
    async with a_solver() as solver, a_server(walled) as site, a_client(solver_url=solver.url) as client:
        solver.error = "Error: Maximum timeout reached."
        with pytest.raises(Blocked, match="Maximum timeout reached"):
            await client.fetch(Ask(site.url), WILLING)
        solver.error = None
        assert (await client.fetch(Ask(site.url), WILLING)).body == PASSED
        assert solver.commands == ["sessions.create", "sessions.create", "request.get"]
    async with a_server(walled) as site, a_client(solver_url="http://127.0.0.8:1/v1") as client:
        with pytest.raises(Blocked, match="FlareSolverr cannot be reached"):
            await client.fetch(Ask(site.url), WILLING)


async def test_cookies_for_other_sites_and_broken_ones_are_left_out():
    hostile = [
        {"name": "a", "value": "1", "domain": "bank.example"},
        {"name": "b", "value": "1\r\nX-Evil: 1"},
        {"name": "c", "value": "1; Domain=bank.example"},
        {"name": "cf_clearance", "value": "yes"},
    ]
    async with a_solver() as solver, a_server(walled) as site, a_client(solver_url=solver.url) as client:
        solver.solution = {"cookies": hostile, "userAgent": BROWSER}
        assert (await client.fetch(Ask(site.url), WILLING)).body == PASSED
    assert b"cookie: cf_clearance=yes\r\n" in site.heads[-1].lower()


async def test_a_form_is_sent_on_and_a_proxy_is_told():
    names = {"proxy.example": ["127.0.0.7"]}
    async with a_solver() as solver, a_server(walled) as site, a_client(names, solver_url=solver.url) as client:
        await client.fetch(Ask(site.url, method="POST", body=b"a=1"), WILLING)
        assert (solver.orders[1]["cmd"], solver.orders[1]["postData"]) == ("request.post", "a=1")
    async with (
        a_solver() as solver,
        a_server(walled, host="127.0.0.7") as proxy,
        a_client(names, solver_url=solver.url) as client,
    ):
        through = f"http://me:pw@proxy.example:{proxy.port}"
        origin = SourceIdentity(source="walled", solve_challenges=True, proxy=through)
        assert (await client.fetch(Ask("http://127.0.0.1/"), origin)).body == PASSED
    told = {"url": f"http://proxy.example:{proxy.port}", "username": "me", "password": "pw"}
    assert solver.orders[0] == {"cmd": "sessions.create", "proxy": told}
