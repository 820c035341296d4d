"""Character references that nobody writes, in what is cleaned."""

from tsuzuki.connectors.html.sanitiser import sanitise


def test_a_number_of_thousands_of_digits_is_cleaned():
    """It was a failure of ours: of a bookmark's content, and of every poll of the feed that had it."""
    assert sanitise("<div>" * 1_000 + "&#" + "9" * 5_000 + ";x", "https://example.org/") == "\ufffdx"
