"""MathJax, taken from its npm package when the site is built, so that the site needs no network."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

PACKAGE = "mathjax@3.2.2"
# Formulas become SVG, so that no fonts are needed beside the script.
SCRIPT = "tex-svg.js"
SHA256 = "d4295dc33744836935c1399feece5159577b34c5c8ffb9f1c6324cd82e03a882"


def vendor(folder: Path) -> Path:
    """Put the script into the folder, if it is not there, and return where it is."""
    script = folder / SCRIPT
    if script.is_file() and _digest(script) == SHA256:
        return script
    npm = shutil.which("npm")
    if npm is None:
        raise RuntimeError(
            f"npm is not installed, and {script} is missing; install npm, or put {SCRIPT} of "
            f"{PACKAGE} there."
        )
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        command = [npm, "pack", "--silent", "--pack-destination", temporary, PACKAGE]
        subprocess.run(command, check=True, cwd=temporary, stdout=subprocess.DEVNULL)
        (archive,) = Path(temporary).glob("*.tgz")
        with tarfile.open(archive) as package:
            package.extract(f"package/es5/{SCRIPT}", temporary, filter="data")
        found = Path(temporary) / "package" / "es5" / SCRIPT
        if _digest(found) != SHA256:
            raise RuntimeError(f"{SCRIPT} of {PACKAGE} is not the file that was tested.")
        shutil.move(found, script)
    return script


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
