"""Markup as people write it and as nobody should, at random: mostly well nested, now and then not."""

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


def mixture(rng: Random) -> str:
    """Some markup; one in three has something odd in it, or one letter more or less."""
    html = "".join(_body(rng, 0) for _ in range(rng.randint(1, 4)))
    place = rng.randint(0, len(html))
    match rng.randrange(12):
        case 0:
            return html[:place] + rng.choice(ODDITIES) + html[place:]
        case 1:
            return html[:place] + rng.choice("<>&\"'/= p;\r\n") + html[place:]
        case 2:
            return html[:place] + html[place + 1 :]
        case 3:
            return html + rng.choice(payloads())
    return html


def _body(rng: Random, depth: int) -> str:
    if depth > 5 or rng.random() < 0.5:
        return _phrase(rng, depth)
    name = rng.choice(BLOCKS)
    parts = [_body(rng, depth + 1) for _ in range(rng.randrange(3))]
    if name in PARTS:
        kinds = [rng.choice(PARTS[name]) for _ in parts]
        parts = [f"<{kind}>{part}</{kind}>" for kind, part in zip(kinds, parts, strict=True)]
    elif name[0] in "ph" and name != "header" and rng.random() < 0.95:
        parts = [_phrase(rng, depth + 1)]
    return _element(rng, name, "".join(parts))


def _phrase(rng: Random, depth: int) -> str:
    chance = rng.random()
    if depth > 8 or chance < 0.5:
        return rng.choice(WORDS)
    if chance < 0.6:
        return rng.choice(["<br>", "<br/>", "<br />"])
    if chance < 0.7:
        return _image(rng)
    inside = "".join(_phrase(rng, depth + 1) for _ in range(rng.randrange(3)))
    return _element(rng, rng.choice([*INLINE, "a", "a", "a"]), inside)


def _element(rng: Random, name: str, inside: str) -> str:
    attributes = [_one(rng, ATTRIBUTES, ODD_ATTRIBUTES) for _ in range(rng.choice([0, 0, 0, 1, 2]))]
    if name == "a":
        attributes.append(f'href="{_one(rng, ADDRESSES, ODD_ADDRESSES)}"')
    rng.shuffle(attributes)
    return f"<{' '.join([name, *attributes])}>{inside}</{name}>"


def _image(rng: Random) -> str:
    attributes = [f'src="{_one(rng, ADDRESSES, ODD_ADDRESSES)}"']
    attributes += [_one(rng, IMAGE, ODD_IMAGE) for _ in range(rng.randrange(3))]
    rng.shuffle(attributes)
    return f"<{' '.join(['img', *attributes])}{rng.choice(['>', '/>', ' />'])}"


def _one(rng: Random, usual: list[str], odd: list[str]) -> str:
    return rng.choice(odd if rng.random() < 0.15 else usual)
