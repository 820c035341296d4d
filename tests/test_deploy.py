"""The files under deploy/ fit the program: nothing builds them here, so what they name is looked up."""

import re
from pathlib import Path

import yaml

from tsuzuki.cli import main
from tsuzuki.settings import variables

DEPLOY = Path(__file__).parents[1] / "deploy"
CONTAINER = (DEPLOY / "Containerfile").read_text("utf-8")
UNIT = (DEPLOY / "tsuzuki.service").read_text("utf-8")
COMPOSE = (DEPLOY / "compose.yaml").read_text("utf-8")


def test_every_setting_that_is_named_exists():
    named = set(re.findall(r"\bTSUZUKI_[A-Z_]+", CONTAINER + UNIT + COMPOSE))
    assert "TSUZUKI_DATA_DIR" in named
    assert named <= set(variables())


def test_the_container_installs_like_tools_venv():
    venv = (DEPLOY.parent / "tools" / "venv").read_text("utf-8")
    for step in ("--no-deps --require-hashes --requirement", "--no-deps --no-build-isolation"):
        assert step in CONTAINER
        assert step in venv
    copied = [
        name for line in re.findall(r"^COPY (?!--from)(.+) \S+$", CONTAINER, re.MULTILINE) for name in line.split()
    ]
    assert "pyproject.toml" in copied
    assert [name for name in copied if not (DEPLOY.parent / name).exists()] == []


def test_commands_of_services_are_commands_of_ours():
    services = yaml.safe_load(COMPOSE)["services"]
    begun = {service["command"][0] for name, service in services.items() if name in ("server", "worker")}
    [unit] = re.findall(r"^ExecStart=/opt/tsuzuki/\.venv/bin/tsuzuki (\w+)$", UNIT, re.MULTILINE)
    [container] = re.findall(r'^CMD \["(\w+)"\]$', CONTAINER, re.MULTILINE)
    assert begun | {unit, container} <= set(main.commands)
