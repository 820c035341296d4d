"""What comes out in installments."""

from typing import Literal

Kind = Literal["item", "chapter"]
"""An item is of a feed, a chapter of a series."""

FeedChange = Literal["added", "changed", "left"]
"""What became of a shelf's subscription."""
