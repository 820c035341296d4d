"""What answers people and programs: the pages, the API, and what reader apps speak.

`BuiltLater` imports this with the first request. It takes a quarter of a start, and memory, which a process that nobody
has called yet need not spend.
"""

from collections.abc import Callable, Mapping

from starlette.types import ASGIApp

from tsuzuki import __version__
from tsuzuki.api.build import build_api
from tsuzuki.api.endpoints import AccountsGate
from tsuzuki.http.metrics import Metrics
from tsuzuki.http.middleware import build_app
from tsuzuki.http.services import Services
from tsuzuki.model.structs import copied
from tsuzuki.model.times import Millis
from tsuzuki.protocols.access import ProtocolDeps
from tsuzuki.protocols.build import build_protocols
from tsuzuki.settings import Settings, effective
from tsuzuki.web.build import build_web
from tsuzuki.web.renderer import Pages
from tsuzuki.web.site import SettingRow, Site
from tsuzuki.web.texts import InReadersLanguage, load_languages


def build_front(
    services: Services, metrics: Metrics, settings: Settings, *, environ: Mapping[str, str], clock: Callable[[], Millis]
) -> ASGIApp:
    """The application; `environ` is where the settings came from."""
    api = build_api(copied(Services, services), version=__version__, gate=AccountsGate(services.callers))
    protocol_deps = ProtocolDeps(services, clock, settings.public_url, settings.cors_allowed_origins)
    rows = effective_settings(settings, environ)
    site = copied(Site, services, pages=Pages(__version__), settings=rows, public_url=settings.public_url)
    web = build_web(site, api.document)
    app = build_app(
        [*api.resources, *build_protocols(protocol_deps), *web.resources],
        metrics=metrics,
        error_page=web.error_page,
        framed_page=web.framed_page,
        allowed_origins=settings.cors_allowed_origins,
        is_https=settings.is_https,
    )
    return InReadersLanguage(app, load_languages())


def effective_settings(settings: Settings, environ: Mapping[str, str]) -> tuple[SettingRow, ...]:
    """The settings as the operator sees them."""
    return tuple(
        copied(SettingRow, one, is_set=one.origin == "environment", group=one.variable.group, says=one.variable.says)
        for one in effective(settings, environ)
    )
