"""The auditor's page without a browser: who gets in, what each reader sees, and that nothing a source wrote does anything (spec 5)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus, urlencode

import pytest
from corpus.auditor_store import HOSTILE, HOSTILE_EDGES, POLICY_EDGE, READERS, ROUTER_EDGE, TURNED, load, secrets_from
from corpus.records import Store
from corpus.serving import browser_of, key_file
from pydantic import SecretStr
from starlette.testclient import TestClient

from graphrag_provenance.config import Settings
from graphrag_provenance.errors import AccessDeniedError, InputError, NotFoundError
from graphrag_provenance.interfaces.http.app import create_app
from graphrag_provenance.interfaces.http.identity import identity_for
from graphrag_provenance.interfaces.http.service import Service
from graphrag_provenance.interfaces.web.gateway import PAGES, PROGRAMS, under
from graphrag_provenance.store.database import Connection
from graphrag_provenance.store.lookups import edge_list, edge_show, entity_show
from graphrag_provenance.store.loop import LoopDatabase
from graphrag_provenance.store.page_lookups import entity_aliases, evidence_tallies, passage_texts
from graphrag_provenance.store.run_diff import run_diff

CLAIM = {"from": "System:checkout-api", "to": "Policy:POL-31", "env": "production", "region": "eu-west"}
EDGE = urlencode({"id": ROUTER_EDGE})
EVERY_PAGE = ["/", "/?q=ledger", "/trace", "/trace?from=System:ledger", f"/trace?{urlencode(CLAIM)}", f"/trace/sheet?{urlencode(CLAIM)}",
              "/entity?address=System:ledger", f"/edge?{EDGE}", f"/edge/history?{EDGE}", "/runs", "/runs/2",
              "/runs/compare?before=1&after=2", "/withheld"]
FAILING = ["/nowhere", "/trace?from=x&to=y&hops=99", "/runs/compare?before=2&after=1", "/edge?id=x&as_of=zero", "/?q=" + "x" * 300]


class Page(HTMLParser):
    """What a browser would make of a page: its links, its scripts, its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "a" and (href := dict(attrs).get("href")):
            self.links.append(href)

    def handle_data(self, data: str) -> None:
        self.text += data


@dataclass
class Web:
    """A served store, and browsers of its readers."""

    client: TestClient
    keys: dict[str, str]
    file: Path
    store: Store
    browsers: dict[str, TestClient]

    def browser(self, scheme: str = "http") -> TestClient:
        return browser_of(self.client, scheme)

    def get(self, who: str, path: str) -> Any:
        return self.browsers[who].get(path)

    def page(self, who: str, path: str) -> Page:
        answer = self.get(who, path)
        assert answer.status_code == 200, (who, path, answer.status_code)
        return Page(answer.text)


def proof(text: str) -> str:
    return re.findall(r'name="proof" value="([0-9a-f]{64})"', text)[-1]


def sign_in(browser: TestClient, key: str, back: str = "/") -> Any:
    form = browser.get("/sign-in", params={"next": back})
    return browser.post("/sign-in", data={"proof": proof(form.text), "token": key, "next": back})


@contextmanager
def serve(connection: Connection, folder: Path, **more: Any) -> Iterator[tuple[TestClient, dict[str, str], Path]]:
    path, keys = key_file(folder, READERS)
    limits = {"serve_burst": 10_000, "serve_rate_per_minute": 100_000, "serve_timeout_seconds": 120}
    settings = Settings(serve_api_keys=path, **{**limits, **more})
    app = create_app(Service(LoopDatabase(connection, read_timeout=120, retry_seconds=0.1), settings), identity_for(settings))
    with TestClient(app) as client:
        yield client, keys, path


@pytest.fixture(scope="module")
def web(emptied: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    load(emptied)
    with serve(emptied.database.connection, tmp_path_factory.mktemp("keys")) as (client, keys, file):
        made = Web(client, keys, file, emptied, {})
        for who in READERS:
            made.browsers[who] = made.browser()
            assert sign_in(made.browsers[who], keys[who]).status_code == 303
        yield made


# Who gets in.


def test_a_key_opens_a_session_in_a_cookie_that_no_script_reads(web: Web) -> None:
    browser = web.browser("https")
    first = sign_in(browser, web.keys["ann"], "/trace")
    assert (first.status_code, first.headers["location"]) == (303, "/trace")
    session = next(one for one in first.headers.get_list("set-cookie") if "gprov_session" in one)
    assert session.startswith("__Host-gprov_session=")
    assert {"Path=/", "HttpOnly", "SameSite=Strict", "Secure"} <= {part.strip() for part in session.split(";")}
    assert web.keys["ann"] not in session
    again = sign_in(browser, web.keys["ann"])
    assert next(one for one in again.headers.get_list("set-cookie") if "gprov_session" in one) != session, "a new session each time"
    assert web.keys["ann"] not in browser.get("/").text


@pytest.mark.parametrize("token", [
    "", "x", "gprov_000000000000_x", "gprov_" + "é" * 9, "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4ifQ.", "x" * 20_000])
def test_a_wrong_key_opens_nothing_and_hears_nothing(web: Web, token: str) -> None:
    browser = web.browser()
    answer = sign_in(browser, token)
    assert answer.status_code == 401
    assert "gprov_session" not in str(answer.headers.get_list("set-cookie"))
    assert "not valid, or not any more" in answer.text
    assert browser.get("/").headers["location"] == "/sign-in"


@pytest.mark.parametrize("given", [
    {"proof": ""}, {"proof": "0" * 64}, {}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
    {"Origin": "https://evil.example"},
])
def test_a_form_from_elsewhere_signs_nobody_in(web: Web, given: dict[str, str]) -> None:
    browser = web.browser()
    good = proof(browser.get("/sign-in").text)
    headers = {name: value for name, value in given.items() if name != "proof"}
    form = {"token": web.keys["ann"], **({"proof": good} if headers else {k: v for k, v in given.items() if k == "proof"})}
    answer = browser.post("/sign-in", data=form, headers=headers)
    assert answer.status_code == 403
    assert "gprov_session" not in str(answer.headers.get_list("set-cookie"))
    fine = browser.post("/sign-in", data={"token": web.keys["ann"], "proof": good},
                        headers={"Sec-Fetch-Site": "same-origin", "Origin": "http://testserver"})
    assert fine.status_code == 303, "and one from here does"


def test_the_proof_of_another_browser_is_none(web: Web) -> None:
    stolen = proof(web.browser().get("/sign-in").text)
    browser = web.browser()
    browser.get("/sign-in")
    assert browser.post("/sign-in", data={"token": web.keys["ann"], "proof": stolen}).status_code == 403


@pytest.mark.parametrize("cookie", ["a\\015\\012Set-Cookie: x=y", "x; Domain=evil.example", '"\\073 Path=/x"', ""])
def test_a_cookie_that_we_did_not_make_is_not_given_back(web: Web, cookie: str) -> None:
    answer = web.browser().get("/sign-in", headers={"Cookie": f"gprov_form={cookie}"})
    assert answer.status_code == 200
    assert [re.fullmatch(r"gprov_form=[A-Za-z0-9_-]{32}; Path=/; HttpOnly; SameSite=Strict", one) is not None
            for one in answer.headers.get_list("set-cookie")] == [True]


@pytest.mark.parametrize(("path", "status"), [
    ("/runs/" + "9" * 5_000, 404), ("/edge?id=x&as_of=" + "9" * 5_000, 422), ("/runs/compare?before=1&after=" + "9" * 5_000, 422),
    ("/trace?from=A:b&to=A:c&hops=" + "9" * 5_000, 422), ("/runs?before=-1", 422), ("/?q=%FF%00", 200), ("/entity?address=A:%00", 404),
])
def test_what_no_person_writes_has_an_answer_too(web: Web, path: str, status: int) -> None:
    assert web.get("aud", path).status_code == status


def test_a_form_of_many_fields_is_refused(web: Web) -> None:
    assert web.browser().post("/sign-in", content="a=1&" * 50).status_code == 422


@pytest.mark.parametrize("path", [*EVERY_PAGE, "/nowhere", "/runs/99"])
def test_without_a_session_every_page_leads_to_the_form(web: Web, path: str) -> None:
    answer = web.browser().get(path)
    assert answer.status_code == 303
    target = answer.headers["location"]
    assert target.startswith("/sign-in")
    assert target == "/sign-in" if path == "/" else unquote_plus(target.partition("next=")[2]) == path


def test_a_cookie_opens_pages_only(web: Web) -> None:
    browser = web.browsers["aud"]
    for method, path in (("POST", "/v1/trace"), ("GET", "/v1/runs"), ("GET", "/metrics"), ("POST", "/v1/answers")):
        answer = browser.request(method, path, json={} if method == "POST" else None)
        assert answer.status_code == 401, path
        assert answer.headers["content-type"].startswith("application/json")
    assert browser.post("/trace").status_code == 303, "and nothing is posted but the two forms"
    assert browser.get("/trace").status_code == 200, "which ends nothing"


def test_every_route_is_a_page_or_for_programs(web: Web) -> None:
    paths = {getattr(route, "path", "") for route in _routes(web.client.app)}
    assert "/trace/sheet" in paths
    assert {path for path in paths if not under(path, PAGES) and not under(path, PROGRAMS)} == set()


def _routes(app: Any) -> Iterator[Any]:
    waiting = list(app.routes)
    while waiting:
        route = waiting.pop()
        inner = getattr(route, "routes", None) or getattr(getattr(route, "original_router", None), "routes", None)
        if inner:
            waiting.extend(inner)
        else:
            yield route


def test_signing_out_ends_the_session_everywhere(web: Web) -> None:
    browser = web.browser()
    sign_in(browser, web.keys["ann"])
    kept = dict(browser.cookies)
    assert browser.post("/sign-out", data={"proof": "0" * 64}).headers["location"] == "/", "a form from elsewhere ends nothing"
    assert browser.get("/").status_code == 200
    assert browser.post("/sign-out", data={"proof": proof(browser.get("/").text)}).headers["location"] == "/sign-in"
    again = web.browser()
    again.cookies.update(kept)
    assert again.get("/").headers["location"] == "/sign-in"


def test_a_key_that_is_taken_out_ends_its_session_at_the_next_page(web: Web) -> None:
    browser = web.browser()
    sign_in(browser, web.keys["low"])
    kept = dict(browser.cookies)
    assert browser.get("/").status_code == 200
    whole = web.file.read_text(encoding="utf-8")
    entries = whole.split("[[key]]")
    web.file.write_text("[[key]]".join(one for one in entries if 'principal = "low"' not in one), encoding="utf-8")
    try:
        assert browser.get("/").headers["location"] == "/sign-in"
    finally:
        web.file.write_text(whole, encoding="utf-8")
    browser.cookies.update(kept)  # whatever the browser was told: the session is no more
    assert browser.get("/").headers["location"] == "/sign-in", "it does not come back with the key"
    assert sign_in(web.browsers["low"], web.keys["low"]).status_code == 303


@pytest.mark.parametrize("more", [
    "tenant=GLOBEX", "clearance=restricted", "roles=auditor", "principal=aud", "view=auditor", "audience=auditor"])
def test_an_address_cannot_say_who_asks(web: Web, more: str) -> None:
    claim = urlencode({"from": "System:checkout-api", "to": "Policy:POL-31"})
    assert same(web.get("pub", f"/trace?{claim}&{more}").text) == same(web.get("pub", f"/trace?{claim}").text)
    assert web.get("pub", f"/withheld?{more}").status_code == 404


def same(text: str) -> str:
    """A page without what differs between two equal questions."""
    return re.sub(r'[0-9a-f]{32,64}|view=auditor&amp;|&amp;view=auditor', "", text)


# What a reader sees.


@pytest.mark.parametrize("who", ["ann", "pub"])
def test_no_page_says_what_this_reader_may_not_see(web: Web, who: str) -> None:
    """From a search on, every link that a reader can follow; control: the auditor does read such words."""
    forbidden = secrets_from(READERS[who])
    assert len(forbidden) > 10
    start = [f"/?q={word}" for word in ("ledger", "policy", "payment", "status", "fraud")]
    start += [f"/trace?{urlencode(CLAIM)}", "/trace?from=System:status-page&to=Policy:POL-50&stale=1"]
    pages = list(crawl(web, who, start, most=45))
    assert len(pages) > 25
    assert [(path, word) for path, page in pages for word in forbidden if word in page.text] == []
    assert [path for path, page in pages if any("needs" in (attrs.get("class") or "") for _, attrs in page.tags)] == [], "policies"
    read = " ".join(page.text for _, page in crawl(web, "aud", ["/entity?address=System:fraud-scorer"], most=12))
    assert any(word in read for word in forbidden)


def crawl(web: Web, who: str, start: list[str], most: int) -> Iterator[tuple[str, Page]]:
    waiting, reached = list(start), set(start)
    while waiting and most:
        path, most = waiting.pop(0), most - 1
        page = web.page(who, path)
        yield path, page
        for link in page.links:
            link = link.partition("#")[0]
            if link.startswith("/") and link not in reached:
                reached.add(link)
                waiting.append(link)


@pytest.mark.parametrize("who", ["ann", "pub", "aud"])
def test_an_entity_shows_the_edges_of_the_store_to_this_reader(web: Web, who: str) -> None:
    rows = web.store.cypher("MATCH (n:Entity {tenant: 'ACME'}) WHERE n.type <> 'Thing' RETURN n.type AS t, n.id AS i ORDER BY i")[::8]
    seen_some = False
    for row in rows:
        answer = web.get(who, f"/entity?{urlencode({'address': row['t'] + ':' + row['i']})}")
        try:
            known = entity_show(web.store.database, READERS[who], (row["t"], row["i"]))
        except NotFoundError:
            assert answer.status_code == 404, row
            continue
        shown = {unquote_plus(link.partition("id=")[2]) for link in Page(answer.text).links if link.startswith("/edge?")}
        assert shown == {edge["edge_id"] for edge in known["edges"]}, row
        seen_some = seen_some or bool(shown)
    assert seen_some


@pytest.mark.parametrize(("hidden", "absent"), [
    ("/entity?address=System:card-vault", "/entity?address=System:no-such"), ("/edge?id=E:dep:edge-proxy-%3Efraud-scorer", "/edge?id=E:no"),
    ("/edge/history?id=E:dep:edge-proxy-%3Efraud-scorer", "/edge/history?id=E:no"), ("/withheld", "/no-such-page"),
    ("/runs", "/no-such-page"), ("/runs/1", "/runs/99"), ("/runs/x", "/runs/99"), ("/runs/compare?before=1&after=2", "/no-such-page"),
    ("/entity?address=nonsense", "/no-such-page"), ("/edge?id=E:dep:webhook-dispatcher-%3Eledger", "/edge?id=E:no"),
    ("/edge?id=E:dep:edge-proxy-%3Efraud-scorer&as_of=1", "/edge?id=E:no&as_of=1"),
])
def test_what_is_hidden_is_the_page_that_does_not_exist(web: Web, hidden: str, absent: str) -> None:
    found, missing = web.get("pub", hidden), web.get("pub", absent)
    assert found.status_code == missing.status_code == 404
    assert found.content == missing.content
    drop = {"x-trace-id"}
    assert {k: v for k, v in found.headers.items() if k not in drop} == {k: v for k, v in missing.headers.items() if k not in drop}
    assert "href=\"/withheld\"" not in found.text
    assert web.get("aud", hidden).status_code == (404 if "nonsense" in hidden or hidden == "/runs/x" else 200)


@pytest.mark.parametrize("path", ["/trace", "/trace/sheet"])
def test_a_claim_about_the_hidden_is_answered_like_one_about_the_absent(web: Web, path: str) -> None:
    hidden = web.get("pub", f"{path}?from=System:card-vault&to=Policy:POL-50")
    absent = web.get("pub", f"{path}?from=System:xxxx-xxxxx&to=Policy:POL-50")
    assert "an end of the claim is no entity" in hidden.text.lower()
    assert clean(hidden.text).replace("card-vault", "xxxx-xxxxx") == clean(absent.text)


def clean(text: str) -> str:
    return re.sub(r"[0-9a-f]{32,64}|\d\d:\d\d:\d\d", "", text)


@pytest.mark.parametrize(("path", "word"), [("/?q=", "vault"), ("/suggest?q=", "card-va"), ("/suggest?q=", "fraud-sco")])
def test_nothing_hidden_is_found_or_suggested(web: Web, path: str, word: str) -> None:
    hidden, absent = web.get("pub", path + word), web.get("pub", path + "zzz")
    if "fraud" in word:  # a public edge touches it
        assert [one["address"] for one in hidden.json()] == ["System:fraud-scorer"]
    else:
        assert clean(hidden.text).replace(word, "zzz") == clean(absent.text)
    assert web.get("aud", path + word).text != web.get("aud", path + "zzz").text


def test_the_menu_has_what_the_role_opens(web: Web) -> None:
    menus = {who: {link for link in web.page(who, "/trace").links if link in ("/runs", "/withheld")} for who in READERS}
    both = {"/runs", "/withheld"}
    assert menus == {"ann": set(), "pub": set(), "aud": both, "low": both, "ops": both}


def test_withheld_edges_stand_there_with_their_reasons(web: Web) -> None:
    page = web.page("aud", "/withheld")
    expected = edge_list(web.store.database, READERS["aud"], withheld=True)
    assert expected
    for edge in expected:
        assert edge["edge_id"] in page.text
    assert "a policy that the store does not know is stated" in page.text
    assert "pubilc" in page.text
    assert [link for link in web.page("ops", "/withheld").links if link.startswith("/edge")] == [], "an operator may not see the edge"


def test_a_trace_shows_every_step_with_its_words_and_who_published_them(web: Web) -> None:
    page = web.page("ann", f"/trace?{urlencode(CLAIM)}")
    for told in ("supported", "In production checkout-api calls payment-router for every authorised basket", "RUNBOOK@2.0", "replaced by",
                 "characters 0–75", "sha256:cefbf633167200c9f3287deae2cfd121b796daf5e0516c5c03d70c9a008d406a", "samples/payments",
                 "the hash of the marked text is the hash stated", "Checkout › What it calls".partition(" ›")[0]):
        assert told in page.text, told
    anchors = {attrs["href"] for tag, attrs in page.tags if tag == "a" and (attrs.get("href") or "").startswith("#step")}
    assert anchors == {"#step-1-1", "#step-1-2", "#step-1-3"}
    assert anchors <= {f"#{attrs['id']}" for _, attrs in page.tags if attrs.get("id")}
    needs = {who: "policies internal" in " ".join(web.page(who.partition("-")[0], f"/trace?{urlencode(CLAIM | more)}").text.split())
             for who, more in (("ann", {}), ("aud", {}), ("aud-as-reader", {"view": "reader"}))}
    assert needs == {"ann": False, "aud": True, "aud-as-reader": False}


def test_an_unresolved_claim_says_why_and_fills_nothing_in(web: Web) -> None:
    page = web.page("ann", "/trace?from=System:refund-worker&to=Policy:POL-22&env=production")
    assert "no chain of visible, evidenced edges joins the two ends; a missing step is never filled in" in page.text.lower()
    assert not any("path" in (attrs.get("class") or "").split() for tag, attrs in page.tags if tag == "svg")


def test_a_claim_of_an_earlier_graph(web: Web) -> None:
    then, now = (web.page("ann", f"/trace?{urlencode(CLAIM | more)}").text for more in ({"as_of": "1"}, {}))
    assert "conf:118020@v5" in then
    assert "conf:118020@v6" not in then
    assert "conf:118020@v6" in now
    assert web.get("ann", f"/trace?{urlencode(CLAIM | {'as_of': '99'})}").status_code == 422


@pytest.mark.parametrize(("more", "told"), [
    ({"from": "ledger"}, "Write the type and the id"), ({"hops": "9"}, "A path has 1 to 8 steps"), ({"hops": "²"}, "A path has"),
    ({"at": "2026-01-01"}, "no time of day"), ({"relations": "a-b"}, "Write relations as in the records"),
    ({"as_of": "x"}, "number of a run"),
    ({"relations": "has_chunk"}, "reserved"),
])
def test_a_claim_that_is_not_understood_is_said_at_its_field(web: Web, more: dict[str, str], told: str) -> None:
    for path in ("/trace", "/trace/sheet"):
        answer = web.get("ann", f"{path}?{urlencode(CLAIM | more)}")
        assert answer.status_code == 422
        assert told in Page(answer.text).text
        assert Page(answer.text).tags.count(("title", {})) == 1


def test_the_text_of_a_passage_is_for_who_may_read_the_passage(web: Web) -> None:
    places = [("RUNBOOK@2.1", "c-1010"), ("conf:131900@v3", "c-1"), ("POL-50@3.0", "c-1"), ("none@1", "c")]
    seen = {who: set(passage_texts(web.store.database, READERS[who], places)) for who in ("ann", "pub", "aud")}
    assert seen == {"ann": {places[0], places[2]}, "pub": {places[2]}, "aud": set(places[:3])}


def test_evidence_is_counted_as_the_edge_shows_it(web: Web) -> None:
    edges = [one["edge_id"] for one in edge_list(web.store.database, READERS["aud"], limit=1000)]
    tallies = evidence_tallies(web.store.database, READERS["aud"], edges)
    for edge_id in edges[::6]:
        items = edge_show(web.store.database, READERS["aud"], edge_id)["evidence"]
        against = sum(item["polarity"] == "refutes" for item in items)
        assert tallies[edge_id][:2] == (len(items) - against, against)
    low = evidence_tallies(web.store.database, READERS["pub"], edges)
    assert set(low) == {one["edge_id"] for one in edge_list(web.store.database, READERS["pub"], limit=1000)}
    assert {one.policies for one in low.values()} == {()}
    hidden, open_ = ("System", "ledger"), ("System", "fraud-scorer")
    assert set(entity_aliases(web.store.database, READERS["pub"], [hidden, open_])) == {open_}


# Runs.


def test_the_diff_from_the_empty_store_is_all_there_was(web: Web) -> None:
    """Against the other way to know: what is listed now, and what the runs since changed."""
    for who in ("aud", "low"):
        found = run_diff(web.store.database, READERS[who], 0, 3)
        published = {one["edge_id"] for one in edge_list(web.store.database, READERS[who], limit=1000)}
        withheld = {one["edge_id"] for one in edge_list(web.store.database, READERS[who], withheld=True, limit=1000)}
        told = {(one["change"], one["after"]["edge_id"]) for one in found["edges"]}
        assert {edge for change, edge in told if change == "published"} == published, who
        assert {edge for change, edge in told if change == "withheld"} == withheld, who
        assert found["next"] is None


def test_two_runs_differ_by_what_the_second_changed(web: Web) -> None:
    found = run_diff(web.store.database, READERS["aud"], 1, 2)
    assert {one["after"]["edge_id"]: one["change"] for one in found["edges"]} == {
        ROUTER_EDGE: "changed", POLICY_EDGE: "changed", "E:dep:payment-router->SYS_A": "retracted",
        "E:dep:payment-router->card-vault": "retracted"}
    told = {one["after"]["edge_id"]: (one["differs"], one["evidence"]) for one in found["edges"] if one["change"] == "changed"}
    assert told == {ROUTER_EDGE: (["confidence"], {"came": 1, "went": 2}), POLICY_EDGE: ([], {"came": 1, "went": 0})}
    assert run_diff(web.store.database, READERS["low"], 1, 2)["edges"] == [], "they were internal when they stood"
    assert run_diff(web.store.database, READERS["aud"], 2, 3)["edges"]
    pages = [run_diff(web.store.database, READERS["aud"], 1, 2, start=start, limit=1) for start in ("", "E:dep:payment-router->SYS_A")]
    assert pages[0]["next"] == pages[0]["edges"][0]["after"]["edge_id"] == "E:dep:payment-router->SYS_A"
    assert pages[1]["edges"][0]["after"]["edge_id"] != "E:dep:payment-router->SYS_A"


def test_who_may_not_compare_runs_cannot(web: Web) -> None:
    for who in ("ann", "ops"):
        with pytest.raises(AccessDeniedError):
            run_diff(web.store.database, READERS[who], 1, 2)
    with pytest.raises(InputError):
        run_diff(web.store.database, READERS["aud"], 2, 2)
    with pytest.raises(NotFoundError):
        run_diff(web.store.database, READERS["aud"], 1, 99)
    assert web.get("ops", "/runs/2").status_code == 200
    assert "/runs/compare" not in web.get("ops", "/runs").text + web.get("ops", "/runs/2").text
    assert web.get("ops", "/runs/compare?before=1&after=2").status_code == 404


def test_the_pages_of_runs(web: Web) -> None:
    assert "Retracted" in web.page("aud", "/runs/compare?before=1&after=2").text
    page = web.page("aud", "/runs/2")
    record = web.store.cypher("MATCH (r:Run {seq: 2}) RETURN r.run_id AS id, r.trace_id AS trace")[0]
    assert record["id"] in page.text
    assert record["trace"] in page.text
    assert ".jsonl" not in page.text + web.page("aud", "/runs/1").text  # files may be another tenant's
    history = web.page("aud", f"/edge/history?{urlencode({'id': ROUTER_EDGE})}").text
    assert "tester" in history
    assert "tester" not in web.page("ann", f"/edge/history?{urlencode({'id': ROUTER_EDGE})}").text


# What a source wrote does nothing.


def test_hostile_names_are_text(web: Web) -> None:
    entity = web.page("pub", "/entity?address=Thing:start")
    edges = [link for link in entity.links if link.startswith("/edge?")]
    assert {unquote_plus(link.partition("id=")[2]) for link in edges} == set(HOSTILE_EDGES)
    pages = [("/entity", entity)] + [(link, web.page("pub", link)) for link in dict.fromkeys(edges)]
    pages += [(link, web.page("pub", link)) for link in entity.links if link.startswith("/entity?")]
    pages += [(link, web.page("pub", link.replace("/edge?", "/edge/history?"))) for link in edges]
    pages += [("search", web.page("pub", f"/?{urlencode({'q': HOSTILE})}"))]
    claims = [urlencode({"from": "Thing:start", "to": f"Thing:{name}"}) for name in HOSTILE_EDGES.values()]
    pages += [(claim, web.page("pub", f"/trace?{claim}")) for claim in claims]
    told = ""
    for path, page in pages:
        assert [attrs.get("src") for tag, attrs in page.tags if tag == "script"] == [web_script(page)], path
        assert not any(name.startswith("on") or name == "style" for _, attrs in page.tags for name in attrs), path
        assert not any(tag in ("i", "b", "iframe", "img", "style") for tag, _ in page.tags), path
        assert not any((attrs.get("href") or "").lower().startswith("javascript") for _, attrs in page.tags), path
        assert "\u202e" not in page.text, path
        told += page.text
    assert HOSTILE in told
    assert "abc⟨U+202E⟩gnp.exe" in told
    assert TURNED not in told
    assert "{{ 7 * 7 }}" in told
    assert " 49 " not in told


def web_script(page: Page) -> str | None:
    return next(attrs.get("src") for tag, attrs in page.tags if tag == "script")


def test_every_page_says_what_a_browser_may_do_with_it(web: Web) -> None:
    for who, path in [("aud", path) for path in (*EVERY_PAGE, *FAILING)] + [("pub", "/withheld")]:
        answer = web.get(who, path)
        policy = dict(part.strip().partition(" ")[::2] for part in answer.headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'", path
        assert policy["script-src"] == policy["style-src"] == "'self'", path
        assert policy["frame-ancestors"] == policy["base-uri"] == "'none'", path
        assert "unsafe" not in answer.headers["content-security-policy"]
        for name, value in (("x-content-type-options", "nosniff"), ("x-frame-options", "DENY"), ("cache-control", "no-store"),
                            ("referrer-policy", "same-origin"), ("cross-origin-opener-policy", "same-origin")):
            assert answer.headers[name] == value, (path, name)
        page = Page(answer.text)
        assert dict(page.tags)["html"] == {"lang": "en"}
        assert not any(name.startswith("on") or name == "style" for _, attrs in page.tags for name in attrs), path
        outside = [attrs for tag, attrs in page.tags if tag in ("script", "link", "img", "form") and any(
            "//" in (attrs.get(name) or "") for name in ("src", "href", "action"))]
        assert outside == [], path
    css = re.search(r'href="(/assets/[0-9a-f]{16}/page\.css)"', web.get("aud", "/").text)
    assert css is not None
    file = web.browser().get(css[1])
    assert (file.status_code, file.headers["cache-control"]) == (200, "public, max-age=31536000, immutable")
    assert web.browser().get("/assets/0000000000000000/page.css").status_code == 303


def test_a_browser_gets_a_page_when_the_store_is_gone(tmp_path: Path) -> None:
    gone = Connection("bolt://127.0.0.1:1", "neo4j", SecretStr("x"))
    with serve(gone, tmp_path) as (client, keys, _):
        browser = browser_of(client)
        assert sign_in(browser, keys["ann"]).status_code == 303
        answer = browser.get("/?q=x")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        assert "Try again in a few seconds" in answer.text
        assert answer.headers["x-trace-id"] in answer.text
        assert "127.0.0.1" not in answer.text


def test_too_many_requests_are_told_on_a_page(web: Web, tmp_path: Path) -> None:
    with serve(web.store.database.connection, tmp_path, serve_burst=2, serve_rate_per_minute=1) as (client, keys, _):
        browser = browser_of(client)
        sign_in(browser, keys["ann"])
        assert [browser.get("/trace").status_code for _ in range(3)] == [200, 200, 429]
        assert browser.get("/trace").headers["retry-after"]
