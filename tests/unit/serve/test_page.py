"""The page's files: how they are served, and what must never be in them."""

import asyncio
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from scp_ray.serve import page
from scp_ray.serve.page import page_routes

FOLDER = Path(page.__file__).with_suffix("")
FILES = sorted(FOLDER.iterdir())
SCRIPTS = [file for file in FILES if file.suffix == ".js"]
HTML = (FOLDER / "index.html").read_text()
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
MARKUP_FROM_TEXT = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser"
    r"|srcdoc|setHTML|parseHTMLUnsafe|\beval\b|new Function|setAttribute\(\s*[\"'](?:style|on|href)"
)


def _name(path: Path) -> str:
    return path.name


def _call(method: str, path: str, **headers: str) -> httpx.Response:
    async def call() -> httpx.Response:
        transport: Any = httpx.ASGITransport(Starlette(routes=page_routes()))
        async with httpx.AsyncClient(transport=transport, base_url="http://page") as client:
            return await client.request(method, path, headers=headers)

    return asyncio.run(call())


def _address(file: Path) -> str:
    return "/" if file.name == "index.html" else f"/static/{file.name}"


@pytest.mark.parametrize("file", FILES, ids=_name)
def test_file_is_served_as_it_is_and_only_once(file: Path) -> None:
    reply = _call("GET", _address(file))
    assert reply.status_code == 200
    assert reply.content == file.read_bytes()
    assert reply.headers["content-type"] == MEDIA_TYPES[file.suffix]
    assert reply.headers["cache-control"] == "no-cache"
    etag = reply.headers["etag"]
    for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        again = _call("GET", _address(file), **{"If-None-Match": known})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    assert _call("GET", _address(file), **{"If-None-Match": '"other"'}).status_code == 200
    head = _call("HEAD", _address(file))
    assert head.status_code == 200
    assert head.headers["content-length"] == str(file.stat().st_size)


def test_files_have_tags_of_their_own() -> None:
    tags = {_call("GET", _address(file)).headers["etag"] for file in FILES}
    assert len(tags) == len(FILES)


@pytest.mark.parametrize(
    "path",
    [
        "/index.html",
        "/static/",
        "/static/index.html",
        "/static/../page.py",
        "/static/%2e%2e/page.py",
    ],
)
def test_nothing_else_is_served(path: str) -> None:
    assert _call("GET", path).status_code == 404


def test_page_cannot_be_written_to() -> None:
    assert _call("POST", "/").status_code == 405


@pytest.mark.parametrize("script", SCRIPTS, ids=_name)
def test_scripts_never_make_markup_of_text(script: Path) -> None:
    assert MARKUP_FROM_TEXT.findall(script.read_text()) == []


def test_the_search_for_markup_finds_it() -> None:
    for bad in ("node.innerHTML = text", 'a.setAttribute("onclick", x)', "document.write(text)"):
        assert MARKUP_FROM_TEXT.search(bad)


def test_page_obeys_a_strict_content_policy() -> None:
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", HTML)
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", HTML, re.DOTALL)
    assert [content for _attributes, content in scripts] == [""]
    assert "@import" not in (FOLDER / "page.css").read_text()
    assert "url(" not in (FOLDER / "page.css").read_text()


def test_everything_loaded_is_of_the_page_itself() -> None:
    loaded = re.findall(r'(?:src|href)="(?!#)([^"]+)"', HTML)
    assert loaded
    assert all((FOLDER / name.removeprefix("static/")).is_file() for name in loaded)
    assert all(name.startswith("static/") for name in loaded)
    for file in FILES:
        text = file.read_text().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|[\"'(]//", text), file.name
    for script in SCRIPTS:
        imported = re.findall(r'^import .* from "([^"]+)";$', script.read_text(), re.MULTILINE)
        assert all((FOLDER / name).is_file() for name in imported), script.name


def test_every_script_is_used() -> None:
    imported = {"page.js"}
    for script in SCRIPTS:
        imported |= set(re.findall(r'from "\./([^"]+)"', script.read_text()))
    assert imported == {script.name for script in SCRIPTS}


def test_every_control_has_a_label() -> None:
    labels = set(re.findall(r'<label for="([^"]+)"', HTML))
    for control in re.findall(r"<(?:input|textarea|select)\b[^>]*>", HTML):
        (name,) = re.findall(r'\bid="([^"]+)"', control)
        assert name in labels or "aria-label=" in control, name


def test_no_control_names_a_default_of_the_service() -> None:
    for control in re.findall(r"<input\b[^>]*>", HTML):
        assert not re.search(r"\svalue=", control), control
        assert not re.search(r'placeholder="[^"]*\d', control), control
