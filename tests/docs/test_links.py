"""Internal links of the Markdown lead somewhere, and to headings that exist; the site changes them correctly."""

from pathlib import Path

import pytest

from docs.building.contents import PARTS, markdown, pages
from docs.building.links import PAGES, ROOT, for_page, is_elsewhere
from docs.building.pages import expanded
from tests.docs.markdown import FILES, anchors, links, name


@pytest.mark.parametrize("path", FILES, ids=name)
def test_internal_links_and_anchors(path):
    for link in links(path.read_text()):
        target, _, anchor = link.partition("#")
        if is_elsewhere(link):
            continue
        there = (path.parent / target).resolve() if target else path
        assert there.exists(), f"{name(path)} links to {link}"
        if anchor:
            assert anchor in anchors(there.read_text()), f"{name(path)} links to {link}, which has no such heading"


def test_a_link_that_leads_nowhere_would_be_found(tmp_path):
    text = "[a](b.md) and `[not](this.md)`, [c](d.md#e)\n```\n[nor](that.md)\n```\n![i](i.png)"
    assert links(text) == ["b.md", "d.md#e", "i.png"]
    assert anchors("# One seed, one instance: 99.9 %\n```\n# not this\n```\n## On a GPU") == {
        "one-seed-one-instance-999-", "on-a-gpu",
    }  # fmt: skip


def test_the_pages_of_the_site_have_no_link_that_leads_nowhere():
    there = {f"{page}.md" for page in pages()} | {"index.md"}
    for page in there:
        path = ROOT / "docs" / page
        for link in links(expanded(path.read_text(), path)) if "generated" not in path.read_text() else ():
            target = link.partition("#")[0]
            if target and not is_elsewhere(link):
                assert (path.parent / target).resolve().is_file(), f"{page} links to {link}"


def test_links_to_files_that_are_pages_lead_to_those_pages():
    source, page = ROOT / "benchmarks" / "README.md", ROOT / "docs" / "benchmarks.md"
    given = "[f](../docs/facts.md#files) [c](cpu.json) [e](../examples/README.md) [w](https://a.b)"
    changed = for_page(given, source, page)
    assert changed == "[f](facts.md#files) [c](../benchmarks/cpu.json) [e](examples.md) [w](https://a.b)"
    assert for_page("[shipped](../results/paper)", ROOT / "docs" / "a.md", ROOT / "docs" / "a.md") == "`shipped`"
    for file, page_of_it in PAGES.items():
        text = (ROOT / page_of_it).read_text()
        assert (ROOT / file).exists() and (f"{{include}} ../{file}" in text or page_of_it == "docs/index.md")


def test_every_page_is_in_the_table_of_contents():
    shown = set(markdown().split())
    inside = {page for page in pages() if page.startswith("theory/")}
    assert inside and all(f"\n{page}\n" in (ROOT / "docs" / "theory.md").read_text() for page in inside)
    assert pages() - inside <= shown
    named = [page for part in PARTS.values() for page in part]
    assert len(named) == len(set(named))


def test_a_page_that_no_part_names_appears_under_more(tmp_path, monkeypatch):
    for one in ("index.md", "start.md", "unheard_of.md"):
        (tmp_path / one).write_text("# A page")
    monkeypatch.setattr("docs.building.contents.DOCS", Path(tmp_path))
    assert ":caption: More\n:hidden:\n\nunheard_of\n" in markdown() and "predict" not in markdown()
