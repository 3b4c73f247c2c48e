"""A JupyterLab of its own and a headless Chromium, hard offline, for tests that look with a browser."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
_ARGUMENTS = [
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--force-color-profile=srgb",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]


@contextlib.contextmanager
def chromium(**options: Any) -> Iterator[Any]:
    """Give a page in a fresh browser; what it asks for and complains of is in ``page.seen``."""
    api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed (pip install 'workbench[browser]')"
    )
    if CHROMIUM is None:
        pytest.skip("no Chromium here; install it, or name it in CHROMIUM")
    with api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, headless=True, args=_ARGUMENTS)
        try:
            page = browser.new_context(viewport={"width": 1300, "height": 1500}, **options).new_page()
            page.seen = {"errors": [], "foreign": []}
            page.on("pageerror", lambda error: page.seen["errors"].append(str(error)))
            page.on("request", lambda request: _note(page, request.url))
            yield page
        finally:
            browser.close()


def _note(page: Any, url: str) -> None:
    if not url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:", "file:", "about:")):
        page.seen["foreign"].append(url)


@contextlib.contextmanager
def jupyterlab(root: Path) -> Iterator[tuple[str, str]]:
    """Start a server on a folder with settings of its own; give its address and token."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token, home = secrets.token_hex(16), root / ".home"
    folders = {
        name: str(home / name)
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    }
    folders |= {
        "JUPYTERLAB_SETTINGS_DIR": str(home / "set"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "ws"),
        "JUPYTER_NO_CONFIG": "1",
    }
    note = home / "set/@jupyterlab/apputils-extension/notification.jupyterlab-settings"
    note.parent.mkdir(parents=True)
    note.write_text('{"fetchNews": "false", "checkForUpdates": false, "doNotDisturbMode": true}')
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--expose-app-in-browser",
        "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={token}",
        f"--ServerApp.root_dir={root}", "--LabApp.extension_manager=readonly", "--ServerApp.terminals_enabled=False",
    ]  # fmt: skip
    log = root / "lab.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            cwd=root,
            env={**os.environ, "HOME": str(home), **folders},
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        _wait(process, f"http://127.0.0.1:{port}/api/status?token={token}", log)
        yield f"http://127.0.0.1:{port}", token
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # its own group only
            process.wait(5)


def _wait(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text()[-2000:]
        with contextlib.suppress(urllib.error.URLError, OSError):
            urllib.request.urlopen(address, timeout=2).close()
            return
        time.sleep(0.2)
    raise TimeoutError(log.read_text()[-2000:])


def open_notebook(page: Any, address: str, token: str, name: str) -> None:
    """Open a notebook on its own and wait until its kernel idles."""
    page.goto(f"{address}/doc/tree/{name}?token={token}")
    page.wait_for_selector(".jp-NotebookPanel .jp-Notebook .jp-Cell", timeout=120_000)
    page.wait_for_function(
        """() => { const shown = window.jupyterapp && window.jupyterapp.shell.currentWidget;
        return shown && shown.sessionContext && shown.sessionContext.session && shown.sessionContext.session.kernel
          && shown.sessionContext.session.kernel.status === 'idle'
          && window.jupyterapp.commands.hasCommand('notebook:run-all-cells'); }""",
        timeout=120_000,
    )


def run_all(page: Any) -> list[str]:
    """Run every cell; give the errors."""
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
    return page.evaluate(
        """() => window.jupyterapp.shell.currentWidget.content.widgets.filter(c => c.model.type === 'code')
        .flatMap(c => c.model.outputs.toJSON()).filter(o => o.output_type === 'error').map(o => o.ename + ': ' + o.evalue)"""
    )
