"""What a browser says of itself, in a few words: enough to know one's own logins again, and no more."""

from __future__ import annotations

_LONGEST_HEADER = 1000
_LONGEST = 60

#: What a header holds -> the word for it; the first that fits counts, since most of them name several.
_BROWSERS = (
    ("edg", "Edge"),
    ("opr/", "Opera"),
    ("samsungbrowser/", "Samsung Internet"),
    ("firefox/", "Firefox"),
    ("fxios/", "Firefox"),
    ("crios/", "Chrome"),
    ("chromium/", "Chromium"),
    ("chrome/", "Chrome"),
    ("safari/", "Safari"),
)
_SYSTEMS = (
    ("iphone", "iPhone"),
    ("ipad", "iPad"),
    ("android", "Android"),
    ("windows", "Windows"),
    ("cros", "ChromeOS"),
    ("mac os x", "macOS"),
    ("linux", "Linux"),
)


def device_of(user_agent: str) -> str:
    """Such as `Chrome on Linux`; of an unknown program its first word, and "" of one that says nothing."""
    text = user_agent[:_LONGEST_HEADER].lower()
    browser = next((word for sign, word in _BROWSERS if sign in text), "")
    system = next((word for sign, word in _SYSTEMS if sign in text), "")
    if browser:
        return f"{browser} on {system}" if system else browser
    first = user_agent[:_LONGEST_HEADER].partition("/")[0].partition(" ")[0]
    return "".join(letter for letter in first if letter.isascii() and letter.isprintable())[:_LONGEST]
