"""The page in a real browser, over the HTTP interface and real indexes."""

import asyncio
import hashlib
import json
import re
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
import uvicorn
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright

from scp_ray.config import Settings
from scp_ray.errors import OverloadedError, ShardUnavailableError
from scp_ray.pipeline.executor import InProcessExecutor
from scp_ray.pipeline.preparation import IndexRequest
from scp_ray.pipeline.run import index_corpus
from scp_ray.records import Stemmer
from scp_ray.retrieval.terms import terms_of
from scp_ray.serve.http_api import create_api
from scp_ray.serve.models import (
    CnmModel,
    DefaultsModel,
    DegradedModel,
    IndexInfo,
    QueryReply,
    QueryRequest,
    ReloadModel,
)
from scp_ray.serve.page import page_routes
from scp_ray.serve.searcher import LocalSearcher

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]

MakeSettings = Callable[..., Settings]
QUESTION = "Which filters and PUMPS do I clean in the Orbis K-104 kettle?"
ATTACK = (
    "<script>alert(1)</script><img src=x onerror=alert(2)><svg onload=alert(3)></svg>"
    '<a href="javascript:alert(4)">x</a><iframe srcdoc="<script>alert(5)</script>"></iframe>'
    "<style>*{display:none}</style><!-- \" onmouseover='alert(6)' -->&lt;b&gt; </div></main>"
)
HOSTILE = {
    "doc_id": f"hostile {ATTACK}.md",
    "text": f"zanzibar quartz {ATTACK} " * 4,
    "metadata": {f"key {ATTACK}": f"value {ATTACK}"},
}
_PATIENCE_MS = 20_000
LONG_NAME = "averyveryverylongname" * 12
VISIBLE_TEXT = r"""() => {
    const parse = (color) => (color.match(/[\d.]+/g) ?? []).map(Number);
    const linear = (part) =>
        part <= 10.31 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4;
    const light = (color) => {
        const [r, g, b] = color.map(linear);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = (node) => {
        for (let at = node; at; at = at.parentElement) {
            const color = parse(getComputedStyle(at).backgroundColor);
            if (color.length === 3 || color[3] === 1) return color;
        }
        throw new Error("no background");
    };
    const texts = [...document.querySelectorAll("body *")].filter((node) =>
        node.checkVisibility() && !node.closest(".unseen, .skip") &&
        [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim()));
    return texts.map((node) => {
        const both = [light(parse(getComputedStyle(node).color)), light(ground(node))];
        const ratio = (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
        return [`${node.tagName}.${node.className}`, ratio];
    });
}"""


class Service:
    """A ``QueryService`` over one real index in this process, with trouble where a test asks."""

    def __init__(self, searcher: LocalSearcher, defaults: DefaultsModel) -> None:
        self.searcher = searcher
        self.defaults = defaults
        self.asked: list[QueryRequest] = []
        self.cancelled: list[str | None] = []
        self.delays_s: dict[str, float] = {}
        self.trouble: Exception | None = None
        self.change: Callable[[QueryReply], QueryReply] = lambda reply: reply
        generation = searcher.manifest.generation
        self.newest = ReloadModel(state="current", generation=generation, reason=None)

    async def answer(self, request: QueryRequest) -> QueryReply:
        self.asked.append(request)
        if self.trouble is not None:
            raise self.trouble
        try:
            await asyncio.sleep(self.delays_s.get(request.query or "", 0.0))
        except asyncio.CancelledError:
            self.cancelled.append(request.query)
            raise
        return self.change(await asyncio.to_thread(self.searcher.answer, request))

    async def check(self) -> None:
        pass

    async def reload(self) -> IndexInfo:
        return self.about()

    def about(self) -> IndexInfo:
        manifest = self.searcher.manifest
        return IndexInfo(
            generation=manifest.generation,
            created_at=manifest.created_at,
            documents=manifest.num_documents,
            chunks=manifest.num_chunks,
            shards=len(manifest.shards),
            groups=1,
            encoder=manifest.encoder.model,
            annotator=manifest.annotator_revision,
            settings_hash=manifest.settings_hash,
            defaults=self.defaults,
            reload=self.newest,
        )


@dataclass
class Site:
    """A service that runs, and how to ask it without a browser."""

    address: str
    service: Service

    def link(self, question: str = QUESTION, **settings: object) -> str:
        return f"{self.address}/#{urlencode({'q': question, **settings})}"

    def reply(self, question: str = QUESTION, **body: object) -> dict[str, Any]:
        reply = httpx.post(
            f"{self.address}/v1/query", json={"query": question, "explain": True, **body}
        )
        assert reply.status_code == 200, reply.text
        parsed: dict[str, Any] = reply.json()
        return parsed


@contextmanager
def _served(service: Service, settings: Settings) -> Iterator[Site]:
    api = create_api(service, settings)
    api.router.routes.extend(page_routes())
    server = uvicorn.Server(
        uvicorn.Config(
            api, log_level="error", ws="none", lifespan="off", timeout_graceful_shutdown=1
        )
    )
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            yield Site(f"http://127.0.0.1:{listening.getsockname()[1]}", service)
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def index_of(
    tmp_path_factory: pytest.TempPathFactory, small_settings: MakeSettings
) -> Callable[[Path], str]:
    """Index a corpus folder."""

    def index(corpus: Path) -> str:
        target = str(tmp_path_factory.mktemp("index"))
        request = IndexRequest(str(corpus), target, small_settings(), False)
        index_corpus(request, InProcessExecutor(), lambda _line: None)
        return target

    return index


@pytest.fixture(scope="module")
def manuals(
    tmp_path_factory: pytest.TempPathFactory,
    write_manual: Callable[..., Path],
    index_of: Callable[[Path], str],
) -> str:
    """Index of twelve manuals and a hostile document."""
    folder = tmp_path_factory.mktemp("corpus")
    for number in range(12):
        write_manual(folder, number)
    (folder / "hostile.jsonl").write_text(json.dumps(HOSTILE) + "\n", encoding="utf-8")
    return index_of(folder)


Serve = Callable[..., AbstractContextManager[Site]]


@pytest.fixture
def serve(small_settings: MakeSettings) -> Serve:
    """Serve an index, ``(index, *assignments)``; prior and gap rule always count."""

    def serve_index(index: str, *assignments: str) -> AbstractContextManager[Site]:
        counting = ("retrieval.prior_gate=0", "retrieval.min_index_gap=2")
        settings = small_settings(*counting, *assignments)
        service = Service(LocalSearcher.open(index, settings), DefaultsModel.of(settings))
        return _served(service, settings)

    return serve_index


@pytest.fixture
def site(manuals: str, serve: Serve) -> Iterator[Site]:
    """The manuals, served without tokens."""
    with serve(manuals) as site:
        yield site


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Headless Chromium. It has to be installed: a page that no browser has seen is not tested."""
    expect.set_options(timeout=_PATIENCE_MS)
    path = shutil.which("chromium")
    assert path, "chromium is not installed"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@dataclass
class Tabs:
    """Opens tabs, and notes what no tab may do."""

    browser: Browser
    contexts: list[BrowserContext] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def open(self, link: str, **options: Any) -> Page:
        context = self.browser.new_context(**options)
        context.set_default_timeout(_PATIENCE_MS)
        self.contexts.append(context)
        tab = context.new_page()
        context.on("request", lambda request: self.requests.append(request.url))
        tab.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        tab.on("dialog", lambda dialog: self.faults.append(f"dialog: {dialog.message}"))
        tab.on("popup", lambda popup: self.faults.append(f"popup: {popup.url}"))
        tab.on("console", self._note)
        tab.goto(link)
        return tab

    def _note(self, message: Any) -> None:
        # A browser notes every status of 400 and more itself; the tests of errors look at those.
        if "Failed to load resource" not in message.text:
            self.faults.append(f"console: {message.text}")


@pytest.fixture
def tabs(browser: Browser) -> Iterator[Tabs]:
    """Tabs; no request may leave their origin, and nothing may go wrong in them."""
    tabs = Tabs(browser)
    yield tabs
    for context in tabs.contexts:
        context.close()
    assert tabs.faults == []
    assert tabs.requests
    assert {url for url in tabs.requests if not url.startswith("http://127.0.0.1:")} == set()


def _cards(tab: Page) -> Locator:
    return tab.locator(".card")


def _answered(tab: Page, text: str = "passage") -> Page:
    expect(tab.locator("#status")).to_contain_text(text)
    expect(tab.locator("#answer")).not_to_have_attribute("aria-busy", "true")
    return tab


def _shown(tab: Page) -> list[tuple[str, int, int, int, str, str]]:
    """Read the passages back from the page."""
    cards = _cards(tab).evaluate_all(
        """(cards) => cards.map((card) => [
            card.querySelector("h3 .doc-id").textContent,
            card.querySelector(".place").innerText,
            card.querySelector(".text").textContent,
            card.querySelector(".score-table tfoot td").textContent,
        ])"""
    )
    read = []
    for doc_id, place, text, score in cards:
        chunk, num, start, end = re.search(
            r"chunk_index (\d+) of (\d+) chunks?\s+characters ([\d,]+)–([\d,]+)", place
        ).groups()
        start, end = (int(number.replace(",", "")) for number in (start, end))
        read.append((doc_id, int(chunk), int(num), start, end, text, score))
    return read


def _number(value: float, digits: int = 3) -> str:
    return f"{value:.{digits}f}".replace("-", "−")


def _expected(reply: dict[str, Any]) -> list[tuple[Any, ...]]:
    keys = ("doc_id", "chunk_index", "num_chunks", "char_start", "char_end", "text")
    return [(*(row[key] for key in keys), _number(row["score"])) for row in reply["results"]]


def _expect_answer(tab: Page, reply: dict[str, Any]) -> None:
    """Wait until the page shows a reply, then compare it as a whole."""
    ids = [re.compile(re.escape(row["doc_id"])) for row in reply["results"]]
    expect(_cards(tab).locator("h3")).to_have_text(ids)
    expect(tab.locator("#answer")).not_to_have_attribute("aria-busy", "true")
    assert _shown(tab) == _expected(reply)


def test_question_shows_the_results_of_the_api_in_order(tabs: Tabs, site: Site) -> None:
    tab = tabs.open(site.address)
    expect(tab.locator("#index")).to_contain_text("13 documents")
    tab.get_by_label("Question").fill(QUESTION)
    tab.get_by_role("button", name="Ask", exact=True).click()
    reply = site.reply()
    _expect_answer(tab, reply)
    expect(tab).to_have_title(f"{QUESTION} · scp_ray")
    expect(tab.get_by_role("status")).to_have_text(
        re.compile(r"^5 passages from \d documents? in \d+ ms$")
    )
    told = tab.locator(".summary").inner_text()
    assert f"position {reply['prior']['position']:.2f}" in told
    assert f"concentration {reply['prior']['concentration']:.2f}" in told
    assert "3 of 3 shards, 13 documents" in told
    assert all(step in told for step in reply["timings_ms"] if step != "total")
    first = _cards(tab).first
    cnm = reply["results"][0]["cnm"]
    pairs = first.locator(".cnm > div").all_inner_texts()
    assert [pair.split("\n")[-1] for pair in pairs] == [
        value for value in (cnm["category"], *cnm["nouns"], cnm["model"]) if value is not None
    ]


def test_both_passes_are_shown_with_their_scores(tabs: Tabs, site: Site) -> None:
    settings = {"position_weight": 0.25, "lexical_weight": 0.4, "top_k": 4}
    tab = _answered(tabs.open(site.link(**settings)))
    reply = site.reply(**settings)
    weights = (1 - reply["lexical"]["weight"], reply["lexical"]["weight"], 0.25)
    first_ranks = {
        (row["doc_id"], row["chunk_index"]): (rank, row["score"])
        for rank, row in enumerate(reply["audit"]["first_pass"], 1)
    }
    assert reply["prior"]["applied"]
    for number, row in enumerate(reply["results"]):
        card = _cards(tab).nth(number)
        cells = card.locator(".score-table tbody tr").all_inner_texts()
        for text, name, weight in zip(
            cells, ("semantic", "lexical", "position"), weights, strict=True
        ):
            value = row[f"{name}_score"]
            told = [name, _number(value), f"× {_number(weight)}", _number(weight * value)]
            assert text.split("\t") == told
        key = (row["doc_id"], row["chunk_index"])
        if key in first_ranks:
            rank, cosine = first_ranks[key]
            expect(card.locator(".scores")).to_contain_text(
                f"First pass rank {rank} of 20, cosine {_number(cosine)}"
            )
        else:
            expect(card.locator(".scores")).to_contain_text("not among the best 20")
    parts = _cards(tab).first.locator(".bar").first.locator(".bar-part")
    widths = parts.evaluate_all("(parts) => parts.map((p) => p.getBoundingClientRect().width)")
    best = reply["results"][0]
    adds = [
        weight * best[f"{name}_score"]
        for name, weight in zip(("semantic", "lexical", "position"), weights, strict=True)
    ]
    assert len(widths) == 3
    for width, added in zip(widths, adds, strict=True):
        assert width / sum(widths) == pytest.approx(abs(added) / sum(map(abs, adds)), abs=0.02)


def test_overlap_with_the_question_is_marked(tabs: Tabs, site: Site) -> None:
    tab = _answered(tabs.open(site.link(top_k=30)))
    told = set(terms_of("filters pumps clean orbis k-104 kettle", Stemmer.LIGHT)) - {"k104"}
    words = (
        _cards(tab)
        .locator(".text")
        .evaluate_all(
            r"""(texts) => texts.map((text) => {
            const words = (node) => node.textContent.match(/[\p{L}\p{N}]+/gu) ?? [];
            return [words(text), [...text.querySelectorAll("mark")].flatMap(words)];
        })"""
        )
    )
    assert len(words) == 30
    for of_text, of_marks in words:
        expected = [word for word in of_text if told.issuperset(terms_of(word, Stemmer.LIGHT))]
        assert of_marks == expected
    assert tab.locator("mark", has_text=re.compile("^K-104$")).count() > 0
    assert {"Filter", "filter", "pump"} <= {word for _, marks in words for word in marks}


def test_hostile_text_is_shown_and_never_run(tabs: Tabs, site: Site) -> None:
    cnm = CnmModel(category=f"c {ATTACK}", nouns=[f"n {ATTACK}"], model=f"m {ATTACK}")
    note = DegradedModel(group=f"g {ATTACK}", reason=f"r {ATTACK}")

    def poison(reply: QueryReply) -> QueryReply:
        poisoned = [row.model_copy(update={"cnm": cnm}) for row in reply.results]
        return reply.model_copy(update={"results": poisoned, "degraded": [note]})

    site.service.change = poison
    question = f"zanzibar quartz {ATTACK}"
    where = json.dumps({"doc_id": HOSTILE["doc_id"]})
    tab = tabs.open(site.link(question, filter=where, min_index_gap=1, max_context_tokens=500))
    _answered(tab)
    for details in tab.locator("#answer details").all():
        details.evaluate("(details) => { details.open = true; }")
    expect(tab.locator("#reply")).to_contain_text("zanzibar")
    card = _cards(tab).first
    assert card.locator("h3 .doc-id").text_content() == HOSTILE["doc_id"]
    texts = _cards(tab).locator(".text").all_text_contents()
    assert all(text in HOSTILE["text"] for text in texts)
    assert "<script>alert(1)</script><img src=x onerror=alert(2)>" in "".join(texts)
    shown = card.locator(".cnm dd").all_text_contents()
    assert shown == [f"c {ATTACK}", f"n {ATTACK}", f"m {ATTACK}"]
    expect(card.locator(".source")).to_contain_text(f"value {ATTACK}")
    expect(tab.locator(".notes")).to_contain_text(f"g {ATTACK}: r {ATTACK}")
    assert tab.locator("#context .text").first.text_content() in HOSTILE["text"]
    assert (
        tab.locator("main").locator("script, img, iframe, style, a, [onerror], [onload]").count()
        == 0
    )
    assert tab.evaluate("document.scripts.length") == 1
    site.service.trouble = ShardUnavailableError(f"broken {ATTACK}")
    tab.get_by_role("button", name="Ask", exact=True).click()
    expect(tab.get_by_role("alert")).to_contain_text(f"broken {ATTACK}")
    assert tab.locator("#problem").locator("script, img, svg, iframe, a").count() == 0


@pytest.mark.parametrize(
    ("name", "key", "presses"),
    [
        ("top_k", "ArrowRight", 4),
        ("min_index_gap", "ArrowRight", 3),
        ("position_weight", "End", 1),
        ("lexical_weight", "Home", 1),
    ],
)
def test_slider_changes_the_answer_as_the_api_would(
    tabs: Tabs, site: Site, name: str, key: str, presses: int
) -> None:
    tab = _answered(tabs.open(site.link()))
    slider = tab.locator(f"#{name}-slider")
    default = getattr(site.service.defaults, name)
    expect(slider).to_have_js_property("value", str(default))
    slider.focus()
    for _ in range(presses):
        tab.keyboard.press(key)
    value = float(tab.locator(f"#{name}").input_value())
    expect(tab).to_have_url(re.compile(rf"[#&]{name}={value:g}(&|$)"))
    expected = site.reply(**{name: value if "weight" in name else int(value)})
    assert expected["results"] != site.reply()["results"]
    _expect_answer(tab, expected)
    expect(slider).to_be_focused()
    expect(tab.locator(".formula")).to_contain_text("score")


def test_moving_a_slider_asks_once_it_rests_and_tells_what_changed(tabs: Tabs, site: Site) -> None:
    tab = _answered(tabs.open(site.link(lexical_weight=0)))
    before = site.reply(lexical_weight=0)["results"]
    num_asked = len([url for url in tabs.requests if url.endswith("/v1/query")])
    tab.locator("#lexical_weight-slider").evaluate(
        """async (slider) => {
            for (let step = 1; step <= 20; step += 1) {
                slider.value = step / 20;
                slider.dispatchEvent(new Event("input"));
                await new Promise((resolve) => setTimeout(resolve, 5));
            }
        }"""
    )
    after = site.reply(lexical_weight=1)
    _expect_answer(tab, after)
    assert len([url for url in tabs.requests if url.endswith("/v1/query")]) - num_asked < 5
    tab.locator("#lexical_weight").fill("0")
    _expect_answer(tab, site.reply(lexical_weight=0))
    places = {(row["doc_id"], row["chunk_index"]): n for n, row in enumerate(after["results"], 1)}
    for number, row in enumerate(before, 1):
        then = places.get((row["doc_id"], row["chunk_index"]))
        change = _cards(tab).nth(number - 1).locator(".change")
        if then == number:
            expect(change).to_have_count(0)
        else:
            expect(change).to_have_text("new" if then is None else f"was {then}")


def test_empty_setting_is_left_to_the_service(tabs: Tabs, site: Site) -> None:
    tab = _answered(
        tabs.open(
            site.link(top_k=2, lexical_weight=0.2, filter='{"doc_id": ["x"]}'),
        ),
        "No",
    )
    tab.get_by_role("button", name="Use the service's defaults").click()
    _expect_answer(tab, site.reply())
    asked = site.service.asked[-2]
    assert (asked.top_k, asked.lexical_weight, asked.filter) == (None, None, None)
    expect(tab).to_have_url(site.link())


DEFAULTS = {
    "top_k": 7,
    "min_index_gap": 4,
    "position_weight": 0.07,
    "lexical_weight": 0.35,
    "max_context_tokens": 120,
}


def test_controls_rest_where_the_service_has_its_defaults(
    tabs: Tabs, manuals: str, serve: Serve
) -> None:
    retrieval = [f"retrieval.{name}={value}" for name, value in DEFAULTS.items()][:4]
    context = ["context.max_tokens=120", "context.rule=gap"]
    with serve(manuals, *retrieval, *context) as site:
        tab = _answered(tabs.open(site.link(top_k=3)))
        for name, value in DEFAULTS.items():
            expect(tab.locator(f"#{name}")).to_have_attribute("placeholder", str(value))
        expect(tab.locator("#context_rule option").first).to_have_text("default (gap)")
        expect(tab.locator("#top_k-slider")).to_have_js_property("value", "3")
        tab.get_by_role("button", name="Use the service's defaults").click()
        for name, value in list(DEFAULTS.items())[:4]:
            slider = tab.locator(f"#{name}-slider")
            expect(slider).to_have_js_property("value", str(value))
            expect(slider).to_have_attribute("aria-valuetext", f"{value} (the service's default)")
        _expect_answer(tab, site.reply())
        assert site.service.asked[-1].lexical_weight is None


def test_dropped_candidates_name_the_kept_one(tabs: Tabs, site: Site) -> None:
    tab = _answered(tabs.open(site.link(min_index_gap=5, top_k=8)))
    reply = site.reply(min_index_gap=5, top_k=8)
    dropped = [row for row in reply["audit"]["decisions"] if not row["kept"]]
    assert len(dropped) > 3
    for number, result in enumerate(reply["results"]):
        own = [
            f"chunk {row['chunk_index']}"
            for row in dropped
            if (row["doc_id"], row["near"]) == (result["doc_id"], result["chunk_index"])
        ]
        card = _cards(tab).nth(number)
        assert card.locator(".dropped-name").all_inner_texts() == own
        if own:
            expect(card.locator(".dropped h4")).to_have_text(
                re.compile(rf"dropped, too near to chunk {result['chunk_index']}$")
            )
    tab.get_by_text("Candidates of the second pass").click()
    table = tab.locator("#second-pass tbody tr")
    expect(table).to_have_count(len(reply["audit"]["decisions"]))
    rows = table.all_inner_texts()
    told = [(row.split("\t")[1], row.split("\t")[2], row.split("\t")[-1]) for row in rows]
    assert told == [
        (
            row["doc_id"],
            str(row["chunk_index"]),
            "kept" if row["kept"] else f"too near to chunk {row['near']}",
        )
        for row in reply["audit"]["decisions"]
    ]
    tab.get_by_text("Candidates of the first pass").click()
    expect(tab.locator("#first-pass tbody tr")).to_have_count(len(reply["audit"]["first_pass"]))


def test_strips_show_where_hits_and_prior_lie(tabs: Tabs, site: Site) -> None:
    tab = _answered(tabs.open(site.link(min_index_gap=5, top_k=8)))
    reply = site.reply(min_index_gap=5, top_k=8)
    rows = tab.locator(".strip-row:not(.axis)").evaluate_all(
        """(rows) => rows.map((row) => {
            const line = row.querySelector(".line").getBoundingClientRect();
            const at = (kind) => [...row.querySelectorAll(kind)].map((mark) => {
                const box = mark.getBoundingClientRect();
                return (box.left + box.width / 2 - line.left) / line.width;
            }).sort();
            return {
                name: row.querySelector(".strip-name").textContent,
                kept: at(".mark.kept"), dropped: at(".mark.dropped"), first: at(".tick"),
                prior: at(".needle"), told: row.querySelector(".unseen").textContent,
            };
        })"""
    )
    audit = reply["audit"]
    by_key = {(row["doc_id"], row["chunk_index"]): row["position"] for row in audit["second_pass"]}
    assert len(rows[0]["first"]) == len(audit["first_pass"])
    for row in rows[1:]:
        assert row["prior"] == [pytest.approx(reply["prior"]["position"], abs=0.01)]
        for kind, kept in (("kept", True), ("dropped", False)):
            expected = sorted(
                by_key[one["doc_id"], one["chunk_index"]]
                for one in audit["decisions"]
                if one["doc_id"] == row["name"] and one["kept"] is kept
            )
            assert row[kind] == pytest.approx(expected, abs=0.01)
            assert row["told"].count("result" if kept else "dropped") == len(expected)
    assert {row["name"] for row in rows[1:]} >= {row["doc_id"] for row in reply["results"]}
    tab.locator(".mark.kept", has_text=re.compile("^8$")).click()
    expect(_cards(tab).nth(7)).to_be_focused()
    expect(_cards(tab).nth(7)).to_be_in_viewport()


def test_filter_and_context_are_asked_for(tabs: Tabs, site: Site) -> None:
    tab = _answered(tabs.open(site.link()))
    tab.get_by_label("Filter").fill('{"doc_id": ["manual_003.md", "manual_007.md"]}')
    where = {"doc_id": ["manual_003.md", "manual_007.md"]}
    _expect_answer(tab, site.reply(filter=where))
    tab.get_by_label("Context tokens").fill("200")
    expect(tab.locator("#context")).to_be_visible()
    tab.get_by_label("Context rule").select_option("gap")
    context = site.reply(filter=where, max_context_tokens=200, context_rule="gap")["context"]
    summary = tab.locator("#context > summary")
    expect(summary).to_contain_text(f"rule gap: {context['tokens']} tokens")
    summary.click()
    passages = tab.locator("#context .text")
    expect(passages).to_have_text([row["text"] for row in context["passages"]])
    expect(tab.locator("#context .skipped li")).to_have_count(len(context["skipped"]))
    tab.locator("#top_k").fill("3")
    expect(_cards(tab)).to_have_count(3)
    expect(tab.locator("#context .text").first).to_be_visible()


def test_everything_is_done_with_the_keyboard(tabs: Tabs, site: Site) -> None:
    tab = tabs.open(site.address)
    expect(tab.get_by_label("Question")).to_be_focused()
    tab.keyboard.type(QUESTION)
    tab.keyboard.press("Shift+Enter")
    assert tab.get_by_label("Question").input_value() == f"{QUESTION}\n"
    tab.keyboard.press("Backspace")
    tab.keyboard.press("Enter")
    _expect_answer(tab, site.reply())
    order = []
    for _ in range(60):
        tab.keyboard.press("Tab")
        told = tab.evaluate(
            """() => {
                const at = document.activeElement;
                const style = getComputedStyle(at);
                const seen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
                const name = (at.labels?.[0] ?? at).innerText || at.ariaLabel || "";
                return [at.id || at.tagName, seen, name.trim()];
            }"""
        )
        if told[0] == "BODY":
            break
        order.append(told)
    assert all(seen and name for _, seen, name in order), order
    names = [name for name, _, _ in order]
    settings = ["top_k", "min_index_gap", "position_weight", "lexical_weight"]
    both = [name for setting in settings for name in (setting, f"{setting}-slider")]
    rest = ["filter", "max_context_tokens", "context_rule", "reset", "SUMMARY"]
    assert names[:14] == ["ask", "SUMMARY", *both, *rest[:4]]
    assert names[14] == "SUMMARY"
    tab.get_by_label("Question").focus()
    tab.keyboard.press("Shift+Tab")
    expect(tab.get_by_role("link", name="Skip to the results")).to_be_focused()
    expect(tab.locator("#skip")).to_be_in_viewport()
    tab.keyboard.press("Enter")
    expect(tab.locator("main")).to_be_focused()
    expect(_cards(tab)).to_have_count(5)
    tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    expect(_cards(tab).first.locator(".source dl")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read(tabs: Tabs, site: Site, scheme: Any) -> None:
    site.service.change = lambda reply: reply.model_copy(
        update={"degraded": [DegradedModel(group="group-1", reason="deadline passed")]}
    )
    link = site.link(min_index_gap=5, max_context_tokens=150)
    tab = _answered(tabs.open(link, color_scheme=scheme))
    for details in tab.locator("details").all():
        details.evaluate("(details) => { details.open = true; }")
    expect(tab.locator("#reply pre")).to_be_visible()
    texts = tab.evaluate(VISIBLE_TEXT)
    kinds = {kind for kind, _ in texts}
    assert {"MARK.", "DIV.text", "P.hint", "SPAN.mark kept", "DT.", "BUTTON."} <= kinds
    assert [(kind, round(ratio, 2)) for kind, ratio in texts if ratio < 4.5] == []
    tab.locator("#top_k").fill("5000")
    expect(tab.get_by_role("alert")).to_be_visible()
    assert all(ratio >= 4.5 for _, ratio in tab.evaluate(VISIBLE_TEXT))
    ground = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(int(part) for part in re.findall(r"\d+", ground)[:3]) / 3
    assert brightness > 200 if scheme == "light" else brightness < 50


def test_generation_that_cannot_be_taken_is_told(tabs: Tabs, site: Site) -> None:
    site.service.newest = ReloadModel(state="failed", generation=9, reason="<b>bad</b> checksum")
    tab = _answered(tabs.open(site.link()))
    expect(tab.locator("#index .warning")).to_have_text(
        "generation 9 could not be taken: <b>bad</b> checksum"
    )
    site.service.newest = site.service.newest.model_copy(update={"state": "current"})
    site.service.change = lambda reply: reply.model_copy(update={"generation": 9})
    tab.get_by_role("button", name="Ask", exact=True).click()
    expect(tab.locator("#index .warning")).to_have_count(0)


def test_current_that_cannot_be_read_is_told_until_it_can(tabs: Tabs, site: Site) -> None:
    tab = tabs.open("about:blank")
    tab.clock.install()
    tab.goto(site.link())
    _answered(tab)
    expect(tab.locator("#index")).to_contain_text("13 documents")
    readable = site.service.newest
    reason = "IndexFormatError: <i>no</i> index here"
    site.service.newest = ReloadModel(state="unreadable", generation=1, reason=reason)
    tab.clock.fast_forward(16_000)
    told = f"CURRENT cannot be read, new generations are not seen: {reason}"
    expect(tab.locator("#index .warning")).to_have_text(told)
    site.service.newest = readable
    tab.clock.fast_forward(16_000)
    expect(tab.locator("#index .warning")).to_have_count(0)
    expect(tab.locator("#index")).to_contain_text("13 documents")


def test_prior_that_is_not_applied_is_told(tabs: Tabs, manuals: str, serve: Serve) -> None:
    with serve(manuals, "retrieval.prior_gate=1") as site:
        tab = _answered(tabs.open(site.link(position_weight=0.3)))
        reply = site.reply(position_weight=0.3)
        told = f"concentration {reply['prior']['concentration']:.2f}; not applied"
        expect(tab.locator(".summary")).to_contain_text(told)
        expect(tab.locator(".formula")).to_contain_text("0.000 × position")
        assert tab.locator(".needle").count() == tab.locator(".needle.idle").count() > 0
        assert tab.locator(".bar-part.position").count() == 0
        _expect_answer(tab, reply)


def test_priors_of_the_shards_are_not_shown_as_one(tabs: Tabs, manuals: str, serve: Serve) -> None:
    with serve(manuals, "retrieval.prior_scope=shard") as site:
        tab = _answered(tabs.open(site.link(position_weight=0.3)))
        expect(tab.locator(".summary")).to_contain_text("nothing that all shards share")
        expect(tab.locator(".formula")).to_contain_text("0.300 × position")
        expect(tab.locator(".needle")).to_have_count(0)
        _expect_answer(tab, site.reply(position_weight=0.3))


def test_missing_shards_and_the_cross_encoder_are_told(tabs: Tabs, site: Site) -> None:
    def change(reply: QueryReply) -> QueryReply:
        read = reply.results[0].model_copy(update={"rerank_score": -7.25})
        less = reply.coverage.model_copy(update={"shards_ok": 2})
        note = DegradedModel(group="group-1", reason="deadline passed")
        update = {"results": [read, *reply.results[1:]], "coverage": less, "degraded": [note]}
        return reply.model_copy(update=update)

    site.service.change = change
    tab = _answered(tabs.open(site.link()))
    expect(tab.locator(".notes li")).to_have_text(
        [re.compile("^1 shard of 3 did not answer"), "group-1: deadline passed"]
    )
    expect(_cards(tab).first).to_contain_text("cross-encoder −7.250, which decides the order")
    expect(tab.locator(".rerank")).to_have_count(1)


def test_nothing_moves_where_motion_is_reduced(tabs: Tabs, site: Site) -> None:
    durations = (
        "[...document.querySelectorAll('*')].map((n) => getComputedStyle(n).transitionDuration)"
    )
    tab = _answered(tabs.open(site.link(), reduced_motion="reduce"))
    assert set(tab.evaluate(durations)) == {"0s"}


@pytest.mark.parametrize("width", [320, 375])
def test_phone_scrolls_in_one_direction_only(tabs: Tabs, site: Site, width: int) -> None:
    fits = "document.documentElement.scrollWidth <= window.innerWidth"
    tab = tabs.open(site.address, viewport={"width": width, "height": 720})
    expect(tab.locator("#index")).to_contain_text("generation")
    assert tab.evaluate(fits)
    tab.get_by_label("Question").fill(QUESTION)
    tab.keyboard.press("Enter")
    _answered(tab)
    tab.get_by_text("Settings").click()
    tab.get_by_label("Context tokens").fill("100")
    tab.get_by_label("Gap", exact=False).first.fill("6")
    expect(tab.locator("#context")).to_be_visible()
    for details in tab.locator("details").all():
        details.evaluate("(details) => { details.open = true; }")
    expect(tab.locator("#reply pre")).to_be_visible()
    assert tab.evaluate(fits)
    small = tab.locator("button:visible, summary:visible, input:visible").evaluate_all(
        "(all) => all.filter((n) => n.getBoundingClientRect().height < 24).map((n) => n.outerHTML)"
    )
    assert small == []
    tab.get_by_label("Filter").fill('{"' + "x" * 300 + '": 1}')
    expect(tab.get_by_role("alert")).to_be_visible()
    assert tab.evaluate(fits)


def test_token_is_asked_for_and_kept_in_this_tab_only(
    tabs: Tabs, manuals: str, serve: Serve, tmp_path: Path
) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"page query {hashlib.sha256(b'open sesame-1').hexdigest()}\n")
    with serve(manuals, f"serve.tokens_file={file}") as site:
        tab = tabs.open(site.link())
        alert = tab.get_by_role("alert")
        expect(alert).to_contain_text("This service asks for a token")
        expect(tab.locator("#index")).to_have_text("a token is needed")
        token = tab.get_by_label("Bearer token")
        for wrong in ("wrong", "wr€ng"):
            token.fill(wrong)
            token.press("Enter")
            expect(alert).to_contain_text("asks for a token" if wrong == "wrong" else "characters")
        token.fill("open sesame-1")
        token.press("Enter")
        _answered(tab)
        expect(alert).to_be_hidden()
        expect(tab.locator("#index")).to_contain_text("13 documents")
        kept = tab.evaluate(
            "[JSON.stringify(sessionStorage), localStorage.length, document.cookie]"
        )
        assert "open sesame-1" in kept[0]
        assert kept[1:] == [0, ""]
        assert not any("sesame" in url for url in [tab.url, *tabs.requests])
        tab.reload()
        _answered(tab)
        tab.get_by_text("Access").click()
        token.fill("")
        token.press("Enter")
        expect(alert).to_contain_text("This service asks for a token")
        assert tab.evaluate("sessionStorage.length") == 0
        tabs.contexts[0].close()
        tabs.contexts.clear()


def test_refusals_are_told_in_words(tabs: Tabs, site: Site) -> None:
    tab = _answered(tabs.open(site.link()))
    alert = tab.get_by_role("alert")
    where = tab.get_by_label("Filter")
    where.fill('{"colour": "red"}')
    expect(alert).to_contain_text("unknown field 'colour'")
    expect(_cards(tab)).to_have_count(0)
    num_asked = len(site.service.asked)
    for wrong, told in (("{", "not JSON"), ("[1]", "has to be a map"), ("null", "has to be a map")):
        where.fill(wrong)
        expect(alert).to_contain_text(told)
        expect(where).to_have_attribute("aria-invalid", "true")
    assert len(site.service.asked) == num_asked
    where.fill("")
    _answered(tab)
    expect(where).not_to_have_attribute("aria-invalid", "true")
    tab.locator("#top_k").fill("1001")
    expect(alert).to_contain_text("top_k")
    tab.locator("#top_k").fill("")
    _answered(tab)
    site.service.trouble = OverloadedError("300 questions are being answered")
    tab.get_by_role("button", name="Ask", exact=True).click()
    expect(alert).to_contain_text("The service is busy. Try again in 1 s.")
    site.service.trouble = ShardUnavailableError("group-1: deadline passed")
    tab.get_by_role("button", name="Ask again").click()
    expect(alert).to_contain_text("group-1: deadline passed")
    site.service.trouble = ValueError("a fault")
    tab.get_by_role("button", name="Ask again").click()
    expect(alert).to_contain_text("The service failed.")
    site.service.trouble = None
    tab.get_by_role("button", name="Ask again").click()
    _answered(tab)
    expect(alert).to_be_hidden()


def test_service_that_is_gone_and_comes_back(tabs: Tabs, manuals: str, serve: Serve) -> None:
    with serve(manuals) as site:
        tab = _answered(tabs.open(site.link()))
        cards = _cards(tab).count()
    tab.get_by_role("button", name="Ask", exact=True).click()
    expect(tab.get_by_role("alert")).to_contain_text("The service cannot be reached.")
    expect(_cards(tab)).to_have_count(0)
    tab.route("**/v1/query", lambda route: route.fulfill(status=200, body="<html>proxy</html>"))
    tab.get_by_role("button", name="Ask again").click()
    expect(tab.get_by_role("alert")).to_contain_text("cut off, or is not of this service")
    tab.unroute_all()
    assert cards == 5


def test_older_answer_never_replaces_a_newer_one(tabs: Tabs, site: Site) -> None:
    site.service.delays_s["slow filter"] = 1.0
    tab = tabs.open(site.address)
    question = tab.get_by_label("Question")
    question.fill("slow filter")
    question.press("Enter")
    expect(tab.get_by_role("status")).to_have_text("Asking …")
    expect(tab.locator("#answer")).to_have_attribute("aria-busy", "true")
    question.fill("quick pump")
    question.press("Enter")
    quick = site.reply("quick pump")
    _expect_answer(tab, quick)
    tab.wait_for_timeout(1300)
    _expect_answer(tab, quick)
    assert [request.query for request in site.service.asked[:2]] == ["slow filter", "quick pump"]
    question.fill("slow filter")
    question.press("Enter")
    tab.get_by_label("Filter").fill("{")
    expect(tab.get_by_role("alert")).to_contain_text("not JSON")
    tab.wait_for_timeout(1300)
    expect(_cards(tab)).to_have_count(0)
    assert site.service.cancelled == ["slow filter", "slow filter"]


def test_link_reproduces_the_view(tabs: Tabs, site: Site) -> None:
    tab = tabs.open(site.address)
    question = tab.get_by_label("Question")
    asked = "café & crème #1 + 50 %? 'quoted' \"twice\" pump"
    question.fill(asked)
    question.press("Enter")
    _answered(tab)
    values = {
        "top_k": "7",
        "min_index_gap": "3",
        "position_weight": "0.15",
        "lexical_weight": "0.3",
    }
    values |= {"max_context_tokens": "120", "filter": '{"doc_id": {"gte": "manual_002.md"}}'}
    for name, value in values.items():
        tab.locator(f"#{name}").fill(value)
    tab.locator("#context_rule").select_option("gap")
    expect(tab).to_have_url(re.compile("context_rule=gap"))
    _answered(tab, "7 passages")
    other = _answered(tabs.open(tab.url), "7 passages")
    assert _shown(other) == _shown(tab)
    assert other.get_by_label("Question").input_value() == asked
    for name, value in values.items():
        assert other.locator(f"#{name}").input_value() == value
    assert other.locator("#top_k-slider").input_value() == "7"
    question.fill("valve")
    question.press("Enter")
    expect(tab).to_have_url(re.compile("q=valve"))
    tab.go_back()
    expect(question).to_have_value(asked)
    _expect_answer(tab, {"results": _rows(site, asked, values)})
    sent = [url for url in tabs.requests if not url.endswith(("/v1/query", "/v1/index"))]
    assert all("quoted" not in url.partition("#")[0] for url in sent)


def _rows(site: Site, question: str, values: dict[str, str]) -> list[dict[str, Any]]:
    body = {name: json.loads(value) for name, value in values.items()}
    rows: list[dict[str, Any]] = site.reply(question, **body, context_rule="gap")["results"]
    return rows


def test_index_of_one_chunk_and_an_answer_without_results(
    tabs: Tabs,
    tmp_path: Path,
    index_of: Callable[[Path], str],
    serve: Serve,
) -> None:
    corpus = tmp_path / "one"
    corpus.mkdir()
    (corpus / "note.txt").write_text("The spare fuse is behind the panel.")
    with serve(index_of(corpus)) as site:
        tab = _answered(tabs.open(site.link("Where is the fuse?")), "1 passage from 1 document")
        _expect_answer(tab, site.reply("Where is the fuse?"))
        expect(tab.locator(".summary")).to_contain_text("yes: the index has no more")
        expect(_cards(tab).first).to_contain_text("position 0.50")
        tab.get_by_label("Filter").fill('{"doc_id": "other"}')
        _answered(tab, "No passage was found that the filter lets through.")
        expect(_cards(tab)).to_have_count(0)
        expect(tab.locator(".summary")).to_contain_text("3 of 3 shards, 1 document")
        expect(tab.locator(".where")).to_have_count(0)


def test_thousand_results_with_long_names_stay_usable(
    tabs: Tabs,
    tmp_path: Path,
    index_of: Callable[[Path], str],
    serve: Serve,
    record_property: Callable[[str, object], None],
) -> None:
    corpus = tmp_path / "many"
    corpus.mkdir()
    lines = (
        json.dumps(
            {"doc_id": f"{LONG_NAME}/{number:04d}", "text": f"Fuse {number} of the panel. " * 50}
        )
        for number in range(150)
    )
    (corpus / "many.jsonl").write_text("\n".join(lines))
    with serve(index_of(corpus)) as site:
        link = site.link("Which fuse?", top_k=1000, min_index_gap=1)
        tab = tabs.open(link, viewport={"width": 375, "height": 812})
        _answered(tab, "1,000 passages")
        expect(_cards(tab)).to_have_count(50)
        assert tab.evaluate("document.documentElement.scrollWidth") <= 375
        tab.get_by_role("button", name="Show 50 more of the 950 left").click()
        expect(_cards(tab)).to_have_count(100)
        expect(_cards(tab).nth(50)).to_be_focused()
        tab.get_by_role("button", name=re.compile("more documents")).click()
        tab.get_by_text("Candidates of the second pass").click()
        expect(tab.locator("#second-pass tbody tr")).to_have_count(500)
        tab.get_by_role("button", name="Show 500 more rows").click()
        expect(tab.locator("#second-pass tbody tr")).to_have_count(1000)
        tab.locator('.mark.kept:text-is("1,000")').click()
        expect(_cards(tab)).to_have_count(1000)
        expect(_cards(tab).last).to_be_focused()
        expected = _expected(site.reply("Which fuse?", top_k=1000, min_index_gap=1))
        assert _shown(tab) == expected
        assert tab.evaluate("document.documentElement.scrollWidth") <= 375
        tab.locator("#settings summary").first.click()
        used = _browser_cpu(tab)
        tab.locator("#top_k").fill("999")
        _answered(tab, "999 passages")
        seconds = used()
        record_property("CPU seconds of the browser until 999 results are shown", seconds)
        assert seconds < 3


def _browser_cpu(tab: Page) -> Callable[[], float]:
    """Return what tells the CPU seconds of the tab's tasks from now on."""
    session = tab.context.new_cdp_session(tab)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def read() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return {row["name"]: float(row["value"]) for row in metrics}["TaskDuration"]

    start = read()
    return lambda: read() - start
