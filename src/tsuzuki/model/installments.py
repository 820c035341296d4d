"""What comes out in installments."""

from typing import Literal

Kind = Literal["item", "chapter"]
"""An item is of a feed, a chapter of a series."""
