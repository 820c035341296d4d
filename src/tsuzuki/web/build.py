"""Builds all pages."""

from collections.abc import Callable

import msgspec

from tsuzuki.http.middleware import ErrorPage, FramedPage
from tsuzuki.http.routing import Resource
from tsuzuki.web.account import account_pages, token_pages
from tsuzuki.web.admin.audit import audit_page
from tsuzuki.web.admin.dashboard import dashboard_pages
from tsuzuki.web.admin.dead_letters import letter_pages
from tsuzuki.web.admin.jobs import job_pages
from tsuzuki.web.admin.people import people_pages, person_pages
from tsuzuki.web.admin.settings import server_pages
from tsuzuki.web.admin.source_form import source_form_pages
from tsuzuki.web.admin.sources import mapping_add_page, mapping_pages, source_pages
from tsuzuki.web.admin.tenants import tenant_pages
from tsuzuki.web.api_docs import Json, docs_page
from tsuzuki.web.app_links import app_link_pages
from tsuzuki.web.apps import apps_page
from tsuzuki.web.article.page import article_page
from tsuzuki.web.billing import billing_pages
from tsuzuki.web.bookmarks import bookmark_pages
from tsuzuki.web.channels import channel_pages
from tsuzuki.web.device_passwords import device_password_page
from tsuzuki.web.discover import discover_pages, preview_page, source_page
from tsuzuki.web.errors import error_page, framed_errors
from tsuzuki.web.feeds.feed import adding_pages, changing_page, feed_acts
from tsuzuki.web.feeds.groups import group_pages
from tsuzuki.web.feeds.page import feeds_page, list_page
from tsuzuki.web.feeds_out import feed_out_acts, feeds_out_page
from tsuzuki.web.imports import import_pages
from tsuzuki.web.inbox.marks import mark_pages
from tsuzuki.web.inbox.page import home_page, states_page
from tsuzuki.web.library import history_pages, library_pages
from tsuzuki.web.offline import offline_pages
from tsuzuki.web.push import push_resources
from tsuzuki.web.reader import reader_page
from tsuzuki.web.search import search_page
from tsuzuki.web.series import chapter_acts, following_acts, linking_page, series_page, setting_acts
from tsuzuki.web.settings import settings_page
from tsuzuki.web.shelves import own_shelf_pages
from tsuzuki.web.sign_in import invite_page, provider_page, setup_page, sign_in_page, sign_out_page
from tsuzuki.web.site import Site
from tsuzuki.web.styleguide import styleguide_page


class Web(msgspec.Struct, frozen=True):
    """What the server serves, and how it shows an error to a person."""

    resources: tuple[Resource, ...]
    error_page: ErrorPage
    framed_page: FramedPage


def build_web(site: Site, document: Callable[[], Json]) -> Web:
    """Every page; a new one is added here."""
    resources = (
        home_page(site),
        states_page(site),
        article_page(site),
        *mark_pages(site),
        setup_page(site),
        sign_in_page(site),
        provider_page(site),
        invite_page(site),
        sign_out_page(site),
        *library_pages(site),
        *history_pages(site),
        series_page(site),
        *app_link_pages(site),
        reader_page(site),
        linking_page(site),
        *chapter_acts(site),
        *following_acts(site),
        *setting_acts(site),
        *discover_pages(site),
        source_page(site),
        preview_page(site),
        feeds_page(site),
        *adding_pages(site),
        changing_page(site),
        *feed_acts(site),
        *group_pages(site),
        list_page(site),
        *import_pages(site),
        search_page(site),
        *bookmark_pages(site),
        *channel_pages(site),
        *push_resources(site),
        feeds_out_page(site),
        *feed_out_acts(site),
        *billing_pages(site),
        settings_page(site),
        *dashboard_pages(site),
        *server_pages(site),
        *source_pages(site),
        *source_form_pages(site),
        *mapping_pages(site),
        mapping_add_page(site),
        *job_pages(site),
        *letter_pages(site),
        audit_page(site),
        *people_pages(site),
        *person_pages(site),
        *tenant_pages(site),
        styleguide_page(site),
        *offline_pages(site.pages),
        *account_pages(site),
        *own_shelf_pages(site),
        *token_pages(site),
        device_password_page(site),
        apps_page(site),
        docs_page(site.pages, document),
        site.pages.assets.resource(site.pages.texts),
    )
    return Web(resources, error_page(site.pages), framed_errors(site))
