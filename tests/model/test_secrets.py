import pytest

from tsuzuki.model.secrets import is_secret, mask_text


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("postgresql://ann:p@ss@db:5432/x", "postgresql://ann:***@db:5432/x"),
        ("to socks5h://:word@proxy and on", "to socks5h://:***@proxy and on"),
        ("https://example.org/a:b@c", "https://example.org/a:b@c"),
        ("Authorization: Bearer abcdef123456", "Authorization: ***"),
        ("sent Bearer abcdef123456 twice", "sent Bearer *** twice"),
        ("GET /x?token=abc&page=2", "GET /x?token=***&page=2"),
        ('{"api_key": "abc", "page": 2}', '{"api_key": "***", "page": 2}'),
        ("Set-Cookie: session=abc; HttpOnly\nnext line", "Set-Cookie: ***\nnext line"),
        ("the basic idea of a token", "the basic idea of a token"),
        ("nothing to hide", "nothing to hide"),
    ],
)
def test_sec_39_a_secret_in_a_text_is_masked(text, masked):
    assert mask_text(text) == masked


@pytest.mark.parametrize("text", ["a.a." * 20_000, "token" * 20_000, "a://" * 20_000, "x:" * 40_000, "\\" * 80_000])
@pytest.mark.timeout(5)
def test_sec_21_a_hostile_text_is_masked_in_linear_time(text):
    assert len(mask_text(text)) <= len(text) + 10


@pytest.mark.parametrize("name", ["password", "X-Api-Key", "refresh_token", "Cookie", "AUTHORIZATION", "client-secret"])
def test_a_name_that_promises_a_secret_is_known(name):
    assert is_secret(name)


@pytest.mark.parametrize("name", ["path", "key", "status", "request_id"])
def test_an_ordinary_name_hides_nothing(name):
    assert not is_secret(name)
