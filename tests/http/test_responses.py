"""What every answer has, seen from outside."""

import asyncio
import re

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from structlog.testing import capture_logs

from tests.app import Client, running_app, serving_resources, settings_for
from tsuzuki.app import server as server_module
from tsuzuki.db.errors import Contention, DatabaseUnavailable, DiskFull
from tsuzuki.http import body as body_module
from tsuzuki.http.body import MAX_BODY, MAX_DEPTH, read_body, refuse_deep_json
from tsuzuki.http.errors import failure_of
from tsuzuki.http.middleware import CONTENT_SECURITY_POLICY, FAILURES, HEADERS
from tsuzuki.http.routing import Resource, page
from tsuzuki.model.errors import (
    Conflict,
    Forbidden,
    Invalid,
    LimitExceeded,
    NotFound,
    Problem,
    RateLimited,
    RefusedAddress,
    TimedOut,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)


async def hello(_: Request) -> Response:
    return Response("hello", media_type="text/plain")


async def fail(_: Request) -> Response:
    raise RuntimeError("canary in a stack trace")


async def swallow(request: Request) -> Response:
    return Response(str(len(await read_body(request.scope, request.receive, limit=1000))))


async def break_off(_: Request) -> Response:
    async def parts():
        yield b"begun"
        raise RuntimeError("too late to say sorry")

    return StreamingResponse(parts())


async def own_policy(_: Request) -> Response:
    return Response("x", headers={"content-security-policy": "sandbox", "cache-control": "public"})


async def cannot(_: Request) -> Response:
    raise RateLimited("example.org asks us to slow down (429), for 90 s.", retry_after=90_000)


class Telegraph(Resource):
    """Its clients read failures as a plain text."""

    async def __call__(self, scope, receive, send):
        scope[FAILURES] = lambda failure: PlainTextResponse(f"STOP {failure.status}", failure.status)
        await super().__call__(scope, receive, send)


RESOURCES = [
    Telegraph("/telegraph", {"GET": fail}),
    page("/hello", hello),
    page("/fail", fail),
    page("/cannot", cannot),
    Resource("/swallow", {"POST": swallow}),
    page("/break-off", break_off),
    page("/own-policy", own_policy),
    page("/things/{thing_id}", hello),
    page("/things/new", own_policy),
]


async def test_sec_15_every_answer_carries_the_strict_policy_errors_included():
    async with serving_resources(RESOURCES) as client:
        for method, path in (
            ("GET", "/hello"),
            ("GET", "/nope"),
            ("GET", "/fail"),
            ("PUT", "/hello"),
            ("HEAD", "/hello"),
        ):
            answer = await client.ask(method, path)
            assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS, (method, path)
            assert "server" not in answer.headers
    assert "unsafe" not in CONTENT_SECURITY_POLICY


async def test_hsts_is_sent_where_the_public_address_is_https(tmp_path):
    """One year; nothing for subdomains, which may be somebody else's."""
    for public, expected in (
        ("https://reader.example.org", "max-age=31536000"),
        ("http://reader.lan", None),
        ("", None),
    ):
        async with running_app(settings_for(tmp_path, public_url=public)) as client:
            told = [
                (await client.get(path)).headers.get("strict-transport-security") for path in ("/healthz", "/nowhere")
            ]
        assert told == [expected, expected]


async def test_a_resource_may_answer_errors_in_its_own_shape():
    async with serving_resources(RESOURCES) as client:
        headers = {"accept": "text/html"}
        failed, wrong = [await client.ask(method, "/telegraph", headers=headers) for method in ("GET", "PUT")]
    assert (failed.status, failed.text) == (500, "STOP 500")
    assert (wrong.status, wrong.text) == (405, "STOP 405")


async def test_an_answer_may_be_stricter_than_the_rule():
    async with serving_resources(RESOURCES) as client:
        answer = await client.get("/own-policy")
    assert answer.headers["content-security-policy"] == "sandbox"
    assert answer.headers["cache-control"] == "public"
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_a_request_keeps_the_id_that_a_proxy_gave_it():
    async with serving_resources(RESOURCES) as client:
        answer = await client.get("/hello", headers={"X-Request-ID": "edge-1.a_B"})
    assert answer.headers["x-request-id"] == "edge-1.a_B"


@pytest.mark.parametrize("sent", ["", "a b", "x" * 65, "<script>", "é"])
async def test_a_request_without_a_sane_id_is_given_one(sent):
    async with serving_resources(RESOURCES) as client:
        first = await client.get("/hello", headers={"X-Request-ID": sent})
        second = await client.get("/hello", headers={"X-Request-ID": sent})
    assert re.fullmatch("[0-9a-f]{16}", first.headers["x-request-id"])
    assert first.headers["x-request-id"] != second.headers["x-request-id"]


async def test_sec_13_a_failure_says_nothing_but_where_the_log_has_it():
    with capture_logs() as logs:
        async with serving_resources(RESOURCES) as client:
            answer = await client.get("/fail", headers={"X-Request-ID": "r-17"})
    assert answer.status == 500
    assert answer.json() == {
        "error": "Something went wrong on the server. The log has the details under request r-17.",
        "code": "INTERNAL_ERROR",
    }
    assert [line["event"] for line in logs if line["log_level"] == "error"] == ["request_failed"]


async def test_an_unknown_path_is_not_repeated_in_the_answer():
    async with serving_resources(RESOURCES) as client:
        answer = await client.get("/<script>alert(1)</script>")
    assert answer.status == 404
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == {"error": "There is nothing at this address.", "code": "NOT_FOUND"}


async def test_a_wrong_method_is_a_405_listing_the_right_ones():
    async with serving_resources(RESOURCES) as client:
        answer = await client.ask("DELETE", "/hello")
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")
    assert answer.json()["code"] == "VALIDATION_ERROR"


async def test_head_is_answered_like_get_without_its_body():
    async with serving_resources(RESOURCES) as client:
        answer = await client.ask("HEAD", "/hello")
    assert (answer.status, answer.headers["content-length"], answer.body) == (200, "5", b"")


async def test_a_word_wins_over_a_parameter_wherever_it_is_declared():
    async with serving_resources(RESOURCES) as client:
        assert (await client.get("/things/new")).body == b"x"
        assert (await client.get("/things/7")).body == b"hello"


async def test_every_request_is_one_log_line_without_its_query():
    with capture_logs() as logs:
        async with serving_resources(RESOURCES) as client:
            await client.get("/things/7%0Aforged?token=canary")
    line = next(line for line in logs if line["event"] == "request")
    assert (line["method"], line["path"], line["status"], line["client"]) == (
        "GET",
        "/things/7%0Aforged",
        200,
        "127.0.0.1",
    )
    assert line["ms"] > 0
    assert "canary" not in str(logs)


async def test_the_log_gives_the_reason_and_the_answer_retry_after():
    with capture_logs() as logs:
        async with serving_resources(RESOURCES) as client:
            answer = await client.get("/cannot")
            await client.get("/nope")
    assert (answer.status, answer.headers["retry-after"]) == (503, "90")
    done, nope = (line for line in logs if line["event"] == "request")
    assert (done["log_level"], done["code"], done["reason"]) == ("warning", "rate_limited", answer.json()["error"])
    assert "reason" not in nope


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (DatabaseUnavailable("Cannot connect to PostgreSQL: 10.1.2.3 refused"), "does not answer at the moment"),
        (Contention("deadlock detected DETAIL: Process 10.1.2.3 waits"), "Somebody else changed this"),
        (DiskFull(), "The disk is full."),
    ],
)
async def test_a_database_failure_is_plain_for_people_and_detailed_elsewhere(error, told):
    async def lost(_: Request) -> Response:
        raise error

    with capture_logs() as logs:
        async with serving_resources([page("/lost", lost)]) as client:
            answer = await client.get("/lost")
    assert (answer.status, answer.json()["code"]) == (503, "SERVICE_UNAVAILABLE")
    assert told in answer.json()["error"]
    assert "10.1.2.3" not in answer.text
    assert [line["reason"] for line in logs if line["event"] == "request"] == [str(error)]


async def test_an_answer_that_fails_midway_is_cut_and_logged():
    with capture_logs() as logs:
        async with serving_resources(RESOURCES) as client:
            with pytest.raises(Exception, match=r"payload|Connection|disconnected"):
                await client.get("/break-off")
            assert (await client.get("/hello")).status == 200
    assert [line["status"] for line in logs if line["event"] == "request"] == [200, 200]


async def test_sec_15_malformed_requests_are_refused_with_the_same_headers():
    async with serving_resources(RESOURCES) as client:
        reader, writer = await _connect(client)
        writer.write(b"BREW /<script> COFFEE\r\n\r\n")
        said = (await asyncio.wait_for(reader.read(), 5)).decode()
        writer.close()
    assert said.startswith("HTTP/1.1 400 ")
    assert all(f"{name}: {value}\r\n" in said for name, value in HEADERS.items())
    assert said.endswith('{"error":"Invalid HTTP request received.","code":"VALIDATION_ERROR"}')


# -- bodies


async def test_a_body_that_fits_is_read():
    async with serving_resources(RESOURCES) as client:
        assert (await client.ask("POST", "/swallow", data=b"x" * 1000)).body == b"1000"


async def test_sec_51_a_body_declared_too_large_is_refused_unread():
    async with serving_resources(RESOURCES) as client:
        reader, writer = await _connect(client)
        writer.write(b"POST /swallow HTTP/1.1\r\nhost: x\r\ncontent-length: 1001\r\n\r\n")
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
        rest = await asyncio.wait_for(reader.read(), 5)
        writer.close()
    assert head.startswith(b"HTTP/1.1 413")
    assert b"at most 1,000 bytes" in rest


async def test_sec_51_a_body_of_unknown_length_is_refused_while_it_arrives():
    async with serving_resources(RESOURCES) as client:
        reader, writer = await _connect(client)
        writer.write(b"POST /swallow HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n")
        for _ in range(3):
            writer.write(b"1f4\r\n" + b"x" * 500 + b"\r\n")
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
        writer.close()
    assert head.startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize("connection", [b"keep-alive", b"close"])
async def test_sec_51_a_client_that_only_sends_still_learns_its_limit(connection):
    """A reverse proxy says `close`."""
    async with serving_resources(RESOURCES) as client:
        for _ in range(10):
            reader, writer = await _connect(client)
            head = b"POST /swallow HTTP/1.1\r\nhost: x\r\ncontent-length: 20000000\r\nconnection: %b\r\n\r\n"
            writer.write(head % connection)
            for _ in range(20):
                writer.write(b"x" * 1_000_000)
                await writer.drain()
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
            writer.close()
            assert head.startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize("bound", ["LINGER_S", "LINGER_BYTES"])
async def test_sec_51_whoever_was_answered_early_is_not_heard_out_for_ever(monkeypatch, bound):
    monkeypatch.setattr(server_module, bound, 0.2 if bound == "LINGER_S" else 1000)
    async with serving_resources(RESOURCES) as client:
        reader, writer = await _connect(client)
        writer.write(b"POST /swallow HTTP/1.1\r\nhost: x\r\ncontent-length: 20000000\r\n\r\n")
        await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
        with pytest.raises(OSError, match=r"reset|pipe|lost"):
            await _send_on(writer)
        writer.close()


async def test_a_body_that_does_not_arrive_times_out(monkeypatch):
    monkeypatch.setattr(body_module, "PATIENCE_S", 0.05)
    async with serving_resources(RESOURCES) as client:
        reader, writer = await _connect(client)
        writer.write(b"POST /swallow HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nabc")
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
        writer.close()
    assert head.startswith(b"HTTP/1.1 408")


async def test_a_client_that_leaves_midway_is_a_logged_499():
    with capture_logs() as logs:
        async with serving_resources(RESOURCES) as client:
            _, writer = await _connect(client)
            writer.write(b"POST /swallow HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nabc")
            await writer.drain()
            await asyncio.sleep(0.05)
            writer.close()
            await writer.wait_closed()
            for _ in range(100):
                if any(line["event"] == "request" for line in logs):
                    break
                await asyncio.sleep(0.01)
    assert [line["status"] for line in logs if line["event"] == "request"] == [499]


async def _send_on(writer: asyncio.StreamWriter) -> None:
    for _ in range(200):
        writer.write(b"x" * 1000)
        await writer.drain()
        await asyncio.sleep(0.01)


async def _connect(client: Client) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", int(client.base.rpartition(":")[2]))


@pytest.mark.parametrize(
    "text",
    [
        b"[" * MAX_DEPTH + b"]" * MAX_DEPTH,
        b'{"a":"' + b"[" * 5000 + b'"}',
        b"[[],[]," * 40 + b"1",
        b"",
        b'"\\"[[' * 100,
    ],
)
def test_json_within_the_depth_is_let_through(text):
    refuse_deep_json(text)


@pytest.mark.parametrize("text", [b"[" * (MAX_DEPTH + 1), b'{"a":' * 1000, b'["\\\\",' * 100])
def test_json_that_is_too_deep_is_refused(text):
    with pytest.raises(Invalid, match="deeper than 64 levels"):
        refuse_deep_json(text)


@pytest.mark.timeout(5)
@pytest.mark.parametrize("text", [b'"\\"' * (MAX_BODY // 3), b'["' + b'\\"' * (MAX_BODY // 2), b"[]" * (MAX_BODY // 2)])
def test_sec_21_measuring_the_depth_takes_time_that_grows_with_the_length(text):
    refuse_deep_json(text + b"[" * 65 if text.startswith(b'["') else text)


# -- errors


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (Invalid("x"), 400, "VALIDATION_ERROR"),
        (Unauthorized("x"), 401, "UNAUTHORIZED"),
        (Forbidden("x"), 403, "FORBIDDEN"),
        (NotFound("x"), 404, "NOT_FOUND"),
        (Conflict("x"), 409, "CONFLICT"),
        (LimitExceeded("x"), 422, "LIMIT_EXCEEDED"),
        (TooManyRequests("x", 7), 429, "RATE_LIMITED"),
        (Unavailable("x"), 503, "SERVICE_UNAVAILABLE"),
        (TimedOut("x"), 503, "SERVICE_UNAVAILABLE"),
        (RefusedAddress("x"), 400, "VALIDATION_ERROR"),
    ],
)
def test_r48_every_named_error_has_its_status_and_code(error, status, code):
    failure = failure_of(error, "r")
    assert (failure.status, failure.body.code, failure.body.error) == (status, code, "x")


def test_r48_an_error_lists_all_problems_and_speaks_of_the_first():
    problems = (Problem("a", "a is required."), Problem("b", "b must be at least 1."))
    body = failure_of(Invalid("a is required.", problems), "r").body
    assert (body.error, body.details) == ("a is required.", problems)


def test_r48_slow_down_says_for_how_long():
    assert failure_of(TooManyRequests("x", 7), "r").headers == {"retry-after": "7"}


# -- other origins


async def test_another_site_may_call_only_when_it_is_allowed():
    preflight = {"Origin": "https://reader.example", "Access-Control-Request-Method": "GET"}
    async with serving_resources(RESOURCES, allowed_origins=["https://reader.example"]) as client:
        allowed = await client.get("/hello", headers={"Origin": "https://reader.example"})
        missing = await client.get("/nope", headers={"Origin": "https://reader.example"})
        refused = await client.get("/hello", headers={"Origin": "https://evil.example"})
        asked = await client.ask("OPTIONS", "/hello", headers=preflight)
    assert allowed.headers["access-control-allow-origin"] == "https://reader.example"
    assert missing.headers["access-control-allow-origin"] == "https://reader.example"
    assert "access-control-allow-origin" not in refused.headers
    assert (asked.status, asked.body) == (204, b"")
    assert asked.headers["access-control-max-age"] == "3600"
    assert {name: asked.headers[name] for name in HEADERS} == HEADERS


async def test_a_stopping_server_waits_for_no_tick(monkeypatch):
    monkeypatch.setattr(server_module, "TICK_S", 3600)
    async with serving_resources([page("/hello", hello)]) as client:
        assert (await client.get("/hello")).status == 200
