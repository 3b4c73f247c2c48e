"""The package's own source, parsed once, for tests of its shape."""

import ast
from functools import cache
from pathlib import Path

from shared import ROOT

PACKAGE = ROOT / "workbench"
FILES = sorted(PACKAGE.rglob("*.py"))


def module_name(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def public_definitions(file: Path) -> list[ast.FunctionDef | ast.ClassDef]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [node for node in tree(file).body if isinstance(node, kinds) and not node.name.startswith("_")]
