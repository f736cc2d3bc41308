"""The browser that some tests look at pages with."""

import shutil

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None,
    reason="there is no chromium: apt-get install chromium",
)
