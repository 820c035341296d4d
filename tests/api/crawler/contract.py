"""The crawler's contract as its document has it: types, texts, and a world to call."""

from typing import Any

from tests.api.people import RunningApp, Visitor

TYPES: dict[str, dict[str, str]] = {
    "CrawlerSource": {
        "id": "number",
        "name": "string",
        "slug": "string",
        "baseurl": "string",
        "extensionid": "string | null",
        "config": "object",
        "isenabled": "boolean",
        "lastsucceededat": "string | null",
        "lastfailedat": "string | null",
        "consecutivefails": "number",
        "createdat": "string",
        "updatedat": "string",
    },
    "ComicSource": {
        "id": "number",
        "comicid": "string",
        "sourceid": "number",
        "source": "object",
        "sourceid_ext": "string",
        "sourceurl": "string",
        "isactive": "boolean",
        "lastcrawlat": "string | null",
        "createdat": "string",
        "updatedat": "string",
    },
    "CrawlJob": {
        "id": "string",
        "sourceid": "number",
        "source": "object",
        "comicid": "string | null",
        "comic": "object | null",
        "status": "string",
        "scheduledat": "string",
        "startedat": "string | null",
        "finishedat": "string | null",
        "pagescount": "number",
        "errorcount": "number",
        "lasterror": "string | null",
        "triggeredby": "string | null",
        "triggeredbyuser": "object | null",
        "createdat": "string",
        "updatedat": "string",
    },
    "CrawlLog": {
        "id": "string",
        "jobid": "string",
        "level": "string",
        "message": "string",
        "meta": "object | null",
        "createdat": "string",
    },
    "Health": {
        "id": "number",
        "name": "string",
        "isenabled": "boolean",
        "consecutivefails": "number",
        "lastsucceededat": "string | null",
        "lastfailedat": "string | null",
        "jobs": "object",
        "lastjob": "object | null",
    },
}
KINDS: dict[str, Any] = {"string": str, "number": (int, float), "boolean": bool, "object": dict, "null": type(None)}

SOURCE_TEXTS = {
    "name": "A source with this name already exists",
    "slug": "A source with this slug already exists",
    "baseurl": "BaseURL must be a valid HTTPS URL",
}


class CrawlerFixture:
    """A source, a comic that it has, a job, and somebody who may look at them."""

    def __init__(self, app: RunningApp, admin: Visitor, ids: dict[str, Any]) -> None:
        self.app = app
        self.admin = admin
        self.ids = ids

    def path(self, template: str) -> str:
        return template.format(**self.ids)

    async def done(self, method: str, template: str, body: Any, status: int = 200) -> Any:
        """The data of a request that goes well."""
        answer = await self.admin.ask(method, self.path(template), body)
        assert answer.status == status, answer.text
        return answer.json()["data"] if answer.body else None

    async def audit_events(self, entity: str) -> list[str]:
        """What the audit log has of this kind, the newest first."""
        rows = (await self.admin.get(f"/admin/auditlog?entitytype={entity}")).json()["data"]
        return [row["action"] for row in rows]

    async def data(self, template: str) -> Any:
        answer = await self.admin.get(self.path(template))
        assert answer.status == 200, answer.text
        return answer.json()["data"]

    async def refused(self, method: str, template: str, body: Any = None) -> tuple[int, str, str]:
        """Status, code and text of an error."""
        answer = await self.admin.ask(method, self.path(template), body)
        said = answer.json()
        return answer.status, said["code"], said["error"]


def fits(value: Any, kinds: str) -> bool:
    return any(
        isinstance(value, KINDS[kind]) and not (kind == "number" and isinstance(value, bool))
        for kind in kinds.split(" | ")
    )


def is_a(name: str, value: dict[str, Any]) -> None:
    wrong = {
        field: value.get(field, "missing") for field, kinds in TYPES[name].items() if not fits(value.get(field), kinds)
    }
    assert TYPES[name].keys() <= value.keys()
    assert wrong == {}
