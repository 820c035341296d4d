"""What templates put out is escaped."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import DictLoader, StrictUndefined, UndefinedError
from markupsafe import Markup, escape

from tsuzuki.web.renderer import Templates, escaped


class Shouted(str):
    """A text that is not quite a plain one."""

    __slots__ = ()

    def __str__(self) -> str:
        return "<" + self.upper() + ">"


class Drawn:
    def __html__(self) -> str:
        return "<b>drawn</b>"

    def __str__(self) -> str:
        return "<never>"


@given(st.text() | st.sampled_from("&<>'\"") | st.integers() | st.none() | st.builds(Markup, st.text()))
def test_whatever_it_is_escaping_says_what_markupsafe_does(value):
    assert str(escaped(value)) == str(escape(value))


@pytest.mark.parametrize("value", ["&", "<", ">", "'", '"', "a<b", Shouted("a"), Drawn(), 1.5, True])
def test_special_characters_and_odd_values_are_escaped_as_markupsafe_does(value):
    assert str(escaped(value)) == str(escape(value))


TEMPLATE = """
{%- macro twice(text) %}<i>{{ text }}{{ text }}</i>{% endmacro -%}
{%- set block %}<u>{{ bad }}</u>{% endset -%}
{{ bad }}|{{ "<" }}|{{ bad ~ "x" }}|{{ twice(bad) }}|{{ block }}|{{ safe }}|{{ bad|upper }}|{{ twice(block) }}|{{ 3 }}
"""


def test_a_template_escapes_once_wherever_a_value_comes_from():
    templates = Templates(loader=DictLoader({"page": TEMPLATE}), autoescape=True, undefined=StrictUndefined)
    shown = templates.get_template("page").render(bad="<&", safe=Markup("<p>"))
    assert shown.strip().split("|") == [
        "&lt;&amp;",
        "&lt;",
        "&lt;&amp;x",
        "<i>&lt;&amp;&lt;&amp;</i>",
        "<u>&lt;&amp;</u>",
        "<p>",
        "&lt;&amp;",
        "<i><u>&lt;&amp;</u><u>&lt;&amp;</u></i>",
        "3",
    ]


def test_a_name_that_is_missing_is_an_error():
    templates = Templates(loader=DictLoader({"page": "{{ nobody }}"}), autoescape=True, undefined=StrictUndefined)
    with pytest.raises(UndefinedError):
        templates.get_template("page").render()
