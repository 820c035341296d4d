"""Random lives of a tenant, against an account that is kept apart from the code: `tests/billing/model.py`."""

from hypothesis import given
from hypothesis import strategies as st

from tests.billing.builders import BillingSetup
from tests.billing.model import GENEROUS, HONEST, PENNILESS, Model
from tests.billing.test_histories import STARTS
from tests.scale import examples
from tsuzuki.model.times import from_iso


async def live(db, start, history, *, is_heard, is_exact):
    """Every step, each followed by what a minute's look does; where nobody listens, every second one alone."""
    billing = BillingSetup(db, now=from_iso(start))
    if is_heard:
        billing.deps.publisher.listen(billing.services.on_activity)
    await billing.open_quietly()
    model = Model(billing, await billing.tenant("basic"))
    await model.take(("rent", None, "growth"))
    for number, step in enumerate(history):
        await model.take(step)
        if is_heard or number % 2:
            await model.look()
            await model.check(is_exact=is_exact)
    await model.look()
    await model.check(is_exact=is_exact)


@examples(600, share=20)
@given(
    start=st.sampled_from(STARTS),
    history=st.lists(st.one_of(HONEST), min_size=1, max_size=30),
    is_heard=st.booleans(),
)
async def test_a_balance_is_the_price_minus_payments(db, start, history, is_heard):
    """I10, R82-R87: and whoever owes something is asked for it, whoever does not is left alone."""
    await live(db, start, history, is_heard=is_heard, is_exact=True)


@examples(400, share=20)
@given(
    start=st.sampled_from(STARTS),
    history=st.lists(st.one_of(GENEROUS), min_size=1, max_size=30),
    is_heard=st.booleans(),
)
async def test_nobody_has_more_credit_than_ever_came_in(db, start, history, is_heard):
    """R86, R87: whatever the operator writes off or gives back, and in whatever order."""
    await live(db, start, history, is_heard=is_heard, is_exact=False)


@examples(400, share=20)
@given(
    start=st.sampled_from(STARTS),
    history=st.lists(st.one_of(PENNILESS), min_size=8, max_size=20),
    is_heard=st.booleans(),
)
async def test_who_never_paid_never_has_credit(db, start, history, is_heard):
    """R86: whatever is written off, by whomever, no cent of it is given back."""
    await live(db, start, history, is_heard=is_heard, is_exact=False)
