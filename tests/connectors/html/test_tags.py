"""R105: text that only looks like a tag stays text, formulas keep their words; what is never shown is left out."""

import pytest

from tests.connectors.html.test_sanitiser import BASE, offences_in
from tsuzuki.connectors.html.sanitiser import plain_text, sanitise
from tsuzuki.connectors.html.tags import formula_text


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("if x<y and z", "if x&lt;y and z"),
        ("<p>if a<b and b<c, then a<c.</p>", "<p>if a&lt;b and b&lt;c, then a&lt;c.</p>"),
        ("<p>a<b</p><p>c</p>", "<p>a&lt;b</p><p>c</p>"),
        ("<p>x<y</p>", "<p>x&lt;y</p>"),
        ("i<p and q>5 &amp; more", "i&lt;p and q&gt;5 &amp; more"),
        ("if (a<b && c>d) go", "if (a&lt;b &amp;&amp; c&gt;d) go"),
        ("a<b\n|| c>d", "a&lt;b\n|| c&gt;d"),
        ("p <q + r> s", "p &lt;q + r&gt; s"),
        ("t<u (and) v>w", "t&lt;u (and) v&gt;w"),
        ("<p>a List<String> of <b>words</b></p>", "<p>a List&lt;String&gt; of <b>words</b></p>"),
        ("#include <stdio.h>", "#include &lt;stdio.h&gt;"),
        ("mail <somebody@example.org>", "mail &lt;somebody@example.org&gt;"),
        ("see <https://blog.example/?a=b>", "see &lt;https://blog.example/?a=b&gt;"),
        ("<3 <p>hearts</p>", "&lt;3 <p>hearts</p>"),
        ("a <b<i>c</i>", "a &lt;b<i>c</i>"),
        ("a <", "a &lt;"),
        ("<y a=b", "&lt;y a=b"),
    ],
)
def test_text_that_looks_like_a_broken_tag_stays_text(html: str, expected: str):
    assert sanitise(html, BASE) == expected
    assert sanitise(expected, BASE) == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<p>words</p><img src="/cut', "<p>words</p>"),
        ("<p>words</p><a href='/x' title=\"", "<p>words</p>"),
        ('<o:p>words</o:p><fb:like href="x"></fb:like>', "words"),
        ("<my-own>words</my-own>", "words"),
        ("<invented>words</invented>", "words"),
        ("<text>words</text>", "words"),
        ("<line>wo</line><g>rds</g>", "words"),
        ("<p><math><mi>words</mi></p>", "<p>words</p>"),
        ("<td @click>words</td>", "words"),
        ("words<br / >", "words<br>"),
        ("<custom/>words", "words"),
        ('<thing with="values">words', "words"),
        ("<td nowrap>x</td>", "x"),
        ("<ol reversed><li>x</ol>", '<ol reversed=""><li>x</li></ol>'),
        ("<p class>x</p>", "<p>x</p>"),
        ("a<!-- <b>no</b> -->b<?php no ?>c<!no>d</ >e", "abcde"),
        ("<title>no</title><textarea>no</textarea><select><option>no</select>x", "x"),
        ("<svg><circle/><text>no</text></svg>x<svg/>y", "xy"),
        ("a<style>b</style>c<SCRIPT>d</script >e", "ace"),
        ("<iframe/>words", "words"),
    ],
)
def test_a_tag_that_was_meant_is_not_shown(html: str, expected: str):
    assert sanitise(html, BASE).replace("<p></p>", "") == expected


def test_words_keep_what_looks_like_a_tag_too():
    assert plain_text("x<y and <b>z</b> &amp; vector<int>") == "x<y and z & vector<int>"


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("<mi>x</mi><mo>=</mo><mn>2</mn>", "x=2"),
        ("<mfrac><mi>a</mi><mi>b</mi></mfrac>", "a/b"),
        ("<msup><mi>e</mi><mrow><mi>i</mi><mi>π</mi></mrow></msup>", "e^iπ"),
        ("<msub><mi>x</mi><mn>1</mn></msub>", "x_1"),
        ("<msqrt><mn>2</mn></msqrt>", "√2"),
        ("<semantics><mi>x</mi><annotation encoding='application/x-tex'>no</annotation></semantics>", "x"),
        ("<semantics><mi>x</mi><annotation-xml><b>no</b></annotation-xml></semantics>", "x"),
        ("\n  <mtext>if </mtext>\n  <mi>x</mi><mo>&lt;</mo><mi>y</mi>\n", "if x<y"),
        ("<mspace/><mi>x</mi>", "x"),
    ],
)
def test_a_formula_keeps_its_text(formula: str, words: str):
    assert formula_text(formula) == words
    shown = words.replace("<", "&lt;")
    assert sanitise(f"<p>so <math>{formula}</math> is</p>", BASE) == f"<p>so {shown} is</p>"
    assert plain_text(f"so <math>{formula}</math> is") == f"so {words} is"


ESCAPES = [
    '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">',
    "<math><annotation-xml encoding='text/html'><img src=x onerror=alert(1)></annotation-xml></math>",
    "<math><mi><mglyph><svg><mtext><textarea><path id='</textarea><img onerror=alert(1) src=1>'></math>",
    "<math><mi>&lt;img src=x onerror=alert(1)&gt;</mi></math>",
    "<ma<math>x</math>th><img src=x onerror=alert(1)>",
    "<m<math>a</math>th><mi><style></mi><img src=x onerror=alert(1)>",
    "<sv<svg></svg>g onload=alert(1)>",
    "<scr<script></script>ipt>alert(1)</script>",
    "<form><math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "x<y<img src=x onerror=alert(1)>",
    "<a b='<img src=x onerror=alert(1)>' <img src=x onerror=alert(1)>",
    '<div ="><img src=x onerror=alert(1)>',
    "<!--><img src=x onerror=alert(1)>-->",
    "<![CDATA[><img src=x onerror=alert(1)>]]>",
    "<select><style></select><img src=x onerror=alert(1)></style>",
    "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "<xmp><p title='</xmp><img src=x onerror=alert(1)>'>",
]


@pytest.mark.parametrize("payload", ESCAPES)
def test_nothing_runs_that_hides_where_parsers_change_their_rules(payload: str):
    safe = sanitise(payload, BASE)
    assert offences_in(safe) == []
    assert sanitise(safe, BASE) == safe
