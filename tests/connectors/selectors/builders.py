"""A small definition, changed in the place that a test is about."""

from textwrap import dedent

from tsuzuki.connectors.config import SourceConfig
from tsuzuki.connectors.selectors.connector import SelectorsSource
from tsuzuki.connectors.selectors.definition import Definition
from tsuzuki.connectors.selectors.reader import load_definition

CONFIG = SourceConfig()
SITE = "https://site.example"

HEAD = """\
id: example.site
name: Site
language: en
base_url: https://site.example
"""
POPULAR = """\
popular:
  url: /list?page={page}
  each: li
  link: a@href
  title: a
"""
CHAPTERS = """\
chapters:
  each: li
  link: a@href
  title: a
"""
PAGES = """\
pages:
  each: img
  image: "@src"
"""
SMALL = HEAD + POPULAR + CHAPTERS + PAGES


def a_definition(text: str = SMALL) -> Definition:
    return load_definition(dedent(text), "site.yaml")


def a_source(text: str = SMALL) -> SelectorsSource:
    return SelectorsSource(a_definition(text))
