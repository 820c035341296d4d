"""Amounts of money as somebody types them."""

import pytest

from tsuzuki.model.errors import Invalid
from tsuzuki.web.admin.tenants import cents_of
from tsuzuki.web.forms import Form


@pytest.mark.parametrize(("text", "cents"), [("12.50", 1250), ("12,5", 1250), (" 1 ", 100), ("1e3", 100_000)])
def test_an_amount_is_read_exactly(text, cents):
    assert cents_of(Form({"amount": (text,)})) == cents


@pytest.mark.parametrize(
    "text",
    ["", "x", "0", "-1", "0.001", "1000001", "NaN", "Infinity", "1e999999", "1e-999999", "1e9999999999999999999"],
)
def test_what_is_no_amount_is_refused(text):
    with pytest.raises(Invalid):
        cents_of(Form({"amount": (text,)}))
