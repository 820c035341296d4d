"""What to call a device in the list of sessions. A guess from what it says of itself; nothing depends on it."""

_BROWSERS = (
    ("edg", "Edge"),
    ("opr/", "Opera"),
    ("samsungbrowser", "Samsung Internet"),
    ("firefox", "Firefox"),
    ("fxios", "Firefox"),
    ("crios", "Chrome"),
    ("chrome", "Chrome"),
    ("safari", "Safari"),
    ("curl", "curl"),
    ("python", "Python"),
)
_SYSTEMS = (
    ("android", "Android"),
    ("iphone", "iPhone"),
    ("ipad", "iPad"),
    ("windows", "Windows"),
    ("mac os", "macOS"),
    ("cros", "ChromeOS"),
    ("linux", "Linux"),
)


def device_name(user_agent: str) -> str:
    """`Firefox on Linux`; `Unknown device` when nothing is recognised."""
    said = user_agent.lower()
    browser = next((name for mark, name in _BROWSERS if mark in said), None)
    system = next((name for mark, name in _SYSTEMS if mark in said), None)
    return " on ".join(part for part in (browser, system) if part) or "Unknown device"
