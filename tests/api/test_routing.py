"""A request as it is decoded, validated, answered: on a real server."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from starlette.requests import Request

from tests.api.endpoints import ENDPOINTS, Car, CarQuery, Cars, Garage, an_endpoint, show_car
from tests.app import Answer, Client, serving_resources
from tsuzuki.api.build import build_api
from tsuzuki.api.endpoints import Access
from tsuzuki.model.errors import Forbidden

pytestmark = pytest.mark.asyncio(loop_scope="module")

CARS = Cars(Garage())


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client() -> AsyncIterator[Client]:
    async with serving_resources(build_api(CARS, version="0", endpoints=ENDPOINTS).resources) as client:
        yield client


def problems(answer: Answer) -> dict[str, str]:
    """Field -> message; checks the envelope on the way."""
    body = answer.json()
    assert set(body) == {"error", "code", "details"}
    assert (answer.status, body["code"]) == (400, "VALIDATION_ERROR")
    assert body["error"] == body["details"][0]["message"]
    return {detail["field"]: detail["message"] for detail in body["details"]}


# -- answers


async def test_r48_a_success_is_data(client):
    answer = await client.get("/api/v1/cars/7")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json() == {"data": {"id": 7, "name": "x", "seen_at": None}}


async def test_r48_lists_have_data_and_meta_and_times_end_in_z(client):
    answer = await client.get("/api/v1/cars?page=2")
    assert [car["seen_at"] for car in answer.json()["data"]] == ["2026-02-22T00:16:49.000Z", None]
    assert answer.json()["meta"] == {"total": 41, "page": 2, "limit": 20, "pages": 3}


async def test_r48_nothing_to_say_is_an_empty_204(client):
    answer = await client.ask("DELETE", "/api/v1/cars/7")
    assert (answer.status, answer.body) == (204, b"")
    assert "content-type" not in answer.headers


async def test_what_is_made_is_a_201(client):
    answer = await client.post("/api/v1/cars", {"name": "beetle"})
    assert (answer.status, answer.json()["data"]["name"]) == (201, "beetle")


async def test_r48_an_error_of_a_service_is_answered_in_the_envelope(client):
    answer = await client.get("/api/v1/cars/404")
    assert (answer.status, answer.json()) == (404, {"error": "Car not found", "code": "NOT_FOUND"})
    answer = await client.post("/api/v1/cars", {"name": "twice"})
    assert (answer.status, answer.json()) == (409, {"error": "There is one already.", "code": "CONFLICT"})


async def test_a_handler_may_answer_for_itself(client):
    assert (await client.get("/api/v1/ping")).text == client.base.removeprefix("http://")


async def test_unknown_paths_and_wrong_methods_answer_in_the_envelope(client):
    answer = await client.get("/api/v1/bikes", headers={"accept": "text/html"})
    assert (answer.status, answer.json()["code"]) == (404, "NOT_FOUND")
    answer = await client.ask("PUT", "/api/v1/cars/7")
    assert (answer.status, answer.headers["allow"]) == (405, "DELETE, GET, HEAD, PATCH")
    assert set(answer.json()) == {"error", "code"}


async def test_a_word_in_a_path_is_no_parameter(client):
    assert (await client.get("/api/v1/cars/newest")).json()["data"]["id"] == 9


# -- paths


@pytest.mark.parametrize(
    ("path", "field", "message"),
    [
        ("/cars/seven", "car_id", "car_id must be a whole number."),
        ("/cars/0", "car_id", "car_id must be at least 1."),
        ("/cars/9223372036854775808", "car_id", "car_id must be at most 9223372036854775807."),
        ("/cars/7%00", "car_id", "car_id must not contain the character NUL."),
        ("/parts/x/2026-01-01T00:00:00Z", "key", "key must be a UUID."),
    ],
)
async def test_a_parameter_of_the_path_is_read_by_its_type(client, path, field, message):
    assert problems(await client.get(f"/api/v1{path}")) == {field: message}


async def test_sec_32_an_escaped_slash_opens_no_other_path(client):
    assert (await client.get("/api/v1/cars%2F..%2Fping")).status == 404
    assert (await client.get("/api/v1/cars/../ping")).status == 404
    assert (await client.get("//api/v1/ping")).status == 404
    assert (await client.get("/api/v1/ping/")).status == 404


# -- queries


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", "('', [], [], False, None)"),
        ("?q=a%20b+c&exact=true", "('a b c', [], [], True, None)"),
        ("?status=new&status=old", "('', ['new', 'old'], [], False, None)"),
        ("?status=new,old&ids=1,2&ids=3", "('', ['new', 'old'], [1, 2, 3], False, None)"),
        ("?exact=false&ids=", "('', [], [], False, None)"),
        ("?q=%E7%B6%9A%E3%81%8D", "('続き', [], [], False, None)"),
    ],
)
async def test_a_query_is_read_by_its_types(client, query, found):
    assert (await client.get(f"/api/v1/cars{query}")).json()["data"][0]["name"] == found


async def test_a_time_in_a_query_keeps_its_zone(client):
    answer = await client.get("/api/v1/cars?since=2026-02-22T00:16:49%2B09:00")
    assert "2026, 2, 22, 0, 16, 49" in answer.json()["data"][0]["name"]
    assert "32400" in answer.json()["data"][0]["name"]


async def test_r57_a_high_limit_is_refused_and_all_problems_listed(client):
    query = "?limit=101&page=0&exact=maybe&status=new,worn&ids=1,x,0&sicne=1&since=2026-01-01T00:00:00"
    assert problems(await client.get(f"/api/v1/cars{query}")) == {
        "status.1": "status.1 must be one of new, old.",
        "ids.1": "ids.1 must be a whole number.",
        "ids.2": "ids.2 must be at least 1.",
        "exact": "exact must be true or false.",
        "since": "since must be a time such as 2026-02-22T00:16:49Z, with a time zone.",
        "page": "page must be at least 1.",
        "limit": "limit must be at most 100.",
        "sicne": "sicne is unknown; did you mean since?",
    }


@pytest.mark.parametrize(
    ("query", "field", "message"),
    [
        ("?limit=5&limit=6", "limit", "limit is given more than once."),
        ("?q=%ff", "query", "The query is not valid UTF-8."),
        ("?q=%00", "q", "q must not contain the character NUL."),
        ("?" + "&".join(f"a{n}=1" for n in range(201)), "query", "The query has more than 200 parameters."),
        ("?limit=", "limit", "limit must be a whole number."),
        ("?since=yesterday", "since", "since must be a time such as 2026-02-22T00:16:49Z."),
    ],
)
async def test_a_query_that_cannot_be_read_is_a_400(client, query, field, message):
    assert problems(await client.get(f"/api/v1/cars{query}")) == {field: message}


# -- bodies


async def test_all_problems_of_a_body_are_listed_with_their_places(client):
    body: dict[str, Any] = {
        "doors": "four",
        "colour": "green",
        "kind": "plane",
        "wheels": [{"size": 1}, {"size": 0, "nmae": "x"}, {}, 7],
        "spare": {"size": "big", "name": 3},
        "tags": {"a": 1, "b": "two"},
        "built": "2026-02-22T00:16:49",
        "key": "no",
        "colur": 1,
        "zzz": 1,
    }
    assert problems(await client.post("/api/v1/cars", body)) == {
        "name": "name is required.",
        "doors": "doors must be a whole number.",
        "colour": "colour must be one of red, blue.",
        "kind": "kind must be one of van, bus.",
        "wheels.1.size": "wheels.1.size must be at least 1.",
        "wheels.1.nmae": "wheels.1.nmae is unknown; did you mean name?",
        "wheels.2.size": "wheels.2.size is required.",
        "wheels.3": "wheels.3 must be an object.",
        "spare.size": "spare.size must be a whole number.",
        "spare.name": "spare.name must be a text.",
        "tags.b": "tags.b must be a whole number.",
        "built": "built must be a time such as 2026-02-22T00:16:49Z, with a time zone.",
        "key": "key must be a UUID.",
        "colur": "colur is unknown; did you mean colour?",
        "zzz": "zzz is unknown.",
    }


@pytest.mark.parametrize(
    ("body", "field", "message"),
    [
        ({"name": ""}, "name", "name must not be empty."),
        ({"name": "x" * 11}, "name", "name must have at most 10 characters."),
        ({"name": None}, "name", "name must be a text."),
        ({"name": "x", "doors": 4.5}, "doors", "doors must be a whole number."),
        ({"name": "x", "wheels": [{"size": 1}] * 5}, "wheels", "wheels must have at most 4 entries."),
        ({"name": "x", "spare": 7}, "spare", "spare must be an object."),
        ({"name": "x", "tags": {"a\x00": 1}}, "tags", "tags must not contain the character NUL."),
        ({"name": "a\x00b"}, "name", "name must not contain the character NUL."),
        ([], "body", "The body must be an object."),
        (None, "body", "The body must be JSON, sent as Content-Type: application/json."),
    ],
)
async def test_a_body_of_the_wrong_shape_is_a_400(client, body, field, message):
    assert problems(await client.post("/api/v1/cars", body)) == {field: message}


async def test_what_no_field_says_alone_is_told_too(client):
    answer = await client.post("/api/v1/cars", {"name": "x", "kind": "bus", "doors": 1})
    assert (answer.status, answer.json()["error"]) == (400, "A bus has at least two doors.")


JSON = {"content-type": "application/json; charset=utf-8"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "truncated"),
        (b'{"name":', "truncated"),
        (b'{"name":"x"} trailing', "trailing characters"),
        (b'{"name":"\xff"}', "not UTF-8"),
        (b'{"name":"\\ud800"}', "not valid JSON"),
        (b'{"name":1e999}', "out of range"),
        (b"[" * 1000, "deeper than 64 levels"),
    ],
)
async def test_a_body_that_is_no_json_is_a_400(client, text, says):
    assert says in problems(await client.ask("POST", "/api/v1/cars", data=text, headers=JSON))["body"]


async def test_sec_42_forms_and_plain_text_are_not_accepted_as_json(client):
    for media_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        answer = await client.ask("POST", "/api/v1/cars", data=b'{"name":"x"}', headers={"content-type": media_type})
        assert "Content-Type: application/json" in problems(answer)["body"]


async def test_a_body_over_the_endpoints_limit_is_a_413(client):
    answer = await client.post("/api/v1/cars", {"name": "x" * 2000})
    assert (answer.status, answer.json()["code"]) == (413, "VALIDATION_ERROR")


async def test_problems_of_path_query_and_body_are_told_together(client):
    answer = await client.ask("PATCH", "/api/v1/cars/x?limit=0", json={"colour": "green"})
    assert set(problems(answer)) == {"car_id", "limit", "colour"}


async def test_a_missing_key_differs_from_a_null_one(client):
    async def changed(body: dict[str, Any]) -> str:
        answer = await client.ask("PATCH", "/api/v1/cars/1", json=body)
        return str(answer.json()["data"]["name"])

    assert await changed({}) == "(UNSET, UNSET)"
    assert await changed({"colour": None}) == "(UNSET, None)"
    assert await changed({"name": "x", "colour": "red"}) == "('x', <Colour.RED: 'red'>)"
    assert problems(await client.ask("PATCH", "/api/v1/cars/1", json={"name": None})) == {
        "name": "name must be a text."
    }


async def test_sec_33_only_fields_of_the_form_can_be_set(client):
    assert "id" in problems(await client.post("/api/v1/cars", {"name": "x", "id": 1}))


# -- who may


class Somebody:
    def __init__(self, name: str) -> None:
        self.name = name


class NameGate:
    """Admits by a header, for as much as that header says."""

    caller: type = Somebody

    async def admit(self, request: Request, access: Access) -> Somebody:
        if request.headers.get("x-scope") != access.value:
            raise Forbidden(f"This needs {access.value}.")
        return Somebody(request.headers.get("x-name", "?"))


async def greet(who: Somebody, query: CarQuery) -> Car:
    return Car(1, who.name)


async def test_the_gate_is_asked_before_the_body_is_read():
    api = build_api(
        Cars(Garage()), version="0", gate=NameGate(), endpoints=[an_endpoint("GET", "/me", greet, access=Access.WRITE)]
    )
    async with serving_resources(api.resources) as client:
        refused = await client.get("/api/v1/me?limit=nonsense")
        admitted = await client.get("/api/v1/me", headers={"x-scope": "write", "x-name": "ann"})
    assert (refused.status, refused.json()) == (403, {"error": "This needs write.", "code": "FORBIDDEN"})
    assert admitted.json()["data"]["name"] == "ann"


@pytest.mark.parametrize("access", [Access.READ, Access.WRITE, Access.ADMIN])
async def test_sec_30_without_accounts_only_what_is_public_is_open(access):
    api = build_api(
        Cars(Garage()), version="0", endpoints=[an_endpoint("GET", "/cars/{car_id}", show_car, access=access)]
    )
    async with serving_resources(api.resources) as client:
        answer = await client.get("/api/v1/cars/1")
    assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert answer.json()["code"] == "UNAUTHORIZED"
