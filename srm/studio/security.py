"""Who may talk to the studio: pages that it sent itself, to the person who was given the address it printed.

The token stands behind the `#` of that address, so that no log and no other server ever sees it; the page sends it in a header of its own,
which no form, image or link of another page can. There is no cookie that a browser would add by itself. `Host` must be
the loopback address (a name that is made to point here, DNS rebinding, is refused), and a request that says where it comes from
(`Origin`, `Sec-Fetch-Site`) must come from here.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from typing import Any

from srm.errors import SettingError

HEADER = "x-studio-token"
LOOPBACK = ("127.0.0.1", "localhost")
MOST_BODY = 1 << 21  # bytes of a request
MOST_UPLOAD = 1 << 26  # bytes of a file that is handed in
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self' 'unsafe-inline'",  # drawings bring their own style
    "img-src": "'self' data:",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}
HEADERS = {
    "content-security-policy": "; ".join(f"{what} {source}" for what, source in POLICY.items()),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Refused(Exception):
    """A request that is not answered, and why: the status and a line."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def new_token() -> str:
    return secrets.token_urlsafe(24)


def refuse_foreign(headers: Mapping[str, str], port: int) -> None:
    """Refuses a request to another name than ours, or from another page."""
    hosts = [f"{name}:{port}" for name in LOOPBACK]
    if headers.get("host", "") not in hosts:
        raise Refused(403, "this name is not the studio's; open the address that was printed")
    origin = headers.get("origin")
    if origin is not None and origin not in [f"http://{host}" for host in hosts]:
        raise Refused(403, "requests of other pages are refused")
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        raise Refused(403, "requests of other pages are refused")


def refuse_unknown(headers: Mapping[str, str], token: str) -> None:
    """Refuses who does not have the token."""
    if not hmac.compare_digest(headers.get(HEADER, "").encode(), token.encode()):
        raise Refused(401, "the token is missing or of an earlier studio; open the address that was printed last")


async def read_body(request: Any, most: int) -> bytes:
    """The body of a request, refused as soon as it is longer than it may be."""
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > most:
        raise Refused(413, f"more than {most >> 20} MB; hand in less")
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise Refused(413, f"more than {most >> 20} MB; hand in less")
        parts.append(part)
    return b"".join(parts)


def text_of(body: Mapping[str, Any], name: str, most: int = 1 << 20) -> str:
    """A text of a request."""
    value = body.get(name)
    if not isinstance(value, str) or len(value) > most:
        raise SettingError(f"{name}: expected a text of at most {most} letters")
    return value


def whole_of(body: Mapping[str, Any], name: str) -> int:
    value = body.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise SettingError(f"{name}: expected a whole number")
    return value


def numbers_of(body: Mapping[str, Any], name: str) -> dict[str, float]:
    """Numbers by name; JSON was read within limits, so they are finite."""
    value = body.get(name)
    if not isinstance(value, dict) or len(value) > 1000:
        raise SettingError(f"{name}: expected numbers by name")
    if not all(isinstance(number, int | float) and not isinstance(number, bool) for number in value.values()):
        raise SettingError(f"{name}: expected numbers by name")
    return {str(key): float(number) for key, number in value.items()}
