"""The auditor's page in a real browser: it works, for everybody, and nothing on it breaks its own rules (spec 5).

Needs Chromium on the PATH (`apt-get install chromium`); the tests are skipped, and say so, where there is none.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pytest
from axe_playwright_python.sync_playwright import Axe
from corpus.auditor_store import READERS, ROUTER_EDGE, load
from corpus.records import Store
from corpus.serving import key_file, listening
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from graphrag_provenance.config import Settings
from graphrag_provenance.interfaces.http.app import create_app
from graphrag_provenance.interfaces.http.identity import identity_for
from graphrag_provenance.interfaces.http.service import Service
from graphrag_provenance.store.loop import LoopDatabase

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=f"no browser on the PATH ({', '.join(NAMES)}): install chromium")
CLAIM = urlencode({"from": "System:checkout-api", "to": "Policy:POL-31", "env": "production", "region": "eu-west"})
EDGE = urlencode({"id": ROUTER_EDGE})
EVERY_PAGE = [
    "/", "/?q=ledger", "/entity?address=System:payment-router", "/entity?address=Thing:start", "/trace", f"/trace?{CLAIM}",
    f"/trace/sheet?{CLAIM}", "/trace?from=System:refund-worker&to=Policy:POL-22", f"/edge?{EDGE}", f"/edge/history?{EDGE}",
    "/edge?id=E:dep:webhook-dispatcher-%3Eledger", "/runs", "/runs/2", "/runs/compare?before=1&after=2", "/withheld",
]  # fmt: skip
FAILING = ["/nowhere", "/trace?from=x&to=y&hops=99"]
# Listens for what a policy forbids; an init script stands outside of the page's policy.
WATCH = "window.broken = []; document.addEventListener('securitypolicyviolation', (e) => window.broken.push(e.violatedDirective))"


@dataclass
class Site:
    """A service that listens, and a browser."""

    address: str
    keys: dict[str, str]
    browser: Browser

    @contextmanager
    def visit(self, who: str | None, **options: Any) -> Iterator[tuple[Page, list[str]]]:
        """A new browser window, signed in; and what it complains of."""
        context: BrowserContext = self.browser.new_context(base_url=self.address, **options)
        context.set_default_timeout(30_000)
        page, complaints = context.new_page(), list[str]()
        page.add_init_script(WATCH)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None)
        try:
            if who is not None:
                page.goto("/")
                page.get_by_label("API key or token").fill(self.keys[who])
                page.get_by_role("button", name="Sign in").click()
                expect(page.get_by_role("heading", level=1)).to_have_text("What proves it?")
            yield page, complaints
        finally:
            context.close()


@pytest.fixture(scope="module")
def site(emptied: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    load(emptied)
    path, keys = key_file(tmp_path_factory.mktemp("keys"), READERS)
    settings = Settings(serve_api_keys=path, serve_burst=10_000, serve_rate_per_minute=100_000, serve_timeout_seconds=120)
    app = create_app(Service(LoopDatabase(emptied.database.connection, read_timeout=120), settings), identity_for(settings))
    root = ["--no-sandbox"] if getattr(os, "geteuid", lambda: 1)() == 0 else []  # Chromium's sandbox is not for root
    with listening(app) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=root)
        yield Site(address, keys, browser)
        browser.close()


def test_search_trace_evidence_history(site: Site) -> None:
    with site.visit("aud") as (page, complaints):
        page.get_by_label("Name, id or alias of an entity").press_sequentially("checkout")
        option = page.get_by_role("option").first
        expect(option).to_contain_text("Checkout API")
        page.keyboard.press("ArrowDown")
        expect(option).to_have_attribute("aria-selected", "true")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Checkout API")
        expect(page.get_by_role("link", name="E:dep:checkout-api->payment-router").first).to_be_visible()

        page.get_by_role("link", name="Trace from here").click()
        expect(page.get_by_label("From", exact=True)).to_have_value("System:checkout-api")
        page.get_by_label("To", exact=True).press_sequentially("POL-31")
        page.get_by_role("option", name="Policy:POL-31").click()
        expect(page.get_by_label("To", exact=True)).to_have_value("Policy:POL-31")
        page.get_by_label("Environment").fill("production")
        page.get_by_label("Region").fill("eu-west")
        page.get_by_role("button", name="Trace").click()
        expect(page.locator(".verdict")).to_contain_text("supported")

        page.locator("svg.path a.hop").nth(1).click()
        step = page.locator("#step-1-2")
        expect(step).to_be_in_viewport()
        expect(step).to_contain_text("Payment Router depends_on General Ledger")
        expect(step.locator("blockquote").first).to_contain_text("The payment router books every captured payment into the ledger")
        step.get_by_text("The whole passage").first.click()
        expect(step.locator("mark").first).to_be_visible()
        expect(step).to_contain_text("sha256:")

        step.get_by_role("link", name="history").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("depends_on")
        rows = page.locator("tbody tr")
        expect(rows).to_have_count(3)
        expect(rows.nth(0)).to_contain_text("retired")
        expect(rows.nth(2)).to_contain_text("active")
        assert complaints == []


def test_withheld_edges_are_listed_and_two_runs_compared(site: Site) -> None:
    with site.visit("aud") as (page, _):
        page.get_by_role("link", name="Withheld").click()
        expect(page.locator("tbody")).to_contain_text("unknown-policy")
        page.get_by_role("link", name="Runs").click()
        page.get_by_label("After run", exact=True).fill("1")
        page.get_by_label("And after run").fill("2")
        page.get_by_role("button", name="Compare").click()
        expect(page.locator("main")).to_contain_text("2 retracted, 2 changed in content")


def test_the_withheld_queue_does_not_exist_without_the_role(site: Site) -> None:
    with site.visit("ann") as (page, _):
        expect(page.get_by_role("link", name="Withheld")).to_have_count(0)
        expect(page.get_by_role("link", name="Runs")).to_have_count(0)
        page.goto("/withheld")
        withheld = page.content()
        page.goto("/no-such-page")
        assert page.content() == withheld


@pytest.mark.parametrize(("name", "options"), [
    ("light", {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"}),
    ("dark", {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"}),
    ("phone", {"viewport": {"width": 390, "height": 844}, "is_mobile": True}),
])
def test_every_page_keeps_its_rules(site: Site, name: str, options: dict[str, Any]) -> None:
    """No complaint of the browser, nothing that the policy forbids, nothing that a person with an aid stumbles over, nothing that
    moves while it loads, and no page that is wider than the window."""
    with site.visit("aud", **options) as (page, complaints):
        every = EVERY_PAGE[1::2] if name == "dark" else EVERY_PAGE  # every kind of content is on one of these
        for path in [*every, *FAILING, "/sign-in"]:
            answer = page.goto(path)
            assert answer is not None
            if path in FAILING:
                complaints[:] = [one for one in complaints if "status of 4" not in one]
            found = [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in Axe().run(page, options=AIDED[name]).response["violations"]
                     if one["impact"] in ("serious", "critical")]
            assert found == [], path
            assert page.evaluate("window.broken") == [], path
            assert page.evaluate("document.documentElement.scrollWidth") <= options["viewport"]["width"], path
            assert page.evaluate(SHIFT) < 0.02, path
            assert complaints == [], path


# The whole of axe once; in the dark and on a phone what may differ there.
AIDED: dict[str, dict[str, Any]] = {
    "light": {"resultTypes": ["violations"]}, "dark": {"resultTypes": ["violations"], "runOnly": ["color-contrast"]},
    "phone": {"resultTypes": ["violations"], "runOnly": ["scrollable-region-focusable", "target-size"]}}
SHIFT = """() => new Promise((done) => {
  let sum = 0;
  new PerformanceObserver((list) => { for (const one of list.getEntries()) sum += one.value; })
    .observe({ type: 'layout-shift', buffered: true });
  setTimeout(() => done(sum), 20);
})"""


def test_these_checks_find_what_they_look_for(site: Site) -> None:
    with site.visit("ann") as (page, complaints):
        page.evaluate("document.body.setAttribute('style', 'width: 3000px'); const b = document.createElement('button');"
                      " document.querySelector('main').append(b)")
        page.wait_for_function("window.broken.length > 0")
        assert "style-src-attr" in page.evaluate("window.broken")
        assert any("Content Security Policy" in one for one in complaints)
        assert "button-name" in [one["id"] for one in Axe().run(page).response["violations"]]


def test_it_works_without_script(site: Site) -> None:
    with site.visit("ann", java_script_enabled=False) as (page, _):
        page.get_by_label("Name, id or alias of an entity").fill("the ledger")
        page.get_by_role("button", name="Search").click()
        page.get_by_role("link", name="General Ledger").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("General Ledger")
        page.goto("/trace")
        page.get_by_label("From", exact=True).fill("System:checkout-api")
        page.get_by_label("To", exact=True).fill("Policy:POL-31")
        page.get_by_role("button", name="Trace").click()
        expect(page.locator(".step")).to_have_count(3)
        page.get_by_role("link", name="Evidence sheet to print").click()
        expect(page.locator("main")).to_contain_text("sha256:cefbf633167200c9f3287deae2cfd121b796daf5e0516c5c03d70c9a008d406a")
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_label("API key or token")).to_be_visible()
        page.goto("/trace")
        expect(page.get_by_label("API key or token")).to_be_visible()


def test_the_keyboard_reaches_everything_in_order(site: Site) -> None:
    with site.visit("ann") as (page, _):
        page.goto(f"/trace?{CLAIM}")
        page.keyboard.press("Tab")
        expect(page.locator(":focus")).to_have_text("Skip to the content")
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('main') !== null")
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        page.locator("svg.path a.hop").first.focus()
        page.keyboard.press("Enter")
        expect(page.locator("#step-1-1")).to_be_in_viewport()
        assert page.url.endswith("#step-1-1")


def test_the_sheet_prints_evidence_and_nothing_to_click(site: Site) -> None:
    with site.visit("ann") as (page, _):
        page.goto(f"/trace/sheet?{CLAIM}")
        expect(page.get_by_role("button", name="Print")).to_be_visible()
        page.emulate_media(media="print")
        for what in (".top", ".bottom", ".actions"):
            expect(page.locator(what).first).to_be_hidden()
        expect(page.locator(".imprint")).to_contain_text("generation 3")
        expect(page.locator(".hash").first).to_be_visible()
        assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF")
