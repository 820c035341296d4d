"""All pages."""

from collections.abc import Callable

import msgspec

from tsuzuki.http.boundary import ErrorPage, FramedPage
from tsuzuki.http.routing import Resource
from tsuzuki.web.account.device_passwords import device_password_page
from tsuzuki.web.account.devices import device_pages
from tsuzuki.web.account.identity import identity_pages
from tsuzuki.web.account.page import account_page
from tsuzuki.web.account.password import password_page
from tsuzuki.web.account.shelves import own_shelf_pages
from tsuzuki.web.account.tokens import token_pages
from tsuzuki.web.admin.build import desk_pages
from tsuzuki.web.api_docs import Json, docs_page
from tsuzuki.web.article.page import article_page
from tsuzuki.web.auth.invite import invite_page
from tsuzuki.web.auth.provider import provider_page
from tsuzuki.web.auth.setup import setup_page
from tsuzuki.web.auth.sign_in import sign_in_page
from tsuzuki.web.auth.sign_out import sign_out_page
from tsuzuki.web.billing.invoice import invoice_page
from tsuzuki.web.billing.overview import billing_page, statement_page
from tsuzuki.web.billing.shelves import shelf_pages
from tsuzuki.web.bookmarks import bookmark_pages
from tsuzuki.web.channels import channel_pages
from tsuzuki.web.discover.page import discover_pages
from tsuzuki.web.discover.series import preview_page
from tsuzuki.web.discover.source import source_page
from tsuzuki.web.errors import error_page, framed_errors
from tsuzuki.web.feeds.acts import feed_acts
from tsuzuki.web.feeds.adding import adding_pages
from tsuzuki.web.feeds.changing import changing_page
from tsuzuki.web.feeds.groups import group_acts, group_pages
from tsuzuki.web.feeds.lists import list_page
from tsuzuki.web.feeds.page import feeds_page
from tsuzuki.web.home import home_page
from tsuzuki.web.inbox.marking import marking_pages
from tsuzuki.web.inbox.page import states_page
from tsuzuki.web.library.history import history_pages
from tsuzuki.web.library.page import library_pages
from tsuzuki.web.offline import offline_pages
from tsuzuki.web.reader.page import reader_page
from tsuzuki.web.search import search_page
from tsuzuki.web.series.acts import following_acts, marking_acts, refreshing_acts
from tsuzuki.web.series.keeping import keeping_acts
from tsuzuki.web.series.page import series_page
from tsuzuki.web.series.settings import setting_acts
from tsuzuki.web.settings import settings_page
from tsuzuki.web.site import Site
from tsuzuki.web.styleguide import styleguide_page


class Web(msgspec.Struct, frozen=True):
    """What the edge serves, and how it shows an error to a person."""

    resources: tuple[Resource, ...]
    error_page: ErrorPage
    framed_page: FramedPage


def build_web(site: Site, document: Callable[[], Json]) -> Web:
    """Every page; a new one is added here."""
    resources = (
        home_page(site),
        states_page(site),
        article_page(site),
        *marking_pages(site),
        setup_page(site),
        sign_in_page(site),
        provider_page(site),
        invite_page(site),
        sign_out_page(site),
        *library_pages(site),
        *history_pages(site),
        series_page(site),
        reader_page(site),
        *marking_acts(site),
        *following_acts(site),
        *refreshing_acts(site),
        *setting_acts(site),
        *keeping_acts(site),
        *discover_pages(site),
        source_page(site),
        preview_page(site),
        feeds_page(site),
        *adding_pages(site),
        changing_page(site),
        *feed_acts(site),
        *group_pages(site),
        *group_acts(site),
        list_page(site),
        search_page(site),
        *bookmark_pages(site),
        *channel_pages(site),
        invoice_page(site),
        billing_page(site),
        statement_page(site),
        *shelf_pages(site),
        settings_page(site),
        *desk_pages(site),
        styleguide_page(site),
        *offline_pages(site.pages),
        account_page(site),
        password_page(site),
        *own_shelf_pages(site),
        *device_pages(site),
        *token_pages(site),
        device_password_page(site),
        *identity_pages(site),
        docs_page(site.pages, document),
        site.pages.assets.resource(),
    )
    return Web(resources, error_page(site.pages), framed_errors(site))
