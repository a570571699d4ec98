"""Pages in a real browser, with all that they say and ask for."""

from dataclasses import dataclass, field

import pytest

from loadstone.pages.explorer import explorer_page


@dataclass
class Heard:
    """What a page said and asked for: console errors, uncaught exceptions, and requests other than for the file."""

    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@pytest.fixture(scope="session")
def window(browser, tmp_path_factory):
    """Pages keep nothing, so they share a window. A file stays open in it: without one each new page would start a
    process, which takes as long as the page itself."""
    window = browser.new_context()
    nothing = tmp_path_factory.mktemp("window") / "nothing.html"
    nothing.touch()
    window.new_page().goto(nothing.as_uri())
    yield window
    window.close()


@pytest.fixture
def open_page(window):
    """open_page(path, width, height) gives the page and what is heard from it; nothing may be heard by the end."""
    opened = []

    def open_file(path, width=1200, height=900):
        page, heard = window.new_page(), Heard()
        page.set_viewport_size({"width": width, "height": height})
        page.on("console", lambda message: heard.errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: heard.errors.append(str(error)))
        page.on("request", lambda request: heard.requests.append(request.url))
        page.goto(path.as_uri())
        opened.append((page, heard, path.as_uri()))
        return page

    yield open_file
    for page, heard, address in opened:
        assert not heard.errors
        assert [url for url in heard.requests if url != address and not url.startswith("data:")] == []
        page.close()


@pytest.fixture(scope="session")
def explorer(tmp_path_factory):
    path = tmp_path_factory.mktemp("explorer") / "explore.html"
    path.write_text(explorer_page(), encoding="utf-8")
    return path


@pytest.fixture
def page(open_page, explorer):
    """The explorer, opened; files about other pages have a fixture of this name of their own."""
    return open_page(explorer)
