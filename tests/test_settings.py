import os
import subprocess
import sys
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path

import pytest

import tsuzuki
from tools import settings_docs as docs
from tsuzuki.settings import (
    BadSetting,
    Settings,
    checkout,
    effective,
    read_settings,
    unknown_variables,
    variables,
)

ROOT = Path(__file__).parent.parent
HOME = {"HOME": "/home/ann"}


def read(**said: str) -> Settings:
    return read_settings({**HOME, **{f"TSUZUKI_{name}": value for name, value in said.items()}})


def refusal(**said: str) -> str:
    with pytest.raises(BadSetting) as refused:
        read(**said)
    return str(refused.value)


def test_without_variables_every_setting_has_its_default():
    settings = read()
    assert (settings.host, settings.port) == ("127.0.0.1", 8080)
    assert (settings.database_min_conns, settings.database_max_conns) == (2, 10)
    assert settings.pull_interval == 1_800_000
    assert settings.pull_timeout == 30_000
    assert settings.pull_concurrency == 10
    assert settings.pull_max_backoff == 172_800_000
    assert (settings.login_limit, settings.login_window, settings.login_block) == (10, 60_000, 300_000)
    ttls = (settings.manga_list_ttl, settings.manga_detail_ttl, settings.chapter_list_ttl)
    assert ttls == (600_000, 3_600_000, 600_000)
    assert settings.task_lease == 30_000
    assert settings.disable_threshold == 5
    assert (settings.log_level, settings.log_format) == ("info", "auto")
    assert settings.billing is False
    assert settings.allow_empty_password is False
    assert settings.trusted_proxies == settings.allow_private_networks == settings.cors_allowed_origins == ()
    unset = (settings.redis_url, settings.password, settings.contact_url, settings.flaresolverr_url)
    assert unset == (None, None, None, None)
    assert settings.oidc_issuer is settings.oidc_client_id is settings.oidc_allowed_user is None


def test_an_empty_variable_counts_as_unset():
    assert read(PORT="", REDIS_URL="  ", TRUSTED_PROXIES="") == read()


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("30", 30_000), ("30s", 30_000), ("15m", 900_000), ("48h", 172_800_000), ("2D", 172_800_000), (" 7s ", 7_000)],
)
def test_a_duration_is_seconds_or_has_a_unit(text, milliseconds):
    assert read(PULL_TIMEOUT=text).pull_timeout == milliseconds


@pytest.mark.parametrize("text", ["", "1", "true", "YES", "on"])
def test_a_switch_is_on_by_any_usual_word(text):
    assert read(BILLING=text).billing is bool(text)


@pytest.mark.parametrize("text", ["0", "False", "no", "off"])
def test_a_switch_is_off_by_any_usual_word(text):
    assert read(BILLING=text).billing is False


def test_networks_are_addresses_or_ranges_with_commas_between():
    found = read(TRUSTED_PROXIES="127.0.0.1, 10.1.2.3/8,::1").trusted_proxies
    assert found == (IPv4Network("127.0.0.1/32"), IPv4Network("10.0.0.0/8"), IPv6Network("::1/128"))


BAD = [
    ("PORT", "http", "'http'", "a port from 1 to 65535"),
    ("PORT", "70000", "'70000'", "a port"),
    ("PORT", "-1", "'-1'", "a port"),
    ("PORT", "８０", "'\\\\uff18", "a port"),
    ("PULL_INTERVAL", "0", "'0'", "at least 1 s"),
    ("PULL_INTERVAL", "soon", "'soon'", "30s, 15m, 48h"),
    ("PULL_INTERVAL", "1e3", "'1e3'", "seconds"),
    ("PULL_INTERVAL", "999999999h", "'999999999h'", "seconds"),
    ("PULL_CONCURRENCY", "0", "'0'", "from 1 to"),
    ("DATABASE_MAX_CONNS", "1", "'1'", "at least TSUZUKI_DATABASE_MIN_CONNS, which is 2"),
    ("PULL_MAX_BACKOFF", "60", "'60s'", "at least TSUZUKI_PULL_INTERVAL, which is 1800s"),
    ("DATABASE_URL", "mysql://root@db/x", "mysql", "sqlite:///file"),
    ("DATABASE_URL", "sqlite:///", "sqlite", "sqlite:///file"),
    ("DATABASE_URL", "sqlite:///:memory:", "memory", "sqlite:///file"),
    ("DATABASE_URL", "postgresql:///nohost", "nohost", "postgresql://user"),
    ("DATABASE_URL", "postgresql://h:port/x", "port", "postgresql://user"),
    ("DATABASE_READ_URL", "sqlite:///copy.db", "copy", "postgresql://user"),
    ("REDIS_URL", "127.0.0.1:6379", "127.0.0.1", "redis://"),
    ("CONTACT_URL", "me@example.org", "me@", "mailto:"),
    ("FLARESOLVERR_URL", "ftp://solver", "ftp", "https://"),
    ("OIDC_ISSUER", "https://a b", "a b", "https://"),
    ("TRUSTED_PROXIES", "127.0.0.1, *", "*", "networks separated by commas"),
    ("ALLOW_PRIVATE_NETWORKS", "10.0.0.0/40", "10.0.0.0/40", "networks separated by commas"),
    ("CORS_ALLOWED_ORIGINS", "*", "'*'", "origins"),
    ("CORS_ALLOWED_ORIGINS", "https://a.example/path", "path", "origins"),
    ("LOG_LEVEL", "loud", "'loud'", "debug, info, warning or error"),
    ("LOG_FORMAT", "xml", "'xml'", "auto, text or json"),
    ("BILLING", "maybe", "'maybe'", "on or off"),
]


@pytest.mark.parametrize(("name", "value", "got", "takes"), BAD)
def test_a_bad_value_is_refused_in_one_helpful_line(name, value, got, takes):
    said = refusal(**{name: value})
    assert said.startswith(f"TSUZUKI_{name} is ")
    assert got in said
    assert takes in said
    assert "\n" not in said


def test_a_replica_belongs_to_another_postgresql():
    url = "postgresql://reader@host/tsuzuki"
    assert "SQLite, which has no replicas" in refusal(DATABASE_READ_URL=url)
    assert "must be a replica" in refusal(DATABASE_READ_URL=url, DATABASE_URL=url)
    assert read(DATABASE_READ_URL=url, DATABASE_URL=url.replace("host", "first")).database_read_url == url


def test_sec_39_a_refused_address_is_shown_without_its_password():
    said = refusal(DATABASE_URL="mysql://root:hunter2@db/x")
    assert "hunter2" not in said
    assert "root:***@db" in said


def test_r76_no_password_at_all_needs_a_loopback_host():
    assert read(ALLOW_EMPTY_PASSWORD="on", HOST="::1").allow_empty_password
    assert "TSUZUKI_HOST is 0.0.0.0" in refusal(ALLOW_EMPTY_PASSWORD="on", HOST="0.0.0.0")


def test_signing_in_with_a_provider_needs_all_its_parts():
    assert "TSUZUKI_OIDC_CLIENT_SECRET is not set" in refusal(OIDC_ISSUER="https://id.example", OIDC_CLIENT_ID="t")
    rest = {"OIDC_ISSUER": "https://id.example", "OIDC_CLIENT_ID": "t", "OIDC_CLIENT_SECRET": "s"}
    assert "TSUZUKI_OIDC_REDIRECT_URI is not set" in refusal(**rest)
    assert read(**rest, PUBLIC_URL="https://reader.example.org").oidc_redirect_uri is None


@pytest.mark.parametrize("url", ["https://reader.example.org", "https://reader.example.org/", "http://127.0.0.1:8080"])
def test_a_public_address_is_an_origin(url):
    assert read(PUBLIC_URL=url).public_url == url.rstrip("/")
    assert "without a path" in refusal(PUBLIC_URL=f"{url.rstrip('/')}/below")


def test_data_is_beside_a_checkout_or_in_the_users_folder():
    assert read_settings(HOME, beside=Path("/src/tsuzuki")).data_dir == Path("/src/tsuzuki/data")
    assert read_settings(HOME).data_dir == Path("/home/ann/.local/share/tsuzuki")
    assert read_settings({**HOME, "XDG_DATA_HOME": "/xdg"}).data_dir == Path("/xdg/tsuzuki")
    assert read_settings({**HOME, "XDG_DATA_HOME": "xdg"}).data_dir == Path("/home/ann/.local/share/tsuzuki")
    assert read(DATA_DIR="~/comics").data_dir == Path("/home/ann/comics")
    with pytest.raises(BadSetting, match="TSUZUKI_DATA_DIR"):
        read_settings({})


def test_a_checkout_is_known_by_its_project_file(tmp_path):
    package = tmp_path / "src" / "tsuzuki"
    package.mkdir(parents=True)
    assert checkout(package) is None
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "other"\n', "utf-8")
    assert checkout(package) is None
    assert checkout(Path(tsuzuki.__file__).parent) == ROOT


@pytest.mark.parametrize(
    ("url", "stored"),
    [
        ("sqlite:///tsuzuki.db", "sqlite:///srv/t/tsuzuki.db"),
        ("sqlite:///sub/x.db", "sqlite:///srv/t/sub/x.db"),
        ("sqlite:////var/x.db", "sqlite:///var/x.db"),
        ("postgresql://u@h/db", "postgresql://u@h/db"),
    ],
)
def test_a_relative_sqlite_path_counts_from_the_data_folder(url, stored):
    assert read(DATA_DIR="/srv/t", DATABASE_URL=url).database_url == stored


def test_an_unknown_variable_is_named_with_the_nearest():
    said = unknown_variables({"TSUZUKI_PROT": "1", "TSUZUKI_ZZZZZZ": "1", "TSUZUKI_PORT": "1", "OTHER": "1"})
    assert unknown_variables({"TSUZUKI_IMPORT_PASSWORD": "1"}) == []  # a command takes it
    assert said == [
        "TSUZUKI_PROT is not a known setting; did you mean TSUZUKI_PORT?",
        "TSUZUKI_ZZZZZZ is not a known setting.",
    ]


SECRETS = {
    "PASSWORD": "canary-one",
    "OIDC_CLIENT_SECRET": "canary-two",
    "DATABASE_URL": "postgresql://ann:canary%2Dthree@db/x",
    "REDIS_URL": "redis://:canary-four@127.0.0.1",
}


def test_sec_39_no_secret_is_shown_by_anything_that_describes_the_settings():
    environ = {**HOME, **{f"TSUZUKI_{name}": value for name, value in SECRETS.items()}}
    settings = read_settings(environ)
    shown = repr(settings) + repr([(one.name, one.value) for one in effective(settings, environ)])
    assert "canary" not in shown
    assert settings.secrets() >= {"canary-one", "canary-two", "canary-three", "canary%2Dthree", "canary-four"}


def test_what_is_in_force_says_where_it_came_from():
    environ = {**HOME, "TSUZUKI_PORT": "9000"}
    found = {one.name: one for one in effective(read_settings(environ), environ)}
    assert (found["TSUZUKI_PORT"].value, found["TSUZUKI_PORT"].origin) == ("9000", "environment")
    assert (found["TSUZUKI_HOST"].value, found["TSUZUKI_HOST"].origin) == ("127.0.0.1", "default")
    assert found["TSUZUKI_DATABASE_URL"].value == "sqlite:////home/ann/.local/share/tsuzuki/tsuzuki.db"


@pytest.mark.parametrize("url", ["", "sqlite:///sub/x.db", "sqlite:////var/x.db"])
def test_a_copied_database_url_names_the_same_file(url):
    environ = {**HOME, "TSUZUKI_DATABASE_URL": url}
    settings = read_settings(environ)
    shown = next(one for one in effective(settings, environ) if one.name == "TSUZUKI_DATABASE_URL")
    again = read_settings({"HOME": "/elsewhere", "TSUZUKI_DATABASE_URL": shown.value})
    assert again.database_url == settings.database_url


@pytest.mark.parametrize(
    ("name", "text"), [("docs/settings.md", docs.markdown()), (".env.example", docs.env_example())]
)
def test_the_documents_say_what_the_program_reads(name, text):
    assert (ROOT / name).read_text("utf-8") == text, "stale: run tools/settings-docs"


def test_every_setting_says_what_it_is_for():
    for name, variable in variables().items():
        assert variable.says.endswith("."), name
        assert variable.kind.takes, name


def test_the_uncommented_example_file_changes_nothing():
    lines = [line[1:] for line in docs.env_example().splitlines() if line.startswith("#TSUZUKI_")]
    assert read_settings({**HOME, **dict(line.split("=", 1) for line in lines)}) == read()


def test_process_variables_override_the_file_beside_a_checkout(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "tsuzuki").symlink_to(Path(tsuzuki.__file__).parent)
    (tmp_path / "pyproject.toml").write_text('name = "tsuzuki"', "utf-8")
    (tmp_path / ".env").write_text("# mine\n\nTSUZUKI_PORT=8477\nexport TSUZUKI_HOST='::1'\n", "utf-8")

    def settings(**variables: str) -> "subprocess.CompletedProcess[str]":
        environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path / "src"), **variables}
        command = [sys.executable, "-m", "tsuzuki", "settings"]
        return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)

    assert "TSUZUKI_PORT=8477 " in settings().stdout
    assert "TSUZUKI_HOST=::1 " in settings().stdout
    assert "TSUZUKI_PORT=9000 " in settings(TSUZUKI_PORT="9000").stdout
    (tmp_path / ".env").write_text("TSUZUKI_PORT 8477\n", "utf-8")
    assert "line 1: write NAME=value" in settings().stderr
