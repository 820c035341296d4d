"""Static files: scripts ask for what they import by its full name, texts are packed."""

import gzip
from pathlib import Path

import pytest

from tests.app import serving_resources
from tsuzuki.http.assets import Assets


def a_folder(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_js", ".js").replace("_css", ".css")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


def test_a_scripts_name_changes_with_whatever_it_imports(tmp_path):
    sources = {
        "js__app_js": 'import { a } from "./a.js";\nimport "./b.js";',
        "js__a_js": 'export { c } from "../c.js";',
    }
    one = Assets(a_folder(tmp_path / "1", **sources, js__b_js="1", c_js="1"))
    two = Assets(a_folder(tmp_path / "2", **sources, js__b_js="1", c_js="2"))
    content = one.get("js/app.js").content.decode()
    assert f'from "{one.url("js/a.js")}"' in content
    assert f'import "{one.url("js/b.js")}"' in content
    assert one.url("c.js") in one.get("js/a.js").content.decode()
    assert one.url("js/b.js") == two.url("js/b.js")
    assert one.url("js/app.js") != two.url("js/app.js")
    assert one.names("js/") == ["js/a.js", "js/app.js", "js/b.js"]


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"a_js": 'import "./b.js";', "b_js": 'import "./a.js";'}, "in a circle: a.js > b.js > a.js"),
        ({"a_js": 'import "./none.js";'}, "none.js, which is not there"),
    ],
)
def test_an_import_that_cannot_be_is_said_at_the_start(tmp_path, files, why):
    with pytest.raises(ValueError, match=why):
        Assets(a_folder(tmp_path, **files))


async def test_a_text_is_compressed_only_for_clients_that_accept_it(tmp_path):
    assets = Assets(a_folder(tmp_path, a_css="a { color: red; }\n" * 200, small_css="b {}"))
    async with serving_resources([assets.resource()]) as client:
        plain = await client.get(assets.url("a.css"), headers={"accept-encoding": "identity"})
        packed = await client.get(assets.url("a.css"), headers={"accept-encoding": "gzip"}, auto_decompress=False)
        small = await client.get(assets.url("small.css"), headers={"accept-encoding": "gzip"})
    assert "content-encoding" not in plain.headers
    assert "content-encoding" not in small.headers
    assert (packed.headers["content-encoding"], packed.headers["vary"]) == ("gzip", "accept-encoding")
    assert gzip.decompress(packed.body) == plain.body
    assert packed.headers["content-type"].startswith("text/css")
