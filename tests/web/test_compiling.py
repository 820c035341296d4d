"""Our compiler of templates gives what Jinja's own gives, letter by letter."""

from typing import Any

import pytest
from jinja2 import DictLoader, Environment, StrictUndefined, UndefinedError
from markupsafe import Markup

from tsuzuki.web.compiling import QuickEnvironment, put

OPTIONS: dict[str, Any] = {"autoescape": True, "undefined": StrictUndefined, "trim_blocks": True, "lstrip_blocks": True}
TEMPLATES = {
    "base": "<title>{% block title %}{{ name }}{% endblock %}</title>\n{% block main %}{% endblock %}{{ told('end') }}",
    "parts": "{% macro row(one, class='a') %}<li class='{{ class }}'>{{ one }}{% if caller is defined %}{{ caller() }}"
    "{% endif %}</li>{% endmacro %}",
    "child": '{% extends "base" %}{% from "parts" import row %}{% block title %}{{ super() }} & more{% endblock %}'
    "{% block main %}{% for one in many %}{{ row(one) }}{{ loop.index }}{% else %}none{% endfor %}"
    "{% call row('<', class=name) %}{{ name }}{% endcall %}{% endblock %}",
    "values": "{{ name }}|{{ number }}|{{ none }}|{{ yes }}|{{ markup }}|{{ many }}|{{ name ~ markup }}|"
    "{{ 'a' if yes }}|{{ told('<b>') }}|{{ told(name) }}|{{ drawn('x') }}|{{ drawn('x', label=name) }}|"
    "{{ name|upper }}|{{ number + 1 }}",
    "kept": "{% set shown %}{{ name }}{{ told('<') }}{% endset %}{{ shown }}{{ shown|length }}",
    "named": "{% set told = other %}{{ told('mine') }}{% for drawn in many %}{{ drawn }}{% endfor %}",
    "own": "{% macro told(key) %}<i>{{ key }}</i>{% endmacro %}",
    "imported": '{% from "own" import told %}{{ told("<") }}{{ drawn("x") }}',
    "renamed": '{% from "parts" import row as told %}{{ told("<") }}{{ drawn("x") }}',
    "spread": "{{ told(*['<'], **{}) }}{{ drawn('x', **{'label': '&'}) }}",
}
VALUES: dict[str, Any] = {
    "name": "<\"Tom\" & 'Jerry'>",
    "number": 12,
    "yes": True,
    "markup": Markup("<b>&amp;</b>"),
    "many": ["<", 1, Markup("<i>")],
    "other": "({})".format,
}


def told(key: str) -> str:
    return f"said {key}"


def drawn(name: str, label: str = "") -> Markup:
    return Markup('<svg id="{}" title="{}">').format(name, label)


@pytest.mark.parametrize("name", ["child", "values", "kept", "named", "imported", "renamed", "own", "spread"])
def test_a_page_is_what_jinja_makes_of_it(name):
    usual = Environment(loader=DictLoader(TEMPLATES), **OPTIONS)
    usual.globals.update(told=told, drawn=drawn)
    ours = QuickEnvironment({"told": told, "drawn": drawn}, loader=DictLoader(TEMPLATES), **OPTIONS)
    assert ours.get_template(name).render(VALUES) == usual.get_template(name).render(VALUES)


def test_what_is_fixed_is_worked_out_once_and_escaped():
    asked = []

    def noted(text: str) -> str:
        asked.append(text)
        return text

    pages = QuickEnvironment({"say": noted}, loader=DictLoader({"page": "{{ say('<') }}{{ say(name) }}"}), **OPTIONS)
    page = pages.get_template("page")
    assert [page.render(name="a"), page.render(name="b>")] == ["&lt;a", "&lt;b&gt;"]
    assert asked == ["<", "a", "b>"]


def test_a_name_that_is_not_there_is_an_error():
    pages = QuickEnvironment({}, loader=DictLoader({"page": "<p>{{ nobody }}</p>"}), **OPTIONS)
    with pytest.raises(UndefinedError, match="nobody"):
        pages.get_template("page").render()


class Kind(str):
    """A text of a class of its own, as an enumeration has."""

    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "shown"),
    [("<&>\"'", "&lt;&amp;&gt;&#34;&#39;"), (Kind("<"), "&lt;"), (Markup("<b>"), "<b>"), (1, "1"), (True, "True")],
)
def test_every_text_is_escaped_but_markup(value, shown):
    """I7"""
    assert put(value) == shown
