import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.api.endpoints import ENDPOINTS, an_endpoint, show_car
from tests.app import running_app, settings_for
from tsuzuki import __version__
from tsuzuki.api.build import ENDPOINTS as REAL
from tsuzuki.api.endpoints import Access
from tsuzuki.api.openapi import Json, document


@pytest.fixture(scope="module")
def described() -> Json:
    return document(ENDPOINTS, "1.2.3")


def test_the_document_is_valid_openapi_3_1(described):
    OpenAPIV31SpecValidator(described).validate()


async def test_the_servers_own_document_is_valid_and_names_every_endpoint(tmp_path):
    async with running_app(settings_for(tmp_path)) as client:
        answer = await client.get("/api/v1/openapi.json")
    served = answer.json()
    OpenAPIV31SpecValidator(served).validate()
    assert (served["openapi"], served["info"]["version"]) == ("3.1.0", __version__)
    declared = {(f"/api/v1{endpoint.path}", endpoint.method.lower()) for endpoint in REAL}
    assert {(path, method) for path, methods in served["paths"].items() for method in methods} == declared


def test_parameters_have_the_bounds_and_defaults_of_their_types(described):
    parameters = {one["name"]: one for one in described["paths"]["/api/v1/cars"]["get"]["parameters"]}
    assert parameters["limit"] == {
        "name": "limit",
        "in": "query",
        "required": False,
        "schema": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20},
        "explode": False,
    }
    assert parameters["status"]["schema"]["items"] == {"enum": ["new", "old"]}
    (in_path,) = described["paths"]["/api/v1/cars/{car_id}"]["delete"]["parameters"]
    assert (in_path["name"], in_path["in"], in_path["required"]) == ("car_id", "path", True)


def test_answers_are_described_in_their_envelopes(described):
    cars = described["paths"]["/api/v1/cars"]
    listed = cars["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert listed == {
        "type": "object",
        "required": ["data", "meta"],
        "properties": {
            "data": {"type": "array", "items": {"$ref": "#/components/schemas/Car"}},
            "meta": {"$ref": "#/components/schemas/PageMeta"},
        },
    }
    made = cars["post"]["responses"]
    assert made["201"]["content"]["application/json"]["schema"]["required"] == ["data"]
    assert made["409"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/ErrorBody"}
    dropped = described["paths"]["/api/v1/cars/{car_id}"]["delete"]["responses"]
    assert dropped["204"] == {"description": "No Content"}
    assert set(dropped) == {"204", "400", "500"}


def test_a_body_is_described_by_its_form(described):
    wanted = described["paths"]["/api/v1/cars"]["post"]["requestBody"]
    assert wanted["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/NewCar"}
    assert described["components"]["schemas"]["NewCar"]["required"] == ["name"]
    assert described["components"]["schemas"]["Car"]["properties"]["seen_at"]["anyOf"][0]["format"] == "date-time"


def test_a_protected_endpoint_names_its_scope_and_refusals():
    described = document([an_endpoint("GET", "/cars/{car_id}", show_car, access=Access.READ)], "1")
    operation = described["paths"]["/api/v1/cars/{car_id}"]["get"]
    assert operation["security"] == [{"token": ["read"]}, {"session": []}]
    assert {"401", "403"} < set(operation["responses"])
    OpenAPIV31SpecValidator(described).validate()


def test_every_endpoint_says_what_it_is_for():
    for endpoint in REAL:
        assert endpoint.summary, endpoint.path
        assert endpoint.tags, endpoint.path


def test_every_integer_in_a_request_fits_64_bits():
    """What the databases could not store is refused where it comes in, not a failure inside."""
    described = document(REAL, "1.2.3")
    asked = [
        (f"{method} {path}", part)
        for path, methods in described["paths"].items()
        for method, one in methods.items()
        for part in (one.get("parameters"), one.get("requestBody"))
    ]
    loose = {place for place, part in asked for one in _integers(part, described) if not _fits(one)}
    assert loose == set()
    assert any(_integers(part, described) for _, part in asked)


def _integers(part: object, described: Json) -> list[Json]:
    if isinstance(part, list):
        return [found for one in part for found in _integers(one, described)]
    if not isinstance(part, dict):
        return []
    if "$ref" in part:
        return _integers(described["components"]["schemas"][part["$ref"].rpartition("/")[2]], described)
    inside = [found for one in part.values() for found in _integers(one, described)]
    return [part, *inside] if part.get("type") == "integer" else inside


def _fits(schema: Json) -> bool:
    return bool(schema.get("minimum", -(2**64)) >= -(2**63) and schema.get("maximum", 2**64) < 2**63)
