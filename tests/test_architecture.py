"""The house: which room may import which, which library lives where, and how long things may grow."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import ROOT

PACKAGE = ROOT / "explorer"
SOURCES = sorted(PACKAGE.rglob("*.py")) + [ROOT / "app.py"]

# A room (a folder or a file of explorer/) and the rooms it may import; itself always.
LOWEST = {"errors", "paths"}
MAY_IMPORT = {
    "errors": set(),
    "paths": {"errors"},
    "hub": LOWEST,
    "data": LOWEST | {"hub"},
    "encoders": LOWEST | {"hub"},
    "jobs": LOWEST,
    "analysis": LOWEST | {"data", "encoders", "jobs"},
    "training": LOWEST | {"hub", "data", "encoders", "jobs"},
    "operations": LOWEST | {"hub", "data", "encoders", "jobs", "analysis", "training"},
    "figures": LOWEST | {"analysis"},
    "cli": LOWEST | {"hub", "data", "encoders", "jobs", "analysis", "training", "operations", "figures"},
    "ui": LOWEST | {"hub", "data", "encoders", "jobs", "analysis", "training", "operations", "figures"},
    "__main__": {"cli"},
    "__init__": set(),
    "app": {"ui"},
}
ROOMS_OF_LIBRARY = {
    "gradio": {"ui"},
    "gradio_client": {"ui"},
    "plotly": {"figures"},
    "torch": {"encoders", "analysis", "training"},
    "sentence_transformers": {"encoders", "analysis", "training", "operations"},
    "transformers": {"encoders", "training"},
    "datasets": {"training"},
    "huggingface_hub": {"hub"},
    "accelerate": {"training"},
    "umap": {"analysis"},
    "sklearn": {"analysis"},
}
STANDARD_ONLY = ["errors.py", "paths.py", "jobs", "training/config.py"]
LONGEST_FILE = 400
LONGEST_FUNCTION = 50


@dataclass(frozen=True)
class Import:
    """One imported module, wherever in the file the import stands."""

    module: str
    line: int
    for_types: bool


def imports_of(path: Path) -> list[Import]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {id(inner) for node in ast.walk(tree) if is_type_checking(node) for inner in ast.walk(node)}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}:{node.lineno}: imports are absolute here"
            module = node.module or ""
            # `from explorer import cli` names a room only in its second half.
            names = [f"explorer.{alias.name}" for alias in node.names] if module == "explorer" else [module]
        else:
            continue
        found += [Import(name, node.lineno, id(node) in typing_only) for name in names]
    return found


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def room_of(path: Path) -> str:
    if path == ROOT / "app.py":
        return "app"
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_imports_point_to_rooms_below(path: Path) -> None:
    room = room_of(path)
    assert room in MAY_IMPORT, f"{room} is a new room: give it a line in MAY_IMPORT"
    for item in imports_of(path):
        parts = item.module.split(".")
        if parts[0] != "explorer" or len(parts) == 1:
            continue
        target = parts[1]
        assert target == room or target in MAY_IMPORT[room], f"{name_of(path)}:{item.line}: {room} imports {target}"


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_libraries_stay_in_their_rooms(path: Path) -> None:
    for item in imports_of(path):
        rooms = ROOMS_OF_LIBRARY.get(item.module.split(".")[0])
        if rooms is not None and not item.for_types:
            assert room_of(path) in rooms, f"{name_of(path)}:{item.line}: {item.module} belongs in {', '.join(rooms)}"


def test_jobs_and_settings_use_the_standard_library_alone() -> None:
    files = [path for path in SOURCES for name in STANDARD_ONLY if f"explorer/{name}" in path.as_posix()]
    assert len(files) >= 3
    for path in files:
        for item in imports_of(path):
            top = item.module.split(".")[0]
            own = item.module.split(".")[:2] in (["explorer", "errors"], ["explorer", "paths"], ["explorer", "jobs"])
            assert top in sys.stdlib_module_names or own, f"{name_of(path)}:{item.line}: {item.module}"


def test_only_paths_reads_environment_variables() -> None:
    for path in SOURCES:
        if path == PACKAGE / "paths.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert not reads_environment(node), f"{name_of(path)}:{node.lineno}: read it in paths.py"


def reads_environment(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute) and node.attr == "getenv":
        return True
    if isinstance(node, ast.Attribute) and node.attr == "get":
        return isinstance(node.value, ast.Attribute) and node.value.attr == "environ"
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        return isinstance(node.value, ast.Attribute) and node.value.attr == "environ"
    return False


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_files_and_functions_stay_short_and_files_say_what_they_hold(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST_FILE, f"{name_of(path)}: split it by what its parts are about"
    tree = ast.parse(text)
    if text.strip() and path.name != "__init__.py":
        assert ast.get_docstring(tree), f"{name_of(path)}: the first lines say what the file holds"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            code = (node.end_lineno or 0) - node.lineno + 1 - docstring_lines(node)
            assert code <= LONGEST_FUNCTION, f"{name_of(path)}:{node.lineno}: {node.name} has {code} lines"


def docstring_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = node.body[0]
    if ast.get_docstring(node) is None:
        return 0
    return (first.end_lineno or 0) - first.lineno + 1


def loaded_after(code: str, tmp_path: Path) -> set[str]:
    """The modules that a fresh interpreter has loaded after running `code`."""
    script = f"import sys\n{code}\nprint('\\n'.join(['', 'LOADED', *sys.modules]))"
    result = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return set(result.stdout.split("\nLOADED\n")[1].splitlines())


HELP = """
from explorer.cli import main
try:
    main({arguments})
except SystemExit as end:
    assert end.code == 0
"""


def subcommands() -> Iterator[str]:
    yield from ("encoders", "score", "encode", "evaluate", "train", "distill", "reference", "project", "jobs")


@pytest.mark.parametrize(
    "code",
    ["import explorer", HELP.format(arguments=["--help"])]
    + [HELP.format(arguments=[name, "--help"]) for name in subcommands()],
    ids=["import", "help", *subcommands()],
)
def test_the_package_and_its_help_load_neither_torch_nor_gradio(code: str, tmp_path: Path) -> None:
    loaded = loaded_after(code, tmp_path)
    assert not loaded & {"torch", "gradio", "transformers", "sentence_transformers", "plotly"}


def test_listing_encoders_loads_no_torch(tmp_path: Path) -> None:
    loaded = loaded_after("from explorer.encoders.registry import Registry\nRegistry().scan()", tmp_path)
    assert not loaded & {"torch", "gradio", "transformers"}


def test_no_sentence_of_the_evaluation_data_is_in_the_repository(shared_data: Path) -> None:
    known = {plain(cell) for path in shared_data.glob("*/*.tsv") for cell in cells(path)}
    known = {text for text in known if len(text.split()) >= 5}
    assets = [path for path in (ROOT / "assets").rglob("*.*") if path.suffix in (".tsv", ".txt", ".csv", ".jsonl")]
    for path in [*assets, *(ROOT / "tests" / "data").rglob("*.*")]:
        found = {plain(cell) for cell in cells(path)} & known
        assert not found, f"{name_of(path)}: write sentences of your own instead of {found}"
    for path in [*SOURCES, *(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        texts = {plain(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant) and is_text(node)}
        assert not texts & known, f"{name_of(path)}: write sentences of your own instead of {texts & known}"


def is_text(node: ast.Constant) -> bool:
    return isinstance(node.value, str)


def cells(path: Path) -> Iterator[str]:
    for line in path.read_text(encoding="utf-8").splitlines():
        yield from line.split("\t")


def plain(text: str) -> str:
    return " ".join(text.lower().replace('"', "").split()).rstrip(" .")
