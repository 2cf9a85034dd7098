"""Requests that malicious pages and programs send to the web server's port. The lists only grow.

`{port}` is our port, `{other}` the next one, `{own}` our origin, and `{host}` our host with its port.
"""

from __future__ import annotations

from tests.flows.web_server import DAEMON_KEY

Headers = tuple[tuple[str, str], ...]

#: Headers that some proxies and servers trust; Arvis trusts none of them.
FORGED: Headers = (
    ("X-Forwarded-For", "127.0.0.1"),
    ("X-Forwarded-For", "::1, 127.0.0.1"),
    ("X-Forwarded-Host", "localhost"),
    ("X-Forwarded-Proto", "https"),
    ("X-Forwarded-User", "owner"),
    ("X-Forwarded-Prefix", "/health"),
    ("X-Real-IP", "127.0.0.1"),
    ("X-Client-IP", "127.0.0.1"),
    ("True-Client-IP", "127.0.0.1"),
    ("Forwarded", "for=127.0.0.1;host=localhost;proto=https"),
    ("X-Original-URL", "/health"),
    ("X-Rewrite-URL", "/health"),
    ("X-HTTP-Method-Override", "OPTIONS"),
    ("X-HTTP-Method", "HEAD"),
    ("X-Method-Override", "GET"),
    ("X-Remote-User", "owner"),
    ("X-Auth-User", "owner"),
    ("X-API-Key", DAEMON_KEY),
    ("X-Arvis-Role", "owner"),
    ("Proxy-Authorization", f"Bearer {DAEMON_KEY}"),
    ("Authentication", f"Bearer {DAEMON_KEY}"),
    ("Authorization", ""),
    ("Authorization", "Bearer"),
    ("Authorization", "Bearer undefined"),
    ("Authorization", "Bearer null"),
    ("Authorization", "Bearer [object Object]"),
    ("Authorization", f"Bearer {DAEMON_KEY},"),
    ("Authorization", f"Bearer Bearer {DAEMON_KEY}"),
    ("Authorization", f"Bearer\t{DAEMON_KEY}"),
    ("Authorization", f"Token {DAEMON_KEY}"),
    ("Authorization", f"Basic {DAEMON_KEY}"),
    ("Cookie", "arvis_session="),
    ("Cookie", "arvis_session=null"),
    ("Cookie", 'arvis_session="undefined"'),
    ("Cookie", "ARVIS_SESSION=x; __Host-arvis_session=x"),
    ("Cookie", f"arvis_session={DAEMON_KEY}"),
)
#: Odd variants of a route's address.
ODD_PATHS = (
    "/{path}", "//{path}", "/./{path}", "/../{path}", "/x/..{path}", "/x/%2e%2e{path}", "/%2e{path}", "/%2f{path}",
    "{path}/", "{path}//", "{path}/.", "{path}/..", "{path};", "{path};x=y", "{path}%20", "{path}%00", "{path}%0a",
    "{path}%2f", "{path}.json", "{upper}", "{coded}", "{twice}", "http://{host}{path}", "http://evil.example{path}",
    "//evil.example{path}", "/health/..{path}", "/chat/..%2f..{path}", "/index.html{path}", "{path}%23", "/\\{path}",
)  # fmt: skip
OTHER_METHODS = ("HEAD", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "PUT", "PATCH", "get", "GETX", "QUERY")
ODD_HOSTS = (
    "evil.example", "evil.example:{port}", "127.0.0.1.evil.example", "127.0.0.1.nip.io:{port}", "localhost.",
    "localhost.evil.example", "127.1", "0.0.0.0:{port}", "0x7f000001", "2130706433", "017700000001", "[::]",
    "[::ffff:127.0.0.1]", "127.0.0.1@evil.example", "evil.example@127.0.0.1", "127.0.0.1:{port}@evil.example",
    "127.0.0.1:", "127.0.0.1:x", "127.0.0.1/evil", "127.0.0.1 evil.example", "127.0.0.1,evil.example", "127.0.0.1#",
    "l\xd0\xbecalhost", "xn--lcalhost-xjb", "local%68ost", "127.0.0.1%00",
)  # fmt: skip
#: Foreign origins, many of which resemble ours.
FOREIGN_ORIGINS = (
    "null", "NULL", "", "*", "about:blank", "file://", "data:", "http://evil.example", "https://evil.example",
    "http://127.0.0.1", "http://localhost", "http://localhost:{port}", "https://127.0.0.1:{port}",
    "ws://127.0.0.1:{port}", "http://127.0.0.1:{other}", "http://127.0.0.1:{port}0", "http://127.0.0.1:0{port}",
    "http://127.0.0.1:{port}/", "http://127.0.0.1:{port}/x", "http://127.0.0.1:{port}.evil.example",
    "http://127.0.0.1.evil.example:{port}", "http://evil-127.0.0.1:{port}", "http://evil127.0.0.1:{port}",
    "http://sub.127.0.0.1:{port}", "http://127.0.0.1:{port}@evil.example", "http://evil.example@127.0.0.1:{port}",
    "http://user:pw@127.0.0.1:{port}", "HTTP://127.0.0.1:{port}", "http://127.0.0.1.:{port}", "http://127.1:{port}",
    "http://2130706433:{port}", "http://[::1]:{port}", "http://[::ffff:127.0.0.1]:{port}",
    "http://127.0.0.1:{port} http://evil.example", "http://evil.example, http://127.0.0.1:{port}",
    "http://127.0.0.1:{port}?x", "http://127.0.0.1:{port}#x", "http://127.0.0.1:{port}\\@evil.example",
    "http://xn--127-0-0-1:{port}", "http://\xef\xbc\x9127.0.0.1:{port}", "moz-extension://abc",
    "chrome-extension://abc", "http:127.0.0.1:{port}", "//127.0.0.1:{port}", "127.0.0.1:{port}",
)  # fmt: skip
#: Headers that a foreign page sends or omits; the login's cookie is always sent.
FOREIGN_SHAPES: tuple[Headers, ...] = (
    (),
    (("Content-Type", "application/x-www-form-urlencoded"),),
    (("Content-Type", "multipart/form-data; boundary=x"),),
    (("Content-Type", "text/plain"),),
    (("Content-Type", "text/plain; application/json"),),
    (("Content-Type", "application/json"),),
    (("Content-Type", "application/csp-report"),),
    (("Referer", "{own}/"),),
    (
        ("Referer", "{own}/settings"),
        ("Content-Type", "application/json"),
    ),
    (
        ("Sec-Fetch-Site", "cross-site"),
        ("Origin", "{own}"),
    ),
    (
        ("Sec-Fetch-Site", "same-site"),
        ("Origin", "{own}"),
    ),
    (
        ("Sec-Fetch-Site", "CROSS-SITE"),
        ("Origin", "{own}"),
        ("X-Arvis-Request", "1"),
    ),
    (
        ("Sec-Fetch-Site", "cross-site"),
        ("X-Arvis-Request", "1"),
    ),
    (
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Mode", "no-cors"),
        ("Sec-Fetch-Dest", "image"),
    ),
    (
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Mode", "navigate"),
        ("Sec-Fetch-Dest", "document"),
    ),
    (("Sec-Fetch-Site", "none"),),
    (("Sec-Fetch-Site", "same-origin"),),
    (
        ("Origin", "{own}"),
        ("Origin", "http://evil.example"),
    ),
    (
        ("Origin", "http://evil.example"),
        ("Origin", "{own}"),
    ),
    (("X-Requested-With", "XMLHttpRequest"),),
    (("X-CSRF-Token", "x"),),
    (("X-HTTP-Method-Override", "GET"),),
    (
        ("X-Forwarded-Host", "127.0.0.1"),
        ("Origin", "http://127.0.0.1"),
    ),
    (("Host", "evil.example"),),
    (
        ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", "x-arvis-request"),
    ),
)
