"""The command line as users run it: in a process of its own."""

import os
import resource
import subprocess
import sys


def run(*arguments, cwd, limit_bytes=None):
    def shrink():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))

    return subprocess.run(
        [sys.executable, "-m", "workbench", *map(str, arguments)],
        cwd=cwd, capture_output=True, text=True, timeout=120, env={**os.environ, "COLUMNS": "200"},
        preexec_fn=shrink if limit_bytes else None,
    )  # fmt: skip


def told(done, code, *words):
    assert done.returncode == code, done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr + done.stdout, done.stderr + done.stdout
