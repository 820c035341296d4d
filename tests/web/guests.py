"""Somebody who looks at pages and posts their forms, as a browser without scripts does."""

import re
from html import unescape
from typing import Any
from urllib.parse import urlencode

from tests.accounts.provider import CLIENT, REDIRECT, SECRET
from tests.api.people import RunningApp
from tests.app import Answer, Client
from tsuzuki.accounts.types import User

BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
FORM = "application/x-www-form-urlencoded"


class Guest:
    """Keeps the cookies that it is given."""

    def __init__(self, client: Client, **cookies: str) -> None:
        self.client = client
        self.cookies = cookies

    async def see(self, path: str, **headers: str) -> Answer:
        return await self._ask("GET", path, headers)

    async def send(self, path: str, fields: Any = (), **headers: str) -> Answer:
        """Post a form; a field that is ticked several times is a list of pairs."""
        return await self._ask("POST", path, {"content-type": FORM} | headers, data=urlencode(fields))

    async def _ask(self, method: str, path: str, headers: dict[str, str], **options: Any) -> Answer:
        carried = {"cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        said = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = await self.client.ask(method, path, headers=BROWSER | carried | said, **options)
        self._keep(answer.headers.get("set-cookie", ""))
        return answer

    def _keep(self, line: str) -> None:
        name, _, value = line.partition(";")[0].partition("=")
        if name and value:
            self.cookies[name] = value
        elif name:
            self.cookies.pop(name, None)


async def a_guest(app: RunningApp, user: User) -> Guest:
    """This person, signed in."""
    return Guest(app.client, tsuzuki=await app.session(user))


def oidc_settings(issuer: str) -> dict[str, str]:
    """What a server is told about the provider at this address."""
    return {
        "oidc_issuer": issuer,
        "oidc_client_id": CLIENT,
        "oidc_client_secret": SECRET,
        "oidc_redirect_uri": REDIRECT,
    }


def error_of(answer: Answer, field: str) -> str | None:
    """What the page says beside this field."""
    found = re.search(rf'id="{field}-error">([^<]*)<', answer.text)
    return unescape(found[1]) if found else None


def value_of(answer: Answer, field: str) -> str | None:
    """What stands in this field."""
    found = re.search(rf'<input[^>]*name="{field}"[^>]*value="([^"]*)"', answer.text)
    return unescape(found[1]) if found else None


def focus_of(answer: Answer) -> list[str]:
    """The fields that want the cursor."""
    return re.findall(r'<(?:input|select)[^>]*name="(\w+)"[^>]* autofocus', answer.text)
