"""ClientLogin: a name and a device password for a token, which every later request carries."""

import hashlib
import re

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.types import Protocol
from tsuzuki.model.errors import Unauthorized
from tsuzuki.protocols.access import ProtocolDeps, app_request
from tsuzuki.protocols.google_reader.answers import json_answer, text_answer
from tsuzuki.protocols.params import read_params

GREADER = Protocol(
    name="greader",
    title="Google Reader",
    path="/api/greader.php",
    apps="NetNewsWire, Reeder, Unread, ReadYou, Capy Reader, FeedFlow, Twine, NewsFlash, Readrops, RSS Guard, FeedMe",
)

_UNFIT = re.compile(r"[^A-Za-z0-9._~-]")
"""What some app cannot read within a token."""
_TOKEN = re.compile(r"[0-9a-f]{40}")
_SCHEME = "googlelogin"


def token_of(password: str) -> str:
    """What stands for a device password in every request; the same each time."""
    return hashlib.sha256(f"tsuzuki greader {password}".encode("utf-8", "surrogatepass")).hexdigest()[:40]


async def answer_sign_in(deps: ProtocolDeps, request: Request) -> Response:
    """The token of whoever sent a name and a device password, three times, as there were three cookies once."""
    params = await read_params(request)
    password = params.one("Passwd")
    if _TOKEN.fullmatch(password):
        raise Unauthorized  # a token signs nobody in: each would make another
    user = await deps.sign_in(request, GREADER, params.one("Email"), password)
    token = token_of(password)
    await deps.services.accounts.devices.accept(app_request(request, GREADER), user, token)
    named = f"{_UNFIT.sub('-', user.caller.username)}/{token}"
    said = {"SID": named, "LSID": named, "Auth": named}
    if params.one("output") == "json":
        return json_answer(said)
    return text_answer("".join(f"{name}={value}\n" for name, value in said.items()))


def sent_token(request: Request) -> str:
    """The token without the name before it; empty where none was sent."""
    scheme, _, said = request.headers.get("authorization", "").strip().partition(" ")
    name, _, value = said.strip().partition("=")
    if scheme.lower() != _SCHEME or name.strip().lower() != "auth":
        return ""
    return value.strip().rpartition("/")[2]
