"""Throw-away endpoints that want everything a handler can want."""

import enum
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from tsuzuki.api.endpoints import Access, Body, Endpoint, Id, Moment, PageNumber, QueryParameters
from tsuzuki.api.views import ListAnswer, PageMeta, Time, shown
from tsuzuki.model.errors import Conflict, NotFound
from tsuzuki.model.times import Millis


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Wheel(Body, frozen=True):
    size: Annotated[int, Meta(ge=1)]
    name: str = ""


class NewCar(Body, frozen=True):
    name: Annotated[str, Meta(min_length=1, max_length=10)]
    doors: Annotated[int, Meta(ge=1, le=7)] = 4
    colour: Colour | None = None
    kind: Literal["van", "bus"] = "van"
    wheels: Annotated[tuple[Wheel, ...], Meta(max_length=4)] = ()
    spare: Wheel | None = None
    tags: dict[str, int] = msgspec.field(default_factory=dict)
    built: Moment | None = None
    key: UUID | None = None

    def __post_init__(self) -> None:
        if self.kind == "bus" and self.doors < 2:
            raise ValueError("A bus has at least two doors.")


class CarChanges(Body, frozen=True):
    name: str | UnsetType = UNSET
    colour: Colour | UnsetType | None = UNSET


class CarQuery(QueryParameters, frozen=True):
    q: str = ""
    status: tuple[Literal["new", "old"], ...] = ()
    ids: tuple[Id, ...] = ()
    exact: bool = False
    since: Moment | None = None
    page: PageNumber = 1
    limit: Annotated[int, Meta(ge=1, le=100)] = 20


class Car(msgspec.Struct, frozen=True):
    id: int
    name: str
    seen_at: Time | None = None


class Garage:
    """A service."""

    def __init__(self) -> None:
        self.built: list[NewCar] = []


class Cars(msgspec.Struct, frozen=True):
    """The services of these endpoints."""

    garage: Garage


async def list_cars(query: CarQuery, garage: Garage) -> ListAnswer[Car, PageMeta]:
    """Newest first."""
    said = repr((query.q, [*query.status], [*query.ids], query.exact, query.since))
    cars = [Car(1, said, shown(Millis(1_771_719_409_000))), Car(2, "b", shown(None))]
    return ListAnswer(cars, PageMeta.of(total=41, page=query.page, limit=query.limit))


async def add_car(body: NewCar, garage: Garage) -> Car:
    if body.name == "twice":
        raise Conflict("There is one already.")
    garage.built.append(body)
    return Car(3, body.name)


async def show_car(car_id: Id) -> Car:
    if car_id == 404:
        raise NotFound("Car not found")
    return Car(car_id, "x")


async def change_car(car_id: Id, query: CarQuery, body: CarChanges) -> Car:
    return Car(car_id, repr((body.name, body.colour)))


async def drop_car(car_id: Id) -> None:
    return None


async def newest_car() -> Car:
    return Car(9, "newest")


async def show_part(key: UUID, at: datetime) -> Car:
    return Car(1, f"{key} {at}")


async def ping(request: Request) -> Response:
    return PlainTextResponse(request.headers["host"])


def an_endpoint(method: str, path: str, handler, **over) -> Endpoint:
    said = {"summary": "A summary", "access": Access.PUBLIC, "tags": ("cars",), **over}
    return Endpoint(method=method, path=path, handler=handler, **said)


ENDPOINTS = (
    an_endpoint("GET", "/cars/{car_id}", show_car, errors=(NotFound,)),
    an_endpoint("GET", "/cars", list_cars),
    an_endpoint("POST", "/cars", add_car, status=201, errors=(Conflict,), max_body=2000),
    an_endpoint("PATCH", "/cars/{car_id}", change_car),
    an_endpoint("DELETE", "/cars/{car_id}", drop_car),
    an_endpoint("GET", "/cars/newest", newest_car),
    an_endpoint("GET", "/parts/{key}/{at}", show_part),
    an_endpoint("GET", "/ping", ping, tags=("other",)),
)
