"""The road in one go: raw dumps to a store, a screen, a judged claim, and a write-up.

Usage: python examples/demo.py [OUT]     (default out/demo)

Runs the commands of the README's tour one after another, each printed before it runs, so that
they can be copied. What is in OUT already is replaced.
"""

import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DUMPS = "data_samples/first_incident"
OUTCOME = "xid:48,94,95"
SEED = "7"


def commands(out: Path) -> list[list[str]]:
    """Give the commands, as a user would type them."""
    store = str(out / "store")
    return [
        ["workbench", "ingest", f"{DUMPS}/dumps", "--map", f"{DUMPS}/mapping.toml", "--store", store],
        ["workbench", "info", "--store", store],
        ["workbench", "incidents", "--outcome", OUTCOME, "--store", store],
        [
            "workbench",
            "screen",
            "--outcome",
            OUTCOME,
            "--store",
            store,
            "--seed",
            SEED,
            "--json",
            str(out / "findings.json"),
        ],
        [
            "workbench",
            "judge",
            "examples/first_incident.toml",
            "--store",
            store,
            "--seed",
            SEED,
            "--json",
            str(out / "verdicts.json"),
        ],
        ["workbench", "ledger", "--store", store],
        ["workbench", "report", "--outcome", OUTCOME, "--store", store, "--out", str(out / "write-up.html")],
        ["workbench", "report", "--verify", str(out / "write-up.html")],
    ]


def main() -> int:
    """Run them; stop at the first that fails."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "out/demo")
    if out.exists():
        shutil.rmtree(out)
    out.mkdir(parents=True)
    began = time.monotonic()
    for command in commands(out.resolve() if not out.is_relative_to(".") else out):
        print(f"\n$ {shlex.join(command)}", flush=True)
        done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, check=False)
        if done.returncode not in (0, 1):
            print(f"stopped: exit code {done.returncode}", file=sys.stderr)
            return done.returncode
    print(f"\nDone in {time.monotonic() - began:.0f} s. Open {out / 'write-up.html'} in a browser.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
