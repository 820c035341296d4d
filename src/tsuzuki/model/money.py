"""Money in words: integer cents everywhere, and a decimal point only where people read it."""


def money(cents: int, currency: str) -> str:
    """`USD 1,234.50`, with a true minus sign before what is given back."""
    units, rest = divmod(abs(cents), 100)
    return f"{'−' if cents < 0 else ''}{currency} {units:,}.{rest:02d}"
