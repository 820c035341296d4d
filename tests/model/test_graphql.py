"""GraphQL as a request."""

import msgspec

from tsuzuki.model.graphql import graphql


def test_an_operation_is_a_post_of_json():
    ask = graphql("https://a.example/api", "query($id: Int) { x(id: $id) }", {"id": 1}, headers={"X-A": "1"})
    assert (ask.method, ask.url) == ("POST", "https://a.example/api")
    assert ask.headers["Content-Type"] == "application/json"
    assert ask.headers["X-A"] == "1"
    assert msgspec.json.decode(ask.body or b"") == {"query": "query($id: Int) { x(id: $id) }", "variables": {"id": 1}}


def test_errors_in_the_body_reach_the_connector():
    assert 400 in graphql("https://a.example/", "{ x }").accept_statuses
    assert msgspec.json.decode(graphql("https://a.example/", "{ x }").body or b"") == {"query": "{ x }"}
