"""What pages of those who pay say."""

TEXTS = {
    "invoice.title": "Invoice {number}",
    "invoice.to": "To",
    "invoice.date": "Date",
    "invoice.period": "Period",
    "invoice.due": "Due at once",
    "invoice.paid": "Paid on {date} ({method})",
    "invoice.reference": "Reference",
    "invoice.voided": "Written off on {date}",
    "invoice.what": "What",
    "invoice.when": "From and until",
    "invoice.amount": "Amount",
    "invoice.until": "{start} to {end}",
    "invoice.sum": "Sum",
    "invoice.credit": "Your credit",
    "invoice.total": "To pay",
    "invoice.print": "Print this page, or save it as a PDF, for your files.",
}
