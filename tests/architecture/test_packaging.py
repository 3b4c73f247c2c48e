"""The wheel as a user gets it, and what an import costs."""

import os
import subprocess
import sys
import zipfile

import pytest
from shared import ROOT

HEAVY = ("statsmodels", "scipy.stats", "numba", "jupyterlab", "distributed", "pandas", "plotly", "polars", "duckdb")


def _python(code, **kwargs):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, **kwargs)


def test_import_is_light():
    done = _python("import sys, workbench; print(' '.join(sys.modules))", cwd=ROOT)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert not [name for name in HEAVY if name in loaded]


def test_kernels_import_without_heavy_libraries():
    code = "import sys, workbench.kernels.grid, workbench.kernels.matched, workbench.kernels.lag; print(' '.join(sys.modules))"
    done = _python(code, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert not {"statsmodels", "numba", "polars", "scipy.stats"} & set(done.stdout.split())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build the wheel with the tools that are installed: no network needed."""
    out = tmp_path_factory.mktemp("wheel")
    done = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return next(out.glob("*.whl"))


def test_wheel_holds_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {t for t in tops if not t.endswith(".dist-info")} == {"workbench"}
    assert "workbench/py.typed" in names
    assert any(name.startswith("workbench/model/catalogue/") and name.endswith(".toml") for name in names)
    assert wheel.stat().st_size < 2_000_000


def test_wheel_works_as_installed(wheel, tmp_path):
    """Run from the installed files, away from the checkout: simulate is not needed, doctor and ingest are."""
    site = tmp_path / "site"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(site), str(wheel)],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(site), "PYTHONSAFEPATH": "1"}
    told = _python("import workbench; print(workbench.__file__)", cwd=tmp_path, env=environment)
    assert str(site) in told.stdout
    dump = tmp_path / "dumps" / "t.csv"
    dump.parent.mkdir()
    dump.write_text("time,host,metric,value\n2026-03-01T00:00:00Z,node01,load,1\n2026-03-01T00:01:00Z,node01,load,2\n")
    for command in (["--version"], ["doctor"], ["ingest", "dumps", "--store", "s"], ["info", "--store", "s"]):
        done = subprocess.run(
            [sys.executable, "-m", "workbench", *command],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=environment,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
    asked = subprocess.run(
        [sys.executable, "-m", "workbench", "sql", "select max(value) m from samples", "--store", "s", "--format", "csv"],
        capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=120,
    )  # fmt: skip
    assert asked.stdout == "m\n2.0\n"
