"""A report in a real browser: headless Chromium, driven through ChromeDriver."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
if not CHROMIUM or not DRIVER:
    pytest.skip("no browser: chromium or chromedriver is not installed", allow_module_level=True)

FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
    "--disable-background-networking --disable-component-update --disable-dev-shm-usage "
    "--window-size=1280,900"
)
OWN = ("chrome://", "chrome-untrusted://")  # the browser's own pages


class Page:
    """A report in the browser, with the few moves the tests make."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver
        # A browser without a window may start with its page out of focus: no focus events then.
        driver.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})

    def open(self, file: Path) -> Page:
        self.driver.get(file.as_uri())
        self.settle()
        return self

    def run(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)

    def settle(self) -> None:
        """Wait until the picture of the last change is drawn."""
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done));"
        )

    def move(self, t: int) -> None:
        """Put the slider at the t-th τ, as a finger would."""
        self.run(
            "const s = document.getElementById('tau'); s.value = arguments[0];"
            "s.dispatchEvent(new Event('input', {bubbles: true}));",
            t,
        )
        self.settle()

    def press(self, selector: str, *keys: str) -> None:
        element = self.driver.find_element("css selector", selector)
        for key in keys:
            element.send_keys(key)
        self.settle()

    def text(self, selector: str) -> str:
        found = self.run("return document.querySelector(arguments[0]).textContent", selector)
        return str(found)

    def listed(self) -> list[int]:
        """Numbers of the inputs in the list of selected ones."""
        rows = "[...document.querySelectorAll('#selected-list li')]"
        return [int(a) for a in self.run(f"return {rows}.map((row) => row.dataset.input)")]

    def table(self) -> list[list[str]]:
        """The cells of the table."""
        rows: list[list[str]] = self.run(
            "return [...document.querySelectorAll('tbody tr')]"
            ".map((row) => [...row.cells].map((cell) => cell.textContent))"
        )
        return rows

    def complaints(self) -> list[str]:
        """What the console says, and every address that was asked for beyond this file."""
        said = [entry["message"] for entry in self.driver.get_log("browser")]
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url, page = message["params"]["request"]["url"], message["params"]["documentURL"]
                # The browser's own first page, an empty tab, may still be loading.
                if not url.startswith(("file://", "data:")) and not page.startswith(OWN):
                    said.append(url)
        return said

    def resize(self, width: int, scheme: str = "light") -> None:
        """A screen of this width, with light or dark colours."""
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
        )
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
        )
        self.settle()
