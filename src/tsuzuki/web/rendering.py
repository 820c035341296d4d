"""Templates to answers. Everything is escaped, and a name that a template misspells is an error."""

from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse

from tsuzuki.edge.assets import Assets

_OURS = "no-cache"


class Pages:
    """Renders the templates of this package; `version` is in every page's foot."""

    def __init__(self, version: str) -> None:
        self.assets = Assets(files("tsuzuki.web") / "static")
        self._templates = Environment(
            loader=PackageLoader("tsuzuki.web", "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._templates.globals.update(asset=self.assets.url, version=version)

    def render(
        self, template: str, *, status: int = 200, headers: dict[str, str] | None = None, **values: Any
    ) -> HTMLResponse:
        """The page, as an answer."""
        text = self._templates.get_template(template).render(values)
        return HTMLResponse(text, status, {"cache-control": _OURS, **(headers or {})})
