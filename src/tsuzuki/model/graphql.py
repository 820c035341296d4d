"""GraphQL is a POST of JSON: one function that says so."""

from collections.abc import Mapping
from typing import Any

import msgspec

from tsuzuki.model.fetching import Ask


def graphql(
    url: str, query: str, variables: Mapping[str, Any] | None = None, *, headers: Mapping[str, str] | None = None
) -> Ask:
    """The request for one GraphQL operation; its errors come as JSON in the body, also with status 400."""
    body: dict[str, Any] = {"query": query}
    if variables:
        body["variables"] = dict(variables)
    return Ask(
        url,
        method="POST",
        headers={
            "Content-Type": "application/json",
            "Accept": "application/graphql-response+json, application/json",
            **(headers or {}),
        },
        body=msgspec.json.encode(body),
        accept_statuses=frozenset({400}),
    )
