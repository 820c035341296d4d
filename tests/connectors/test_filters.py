import msgspec
import pytest

from tsuzuki.connectors.filters import (
    CheckBox,
    Filter,
    FilterGroup,
    FilterValue,
    Header,
    Select,
    Separator,
    Sort,
    SortState,
    TextFilter,
    TriState,
    with_values,
)
from tsuzuki.model.errors import Invalid

FILTERS: tuple[Filter, ...] = (
    Header("Narrow it down"),
    Select("Status", ("Any", "Running")),
    TextFilter("Author"),
    CheckBox("Finished only"),
    Separator(),
    Sort("Order", ("Title", "Year")),
    FilterGroup("Genres", (TriState("Action"), TriState("Drama"), CheckBox("Short"))),
)


def test_filters_travel_as_json_and_keep_their_kinds():
    assert msgspec.json.decode(msgspec.json.encode(FILTERS), type=tuple[Filter, ...]) == FILTERS


def test_values_are_set_where_they_belong_and_the_rest_stays():
    values = (
        FilterValue("Status", 1),
        FilterValue("Author", "Keeper"),
        FilterValue("Finished only", True),
        FilterValue("Order", SortState(1, ascending=True)),
        FilterValue("Drama", 2, group="Genres"),
        FilterValue("Short", True, group="Genres"),
    )
    assert with_values(FILTERS, values) == (
        Header("Narrow it down"),
        Select("Status", ("Any", "Running"), 1),
        TextFilter("Author", "Keeper"),
        CheckBox("Finished only", True),
        Separator(),
        Sort("Order", ("Title", "Year"), SortState(1, ascending=True)),
        FilterGroup("Genres", (TriState("Action"), TriState("Drama", 2), CheckBox("Short", True))),
    )
    assert with_values(FILTERS, ()) == FILTERS


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (FilterValue("Status", 2), "filters.Status"),
        (FilterValue("Status", -1), "filters.Status"),
        (FilterValue("Status", True), "filters.Status"),
        (FilterValue("Status", "1"), "filters.Status"),
        (FilterValue("Author", 3), "filters.Author"),
        (FilterValue("Author", "x" * 501), "filters.Author"),
        (FilterValue("Finished only", 1), "filters.Finished only"),
        (FilterValue("Order", SortState(2)), "filters.Order"),
        (FilterValue("Order", 1), "filters.Order"),
        (FilterValue("Action", 3, group="Genres"), "filters.Genres.Action"),
        (FilterValue("Action", True, group="Genres"), "filters.Genres.Action"),
        (FilterValue("Action", 1), "filters.Action"),
        (FilterValue("Horror", 1, group="Genres"), "filters.Genres.Horror"),
        (FilterValue("Narrow it down", 1), "filters.Narrow it down"),
    ],
)
def test_a_value_that_fits_no_filter_is_named(value, field):
    with pytest.raises(Invalid) as caught:
        with_values(FILTERS, (value,))
    assert [problem.field for problem in caught.value.problems] == [field]
