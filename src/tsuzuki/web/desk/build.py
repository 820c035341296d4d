"""Every page of the desk; a new one is added here."""

from tsuzuki.edge.routing import Resource
from tsuzuki.web.desk.audit import audit_page
from tsuzuki.web.desk.dashboard import dashboard_pages
from tsuzuki.web.desk.feeds import failing_feeds_page
from tsuzuki.web.desk.in_force import in_force_page
from tsuzuki.web.desk.jobs import job_pages
from tsuzuki.web.desk.letters import letter_pages
from tsuzuki.web.desk.mapping_add import mapping_add_page
from tsuzuki.web.desk.mappings import mapping_pages
from tsuzuki.web.desk.people import people_pages
from tsuzuki.web.desk.person import person_pages
from tsuzuki.web.desk.retention import retention_page
from tsuzuki.web.desk.source_form import source_form_pages
from tsuzuki.web.desk.sources import source_pages
from tsuzuki.web.desk.tenants import tenant_pages
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
