"""Money and references as the operator types them."""

from decimal import Decimal
from typing import Any

from tsuzuki.accounts.caller import Caller
from tsuzuki.billing.once import IdempotentRequest
from tsuzuki.web.forms import Form, Rules, problem
from tsuzuki.web.texts import gettext as _

MOST_CENTS = 100_000_000
LONGEST_REFERENCE = 200
LONGEST_KEY = 64
AMOUNT_RULES = Rules(keep=("amount", "reason"))


def cents_of(form: Form) -> int:
    """`12.50` as 1250; exact, or Invalid."""
    try:
        cents = Decimal(form.one("amount").strip().replace(",", ".")) * 100
    except ArithmeticError:  # no number, or one whose exponent has no end
        cents = Decimal(-1)
    if not cents.is_finite() or cents != cents.to_integral_value() or not 1 <= cents <= MOST_CENTS:
        raise problem("amount", _("Enter an amount above 0 with at most two decimals, for example 12.50."))
    return int(cents)


def reference_of(form: Form, name: str) -> str:
    """Where the money can be seen, or why it is given."""
    text = form.one(name).strip()
    if not 1 <= len(text) <= LONGEST_REFERENCE:
        raise problem(name, _("Enter 1 to %(most)s characters.", most=LONGEST_REFERENCE))
    return text


def once_of(form: Form, caller: Caller, content: Any) -> IdempotentRequest:
    """REL-47: the form's key, so that a second click does nothing more."""
    return IdempotentRequest(caller.tenant_id, form.one("key")[:LONGEST_KEY] or None, content)
