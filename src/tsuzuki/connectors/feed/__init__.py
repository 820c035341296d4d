"""Web feeds: RSS 0.9x, 1.0 and 2.0, Atom 0.3 and 1.0, JSON Feed. `fetch.visit` is the way in.

bytes -> text -> tree within limits (both `document`, after `repairs` for what is not well-formed) -> raw feed
(`channels`, `items`, `jsonfeed`; `lenient` as the last) -> harvest (`assemble`: identity, moments, safe markup, pages).
"""

from tsuzuki.connectors.feed.fetch import FeedOutcome, visit
from tsuzuki.connectors.feed.parser import parse_anyhow, parse_fast, parse_leniently

__all__ = ["FeedOutcome", "parse_anyhow", "parse_fast", "parse_leniently", "visit"]
