"""Which pictures are there to count readers, not to be seen."""

import re

from tsuzuki.connectors.html.addresses import parts_of

HOSTS = frozenset(
    {
        "ad.doubleclick.net",
        "ads.pheedo.com",
        "api.pheedo.com",
        "b.scorecardresearch.com",
        "bat.bing.com",
        "da.feedsportal.com",
        "feeds.wordpress.com",
        "googleads.g.doubleclick.net",
        "pi.feedsportal.com",
        "pixel.quantserve.com",
        "pixel.wp.com",
        "rss.buysellads.com",
        "sb.scorecardresearch.com",
        "secure-us.imrworldwide.com",
        "stats.wordpress.com",
        "stats.wp.com",
        "www.facebook.com",
        "www.google-analytics.com",
        "feeds.feedburner.com",
        "feedproxy.google.com",
        "rss.feedsportal.com",
        "analytics.twitter.com",
        "pixel.mathtag.com",
        "pxl.host",
        "track.hubspot.com",
        "www.assoc-amazon.com",
        "ir-na.amazon-adsystem.com",
        "ws-na.amazon-adsystem.com",
        "pixel.newscred.com",
        "tracking.feedpress.it",
        "www.awin1.com",
        "c.statcounter.com",
        "www.linksynergy.com",
        "ad.linksynergy.com",
    }
)
"""Hosts whose pictures in feeds are never content."""

_PATHS = re.compile(r"/(?:pixel|beacon|track(?:ing|er)?|1x1|spacer)\.(?:gif|png|php)\Z", re.IGNORECASE)
_TINY_STYLE = re.compile(r"(?:^|;)\s*(?:width|height)\s*:\s*[01](?:px)?\s*(?:;|!|\Z)", re.IGNORECASE)
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_TINY = frozenset({"0", "1", "0px", "1px"})


def is_tracker(address: str, *, width: str, height: str, style: str) -> bool:
    """True for a picture nobody is meant to see: one pixel, hidden, or from a host that only counts."""
    if width.strip() in _TINY or height.strip() in _TINY:
        return True
    if style and (_TINY_STYLE.search(style) or _HIDDEN_STYLE.search(style)):
        return True
    parts = parts_of(address)
    if parts is None:
        return False
    return (parts.hostname or "") in HOSTS or _PATHS.search(parts.path) is not None
