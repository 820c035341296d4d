"""What the first visit and an invitation have in common."""

from tsuzuki.accounts.invites import Accepted
from tsuzuki.web.forms import Form, must_match


def accepted_of(form: Form) -> Accepted:
    """What somebody typed who is new here; Invalid when the two passwords differ."""
    password = must_match(form, "password", "repeat")
    return Accepted(code=form.one("code"), username=form.one("username"), password=password)
