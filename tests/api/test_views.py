import msgspec
import pytest

from tsuzuki.api.views import Time, ViewError, view_of
from tsuzuki.model.ids import ItemId, PublicId
from tsuzuki.model.times import Millis


class Wheel(msgspec.Struct, frozen=True):
    id: ItemId
    size: int


class Car(msgspec.Struct, frozen=True):
    id: int
    public_id: PublicId
    maker_public_id: PublicId
    owner_id: PublicId | None
    name: str
    built_at: Millis
    sold_at: Millis | None
    wheels: tuple[Wheel, ...]

    @property
    def shown_name(self) -> str:
        return self.name.title()


class WheelView(msgspec.Struct, frozen=True):
    id: str
    size: int


class CarView(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    maker_id: str
    ownerid: str | None
    name: str
    builtat: Time
    sold_at: Time | None
    wheels: list[WheelView]
    is_mine: bool
    places: int


CAR = Car(7, PublicId(b"\1" * 16), PublicId(b"\2" * 16), None, "red one", Millis(0), None, (Wheel(ItemId(3), 5),))


def test_a_view_shows_each_attribute_as_its_type_says():
    show = view_of(CarView, Car, "is_mine", name="shown_name", places=lambda car: len(car.wheels) + 1)
    assert show(CAR, is_mine=True) == CarView(
        id="01010101-0101-0101-0101-010101010101",
        maker_id="02020202-0202-0202-0202-020202020202",
        ownerid=None,
        name="Red One",
        builtat="1970-01-01T00:00:00.000Z",
        sold_at=None,
        wheels=[WheelView("3", 5)],
        is_mine=True,
        places=2,
    )
    sold = msgspec.structs.replace(CAR, sold_at=Millis(1_000), owner_id=PublicId(b"\3" * 16))
    assert show(sold, is_mine=False).sold_at == "1970-01-01T00:00:01.000Z"
    assert show(sold, is_mine=False).ownerid == "03030303-0303-0303-0303-030303030303"


class Misspelt(msgspec.Struct):
    nmae: str


class NeverSold(msgspec.Struct):
    sold_at: Time


class Counted(msgspec.Struct):
    name: int


class PlainMoment(msgspec.Struct):
    built_at: str


class WheelNames(msgspec.Struct):
    wheels: list[str]


@pytest.mark.parametrize(
    ("view", "says"),
    [
        (Misspelt, "Misspelt.nmae: Car has no such attribute"),
        (NeverSold, "NeverSold.sold_at of Car.sold_at: it may be None"),
        (Counted, "Counted.name of Car.name: .*str.* is not .*int"),
        (PlainMoment, "PlainMoment.built_at of Car.built_at: .*Millis is not .*str"),
        (WheelNames, "WheelNames.wheels of Car.wheels: .*Wheel.* is not .*str"),
    ],
)
def test_a_view_that_its_row_does_not_fit_is_refused(view: type, says: str):
    with pytest.raises(ViewError, match=says):
        view_of(view, Car)


def test_a_field_that_the_view_lacks_is_refused():
    with pytest.raises(ViewError, match="WheelView has no tyre"):
        view_of(WheelView, Wheel, tyre="size")
    with pytest.raises(ViewError, match="WheelView has no rim"):
        view_of(WheelView, Wheel, "rim")
