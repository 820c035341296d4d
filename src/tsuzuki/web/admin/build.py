"""Every page of the desk; a new one is added here."""

from tsuzuki.http.routing import Resource
from tsuzuki.web.admin.audit import audit_page
from tsuzuki.web.admin.dashboard import dashboard_pages
from tsuzuki.web.admin.jobs import job_pages
from tsuzuki.web.admin.letters import letter_pages
from tsuzuki.web.admin.mappings import mapping_add_page, mapping_pages
from tsuzuki.web.admin.people import people_pages, person_pages
from tsuzuki.web.admin.settings import failing_feeds_page, in_force_page, retention_page
from tsuzuki.web.admin.source_form import source_form_pages
from tsuzuki.web.admin.sources import source_pages
from tsuzuki.web.admin.tenants import tenant_pages
from tsuzuki.web.site import Site


def desk_pages(site: Site) -> tuple[Resource, ...]:
    """For administrators only."""
    return (
        *dashboard_pages(site),
        failing_feeds_page(site),
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
        in_force_page(site),
        retention_page(site),
    )
