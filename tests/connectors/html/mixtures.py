"""Markup as people write it and as nobody should, by the dice: mostly well nested, now and then not."""

from random import Random

from tests.connectors.html.payloads import payloads

INLINE = ["abbr", "b", "bdi", "cite", "code", "em", "i", "math", "q", "ruby", "span", "sub", "sup", "u", "x-own"]
BLOCKS = ["article", "blockquote", "div", "dl", "figure", "h1", "h3", "ol", "p", "pre", "section", "table", "ul"]
PARTS = {"ul": ["li"], "ol": ["li"], "dl": ["dt", "dd"]}
WORDS = [
    "words", "a b", " ", "\n", "\t ", "é", "日本", "\xa0", '"', "'", "=", "/", "data-x", "srcset", "\u2028", "\x7f",
    "\x85", "&amp;", "&lt;b&gt;", "&nbsp;", "&#8217;", "&#x2014;", "&hellip;", "&amp;lt;", "&quot;", "&#38;", "&#160;",
    "&notin;",
]  # fmt: skip
ODDITIES = [
    "&", "&copy", "<", ">", "\r", "\ufeff", "<!--x-->", "<!", "<?x?>", "</p>", "<p>", "<li>", "<td>", "<b>", "</b>",
    "</br>", "<pre>\n", "<a href=x>", "<noscript>", "<table>", "<select>", "<svg>", "<x>", "<h1>", "</div>", "<p/>",
    "&#128;", "&#0;", "&#xd800;", "&Tab;", "&NotEqualTilde;",
]  # fmt: skip
ATTRIBUTES = [
    'class="a b"', "id='x'", "id='f'", 'style="width:1px"', 'title="t &amp; u"', 'dir="rtl"', "lang='en'", 'rel="me"',
    "title=''", "name='x'", 'target="_blank"', 'title="a\nb"', 'title="&#8217;&lt;&gt;\xa0"', 'loading="lazy"',
    'data-id="3"', 'aria-label="x"',
]  # fmt: skip
ODD_ATTRIBUTES = ['onclick="x"', "title='\"'", "title=x", "title", 'TITLE="x"', 'data-src="/x.png"', 'title="&quot;"']
ADDRESSES = ["/a", "/x%20y", "/x'y", "https://h.example/x?a=1&amp;b=2", "https://a-b.example", "https://h.example/#a'b"]
ODD_ADDRESSES = [
    "", "x", "#f", "?q", "/", "/a/../b", "/a/./b", "/x y", "/\\x", "//h.example/x", "https:", "https:x",
    "data:image/png,x", "https://h.example/?a=1&b=2", "https://H.example/", "https://a--b.example/", "https://h.example/é",
    "http://1.2.3.4/", "https://h.example:80/x", "https://u@h.example/", "https://h.example./x",
    "https://h.example\\@e.example/", " https://h.example/x ", "https://h.example/x&lt;y", "https://h.example/x&quot;y",
    "https://h.example/x&nbsp;y", "https://h.example/x&#10;y", "https://pixel.wp.com/g.gif", "/1x1.gif", "/track/a.png",
    "https://h.example/?a=1&copy=2&utm_x=3", "https://h.example/?a&copy_x=2", "/?a=1&amp=2", "/?a=1&lt;2",
    "/lazy.gif",    "/lazy&#46;gif", "/lazy.gif/../a",
    "javascript:alert(1)", "mailto:a@b.example",
]  # fmt: skip
IMAGE = [
    "srcset='/a 2x'", 'srcset="https://h.example/a.png 300w, https://h.example/b.png?x=1&amp;y=2 1024w"',
    "sizes='(max-width: 1024px) 100vw, 1024px'", "alt=''", 'alt="&#8217;"', "width='640'", 'height="480"',
]  # fmt: skip
ODD_IMAGE = ['height="1"', "width='0480'", "srcset='a, ,b 2x'", "srcset=''", 'data-src="/a"', 'width="640px"']


def mixture(dice: Random) -> str:
    """Some markup; one in three has something odd in it, or one letter more or less."""
    html = "".join(_body(dice, 0) for _ in range(dice.randint(1, 4)))
    place = dice.randint(0, len(html))
    match dice.randrange(12):
        case 0:
            return html[:place] + dice.choice(ODDITIES) + html[place:]
        case 1:
            return html[:place] + dice.choice("<>&\"'/= p;\r\n") + html[place:]
        case 2:
            return html[:place] + html[place + 1 :]
        case 3:
            return html + dice.choice(payloads())
    return html


def _body(dice: Random, depth: int) -> str:
    if depth > 5 or dice.random() < 0.5:
        return _phrase(dice, depth)
    name = dice.choice(BLOCKS)
    parts = [_body(dice, depth + 1) for _ in range(dice.randrange(3))]
    if name in PARTS:
        kinds = [dice.choice(PARTS[name]) for _ in parts]
        parts = [f"<{kind}>{part}</{kind}>" for kind, part in zip(kinds, parts, strict=True)]
    elif name[0] in "ph" and name != "header" and dice.random() < 0.95:
        parts = [_phrase(dice, depth + 1)]
    return _element(dice, name, "".join(parts))


def _phrase(dice: Random, depth: int) -> str:
    chance = dice.random()
    if depth > 8 or chance < 0.5:
        return dice.choice(WORDS)
    if chance < 0.6:
        return dice.choice(["<br>", "<br/>", "<br />"])
    if chance < 0.7:
        return _image(dice)
    inside = "".join(_phrase(dice, depth + 1) for _ in range(dice.randrange(3)))
    return _element(dice, dice.choice([*INLINE, "a", "a", "a"]), inside)


def _element(dice: Random, name: str, inside: str) -> str:
    attributes = [_one(dice, ATTRIBUTES, ODD_ATTRIBUTES) for _ in range(dice.choice([0, 0, 0, 1, 2]))]
    if name == "a":
        attributes.append(f'href="{_one(dice, ADDRESSES, ODD_ADDRESSES)}"')
    dice.shuffle(attributes)
    return f"<{' '.join([name, *attributes])}>{inside}</{name}>"


def _image(dice: Random) -> str:
    attributes = [f'src="{_one(dice, ADDRESSES, ODD_ADDRESSES)}"']
    attributes += [_one(dice, IMAGE, ODD_IMAGE) for _ in range(dice.randrange(3))]
    dice.shuffle(attributes)
    return f"<{' '.join(['img', *attributes])}{dice.choice(['>', '/>', ' />'])}"


def _one(dice: Random, usual: list[str], odd: list[str]) -> str:
    return dice.choice(odd if dice.random() < 0.15 else usual)
