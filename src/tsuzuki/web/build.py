"""All pages."""

import msgspec

from tsuzuki.edge.boundary import ErrorPage
from tsuzuki.edge.routing import Resource
from tsuzuki.web.api_docs import Json, docs_page
from tsuzuki.web.errors import error_page
from tsuzuki.web.home import home_page
from tsuzuki.web.rendering import Pages


class Web(msgspec.Struct, frozen=True):
    """What the edge serves, and how it shows an error to a person."""

    resources: tuple[Resource, ...]
    error_page: ErrorPage


def build_web(*, version: str, engine: str, document: Json) -> Web:
    """Every page; a new one is added here."""
    pages = Pages(version)
    resources = (home_page(pages, engine), docs_page(pages, document), pages.assets.resource())
    return Web(resources, error_page(pages))
