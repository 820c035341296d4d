import pytest
from msgspec import Struct

from tests.api.endpoints import CarQuery, Cars, Garage, NewCar, an_endpoint
from tsuzuki.accounts.types import Shelf
from tsuzuki.api.binding import BindingError, find_service
from tsuzuki.api.build import build_api
from tsuzuki.api.endpoints import Endpoint


async def wants_a_stranger(stranger: Garage) -> None: ...


class NoServices(Struct):
    """Nobody is here."""


async def wants_two_bodies(one: NewCar, two: NewCar) -> None: ...


async def wants_nothing() -> None: ...


async def wants_a_shelf(shelf: Shelf) -> None: ...


async def wants_a_shelf_without_its_query(query: CarQuery, shelf: Shelf) -> None: ...


@pytest.mark.parametrize(
    ("endpoints", "says"),
    [
        ([an_endpoint("GET", "/x", wants_a_stranger)], "which is no service"),
        ([an_endpoint("POST", "/x", wants_two_bodies)], "more than one query or body"),
        ([an_endpoint("GET", "/x", wants_a_shelf)], "takes a shelf, but nobody is there"),
        ([an_endpoint("GET", "/x", wants_a_shelf_without_its_query)], "its query is no ShelfQuery"),
        ([an_endpoint("GET", "/x/{x_id}", wants_nothing)], "does not take x_id of its path"),
        ([an_endpoint("GET", "/x", wants_nothing), an_endpoint("GET", "/x", wants_nothing)], "declared twice"),
        ([an_endpoint("GET", "/x", wants_nothing), an_endpoint("GET", "/y", wants_nothing)], "two handlers"),
    ],
)
def test_an_endpoint_that_cannot_work_stops_the_start(endpoints: list[Endpoint], says: str):
    with pytest.raises(BindingError, match=says):
        build_api(NoServices(), version="0", endpoints=endpoints)


class CarServices(Struct, frozen=True):
    cars: Cars


class CarDeps(Struct, frozen=True):
    garage: Garage
    services: Cars


class LateDeps(Struct, frozen=True):
    garage: Garage
    text: str


def test_services_are_found_in_groups_and_combined_into_deps():
    services = CarServices(Cars(Garage()))
    assert find_service(services, Garage) is services.cars.garage
    assert find_service(services, CarDeps) == CarDeps(services.cars.garage, services.cars)
    assert find_service(services, LateDeps) is None
