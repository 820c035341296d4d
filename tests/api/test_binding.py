import pytest

from tests.api.endpoints import Garage, NewCar, an_endpoint
from tsuzuki.api.binding import BindingError
from tsuzuki.api.build import build_api
from tsuzuki.api.endpoints import Endpoint


async def wants_a_stranger(stranger: Garage) -> None: ...


async def wants_two_bodies(one: NewCar, two: NewCar) -> None: ...


async def wants_nothing() -> None: ...


@pytest.mark.parametrize(
    ("endpoints", "says"),
    [
        ([an_endpoint("GET", "/x", wants_a_stranger)], "which is no service"),
        ([an_endpoint("POST", "/x", wants_two_bodies)], "more than one query or body"),
        ([an_endpoint("GET", "/x/{x_id}", wants_nothing)], "does not take x_id of its path"),
        ([an_endpoint("GET", "/x", wants_nothing), an_endpoint("GET", "/x", wants_nothing)], "declared twice"),
        ([an_endpoint("GET", "/x", wants_nothing), an_endpoint("GET", "/y", wants_nothing)], "two handlers"),
    ],
)
def test_an_endpoint_that_cannot_work_stops_the_start(endpoints: list[Endpoint], says: str):
    with pytest.raises(BindingError, match=says):
        build_api({}, version="0", endpoints=endpoints)
