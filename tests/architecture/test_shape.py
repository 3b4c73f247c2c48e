"""Limits that keep the house small: file, function and signature sizes, public names, empty packages."""

import ast
import importlib

import pytest
from modules import FILES, PACKAGE, module_name, public_definitions, tree
from shared import ROOT

IDS = [str(file.relative_to(PACKAGE)) for file in FILES]


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_file_is_at_most_400_lines(file):
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 400


def _functions(file):
    return [node for node in ast.walk(tree(file)) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def _body_lines(function):
    first = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return 0 if not first else first[-1].end_lineno - first[0].lineno + 1


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_function_bodies_are_at_most_40_lines(file):
    long = {f.name: _body_lines(f) for f in _functions(file) if _body_lines(f) > 40}
    assert not long


@pytest.mark.parametrize(
    "file", [f for f in FILES if "cli" not in f.parts], ids=[i for i in IDS if not i.startswith("cli")]
)
def test_signatures_are_short(file):
    """At most 4 positional parameters and 10 in all, or a reason on the line (the command line is options by nature)."""
    wide, lines = [], file.read_text(encoding="utf-8").splitlines()
    for function in _functions(file):
        if "# noqa: PLR09" in lines[function.lineno - 1]:
            continue
        names = [a.arg for a in (*function.args.posonlyargs, *function.args.args) if a.arg not in ("self", "cls")]
        if len(names) > 4 or len(names) + len(function.args.kwonlyargs) > 10:
            wide.append(function.name)
    assert not wide


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_public_names_are_listed_and_exist(file):
    if file.name == "__main__.py":
        return
    module = importlib.import_module(module_name(file))
    if file.name == "__init__.py" and file.parent != PACKAGE:
        assert not file.read_text().strip(), "packages are empty by design: import a name from the file that defines it"
        return
    listed = set(getattr(module, "__all__", ()))
    assert {node.name for node in public_definitions(file)} <= listed
    assert all(hasattr(module, name) for name in listed)
    assert not [name for name in listed if name.lower().startswith("test")], "pytest would collect it"


def test_every_public_name_of_the_package_is_documented_and_resolves():
    workbench = importlib.import_module("workbench")
    undocumented = [
        name for name in workbench.__all__ if name != "__version__" and not getattr(workbench, name).__doc__
    ]
    assert not undocumented
    told = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    missing = [name for name in workbench.__all__ if name != "__version__" and f"`wb.{name}" not in told]
    assert not missing, f"docs/api.md does not mention {missing}"


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_nothing_catches_everything_in_silence(file):
    """A broad except needs its reason on the line, and may not just pass."""
    text = file.read_text(encoding="utf-8").splitlines()
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.ExceptHandler):
            broad = node.type is None or (
                isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException")
            )
            if broad:
                assert "#" in text[node.lineno - 1], f"{file}:{node.lineno}"
                assert not isinstance(node.body[0], ast.Pass), f"{file}:{node.lineno}"
