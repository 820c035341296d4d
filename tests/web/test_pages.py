from collections.abc import AsyncIterator
from html.parser import HTMLParser

import pytest
import pytest_asyncio
from starlette.requests import Request
from starlette.responses import Response
from structlog.testing import capture_logs

from tests.api.endpoints import ENDPOINTS, an_endpoint, show_car
from tests.app import Client, running_app, serving, serving_resources, settings_for
from tsuzuki import __version__
from tsuzuki.api.endpoints import Access
from tsuzuki.api.openapi import document
from tsuzuki.http.metrics import Metrics
from tsuzuki.http.middleware import HEADERS, build_app
from tsuzuki.http.routing import page
from tsuzuki.web.api_docs import docs_page, models, sections
from tsuzuki.web.errors import error_page
from tsuzuki.web.renderer import Pages

pytestmark = pytest.mark.asyncio(loop_scope="session")

BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def client(tmp_path_factory) -> AsyncIterator[Client]:
    async with running_app(settings_for(tmp_path_factory.mktemp("data"))) as client:
        yield client


class Links(HTMLParser):
    """Every address that a page loads or leads to; and nothing in it may need an exception from the policy."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.posts: list[str] = []
        self.ids: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        assert tag not in {"script", "style", "iframe", "base"}
        assert not [name for name in named if name == "style" or name.startswith("on")]
        self.found += [value for name, value in attrs if name in {"href", "src"} and value]
        self.posts += [named["action"] or ""] if "action" in named else []
        self.ids += [named["id"] or ""] if "id" in named else []


async def test_the_first_page_describes_this_and_links_documentation(client):
    answer = await client.get("/", headers=BROWSER)
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "installments" in answer.text
    assert __version__ in answer.text
    assert "SQLite" in answer.text
    assert "/api/v1/docs" in Links(answer.text).found


async def test_every_link_of_every_page_leads_somewhere(client):
    seen: set[str] = set()
    queue = ["/"]
    while queue:
        path = queue.pop()
        seen.add(path)
        answer = await client.get(path)
        assert answer.status in (200, 303), path
        queue += [place for place in [answer.headers.get("location")] if place and place not in seen]
        if answer.headers.get("content-type", "").startswith("text/html"):
            links = Links(answer.text)
            fragments = [link[1:] for link in links.found if link.startswith("#")]
            assert set(fragments) <= set(links.ids), path
            assert len(set(links.ids)) == len(links.ids), path
            queue += [link for link in links.found if not link.startswith("#") and link not in seen]
            for post in links.posts:  # a form whose target takes no post would say so
                assert (await client.post(post, headers={"origin": "https://evil.example"})).status == 403, post
    assert {"/", "/setup", "/account", "/sign-in?next=%2Faccount", "/api/v1/docs", "/api/v1/openapi.json"} < seen


async def test_a_lost_page_shows_nothing_of_its_request(client):
    answer = await client.get("/<script>canary</script>", headers=BROWSER)
    assert (answer.status, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "Page not found" in answer.text
    assert "canary" not in answer.text
    assert answer.headers["content-security-policy"] == HEADERS["content-security-policy"]
    assert answer.headers["cache-control"] == "no-store"


async def test_a_machine_that_is_lost_is_told_so_in_json(client):
    answer = await client.get("/nope")
    assert (answer.status, answer.json()["code"]) == (404, "NOT_FOUND")


async def fail(_: Request) -> Response:
    raise RuntimeError("canary")


async def test_a_failing_page_shows_a_page_with_the_requests_id():
    shown = error_page(Pages("1"))
    app = build_app([page("/fail", fail)], metrics=Metrics(version="1", engine="x"), error_page=shown)
    async with serving(app) as client:
        answer = await client.get("/fail", headers={**BROWSER, "x-request-id": "r-7"})
    assert answer.status == 500
    assert "under request r-7" in answer.text
    assert "canary" not in answer.text


async def test_when_even_the_error_page_fails_the_answer_is_json():
    def broken(_: object) -> Response:
        raise RuntimeError("canary")

    app = build_app([], metrics=Metrics(version="1", engine="x"), error_page=broken)
    async with serving(app) as client:
        answer = await client.get("/nope", headers=BROWSER)
    assert (answer.status, answer.json()["code"]) == (404, "NOT_FOUND")


# -- documentation


async def test_the_documentation_shows_every_operation_parameter_and_type():
    described = document([*ENDPOINTS], "1.2.3")
    async with serving_resources([docs_page(Pages("1"), lambda: described)]) as client:
        text = (await client.get("/api/v1/docs")).text
    for path, methods in described["paths"].items():
        for operation in methods.values():
            assert path in text
            assert f'id="{operation["operationId"]}"' in text
            assert all(f"<code>{one['name']}</code>" in text for one in operation.get("parameters", ()))
    assert all(f'id="model-{name}"' in text for name in described["components"]["schemas"])
    assert "at least 1, at most 100, 20 when left out" in text
    assert "Open to everyone." in text
    Links(text)


async def test_the_documentation_names_what_a_caller_needs():
    described = document([an_endpoint("GET", "/cars/{car_id}", show_car, access=Access.ADMIN)], "1")
    (section,) = sections(described)
    assert section.operations[0].needs == "admin"
    assert [model.name for model in models(described)] == ["Car", "ErrorBody", "Problem"]


# -- static files


async def test_assets_named_by_content_are_cached_for_ever(client):
    (css,) = [link for link in Links((await client.get("/")).text).found if link.endswith(".css")]
    answer = await client.get(css)
    assert (answer.status, answer.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    again = await client.get(css, headers={"if-none-match": answer.headers["etag"]})
    assert (again.status, again.body) == (304, b"")


async def test_a_file_by_its_plain_name_is_asked_for_again(client):
    answer = await client.get("/static/tsuzuki.css")
    assert (answer.status, answer.headers["cache-control"]) == (200, "public, no-cache")
    again = await client.get("/static/tsuzuki.css", headers={"if-none-match": f"W/{answer.headers['etag']}"})
    assert again.status == 304
    assert (await client.get("/static/tsuzuki.css", headers={"if-none-match": '"other"'})).status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/static/../templates/layout.html",
        "/static/..%2ftemplates%2flayout.html",
        "/static/%2e%2e/renderer.py",
        "/static/....//renderer.py",
        "/static/..\\renderer.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/tsuzuki.css/..",
        "/static/tsuzuki.css%00.html",
        "/static/",
        "/static",
        "/static/nope.css",
        "/static/tsuzuki.000000000000.css",
    ],
)
async def test_sec_43_no_path_leads_out_of_the_static_files(client, path):
    answer = await client.get(path)
    assert answer.status == 404
    assert answer.json()["code"] == "NOT_FOUND"


# -- behind a proxy


@pytest.mark.parametrize(("trusted", "client_seen"), [("", "127.0.0.1"), ("127.0.0.0/8", "203.0.113.9")])
async def test_sec_40_only_a_trusted_proxy_says_who_called(tmp_path, trusted, client_seen):
    with capture_logs() as logs:
        async with running_app(settings_for(tmp_path, trusted_proxies=trusted)) as client:
            await client.get(
                "/", headers={"x-forwarded-for": "198.51.100.7, 203.0.113.9", "x-forwarded-proto": "https"}
            )
    assert [line["client"] for line in logs if line["event"] == "request"] == [client_seen]
