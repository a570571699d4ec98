"""The browser of the other pages."""

from tests.pages.conftest import browser  # noqa: F401
