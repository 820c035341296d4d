"""R88: taking money from a provider. A call that times out is unknown, and looked up before anything is tried again."""

import structlog

from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.billing.nouns import Invoice, InvoiceId
from tsuzuki.billing.settlement.nouns import Answer, ChargeAttempt, PaymentProvider, Receipt, Took, Unknown
from tsuzuki.billing.settlement.receiving import receive_payment_tx
from tsuzuki.billing.settlement.store import finish_attempt_tx, insert_attempt_tx, open_attempt_tx
from tsuzuki.billing.store import get_invoice_tx
from tsuzuki.db import Tx
from tsuzuki.db.errors import UniqueViolation
from tsuzuki.model.errors import Conflict
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import MINUTE, Millis

CALL_TIME = Millis(2 * MINUTE)
"""No call to a provider takes longer; before that, nobody else asks what became of it."""

_STATUS = {"Took": "paid", "Declined": "failed", "Unknown": "unknown"}
_log = structlog.stdlib.get_logger("tsuzuki.billing")


class Charging:
    """Writes an attempt down, makes the call, and writes what became of it down with its effect."""

    def __init__(self, deps: AccountDeps) -> None:
        self._deps = deps

    async def collect(self, invoice_id: InvoiceId, provider: PaymentProvider) -> Answer:
        """Take an open invoice's amount; Conflict while another attempt is under way, or it is not open.

        What an earlier attempt left unknown is looked up first, and a second call is made only when that says that
        nothing was taken.
        """
        earlier = await self._deps.db.read(lambda tx: open_attempt_tx(tx, invoice_id))
        if earlier is not None:
            answer = await self._look_up(earlier, provider)
            if isinstance(answer, (Took, Unknown)):
                return answer
        attempt, invoice = await self._begin(invoice_id, provider)
        try:
            answer = await provider.charge(attempt.key, invoice)
        except Exception as error:  # noqa: BLE001  whatever it was, the money may be gone
            _log.warning("payment_unknown", invoice=invoice.number, reason=repr(error))
            answer = Unknown(repr(error))
        return await self._finish(attempt, answer)

    async def _look_up(self, attempt: ChargeAttempt, provider: PaymentProvider) -> Answer:
        if attempt.status == "begun" and self._deps.clock() < attempt.updated_at + CALL_TIME:
            raise Conflict("This invoice is being paid right now; wait for what becomes of it.")
        try:
            answer = await provider.look_up(attempt.key)
        except Exception as error:  # noqa: BLE001  then it is still unknown
            answer = Unknown(repr(error))
        return await self._finish(attempt, answer)

    async def _begin(self, invoice_id: InvoiceId, provider: PaymentProvider) -> tuple[ChargeAttempt, Invoice]:
        async def begin(tx: Tx) -> tuple[ChargeAttempt, Invoice]:
            now = self._deps.clock()
            invoice = await get_invoice_tx(tx, invoice_id)
            if invoice.status != "open":
                raise Conflict(f"Invoice {invoice.number} is {invoice.status} already.")
            key = show_id(self._deps.new_id(now))
            try:
                return await insert_attempt_tx(tx, invoice_id, provider.name, key, now=now), invoice
            except UniqueViolation as error:
                raise Conflict("This invoice is being paid right now; wait for what becomes of it.") from error

        return await self._deps.db.with_tx(begin)

    async def _finish(self, attempt: ChargeAttempt, answer: Answer) -> Answer:
        async def finish(tx: Tx) -> Receipt | None:
            now = self._deps.clock()
            detail = "" if isinstance(answer, Took) else answer.reason
            status = _STATUS[type(answer).__name__]
            if not await finish_attempt_tx(tx, attempt.id, status, detail=detail, now=now):
                return None
            if not isinstance(answer, Took):
                return None
            return await receive_payment_tx(tx, attempt.invoice_id, answer.payment, now)

        receipt = await self._deps.db.with_tx(finish)
        if receipt is not None:
            await self._deps.publisher.publish(*receipt.activities)
        return answer
