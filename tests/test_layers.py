"""Imports go one way: data flows down the list of layers, and a module imports only from those above it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import srm
from srm.cli import VERBS
from srm.domains.registry import MODULES as DOMAIN_MODULES

ROOT = Path(srm.__file__).parent
LAYERS = (
    "errors",
    "seeding extension extras files installed interrupt settings",
    "machine",
    "trajectory tensors",
    "domains",
    "evaluate",
    "rl",
    "sb3",
    "infer",
    "runs",
    "suites",
    "report",
    "studio",
    "results",
    "api",
    "cli",
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names.split()}
ENTRIES = ("__init__.py", "__main__.py")  # of the package itself, above all layers
TORCH = ("rl", "sb3", "infer", "runs", "suites", "cli")  # the last three only for the verbs below
LEARNERS = ("learn", "train", "eval")  # verbs that need torch; every other one starts without it
INFERRING = ("infer", "propose")  # need no torch, but what infers

MODULES = sorted(path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).as_posix() not in ENTRIES)


def layer(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and module of every import, wherever it stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield node.lineno, "." * node.level + (node.module or "")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_only_go_down(path: Path) -> None:
    here = layer(path)
    assert here in LEVEL, f"{path}: which layer is {here}?"
    for line, module in imports(path):
        top, *rest = module.split(".")
        if top == "srm":
            assert rest, f"{path}:{line}: write `from srm.x import y`"
            assert rest[0] == here or LEVEL[rest[0]] < LEVEL[here], f"{path}:{line}: {here} imports {rest[0]}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_internal_imports_have_the_one_form(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert not any(alias.name.split(".")[0] == "srm" for alias in node.names), f"{path}:{node.lineno}"
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            assert node.module != "srm", f"{path}:{node.lineno}: write `from srm.x import y`"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_heavy_packages_stay_where_they_belong(path: Path) -> None:
    here = layer(path)
    for line, module in imports(path):
        package = module.split(".")[0]
        if package == "torch":
            assert here in TORCH, f"{path}:{line}: {here} imports torch"
        if package in ("numpy", "numba", "scipy", "gymnasium", "minigrid", "envpool"):
            assert here != "machine", f"{path}:{line}: machines are symbols only, and this imports {package}"
        if package in ("minigrid", "envpool"):
            assert here not in ("evaluate", "infer", "rl"), f"{path}:{line}: {here} knows nothing of MiniGrid"


OF_DOMAINS = {  # folder of srm/domains -> the package that only it may import
    "minigrid": "minigrid",
    "control.lunarlander": "Box2D",
    "control.hopper": "mujoco",
    "control.highway": "highway_env",
}
KNOWS_DOMAINS = "domains/registry.py"  # lists their modules by name


def domain_leaks(path: Path) -> Iterator[str]:
    """What a module outside a domain's folder knows of it: an import, or a name or string of its own. Prose may mention it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for folder, package in OF_DOMAINS.items():
        home = f"srm.domains.{folder}"
        above, _, word = home.rpartition(".")
        for line, module in imports(path):
            if module.split(".")[0] == package or module == home or module.startswith(f"{home}."):
                yield f"{path}:{line}: imports {module}"
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module == above:
                yield from (f"{path}:{node.lineno}: imports {home}" for alias in node.names if alias.name == word)
            named = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
            if named.lower().startswith(f"{word}_"):
                yield f"{path}:{node.lineno}: names {named}"
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            if text == word or text.startswith(f"{home}."):
                yield f"{path}:{node.lineno}: holds {text!r}"


OUTSIDE_DOMAINS = [
    path
    for path in MODULES
    if not any(path.is_relative_to(ROOT.joinpath("domains", *folder.split("."))) for folder in OF_DOMAINS)
    and path.relative_to(ROOT).as_posix() != KNOWS_DOMAINS
]
# module -> the one thing it may know, and why
OPENING = ("open", "read_text", "read_bytes", "json.load", "json.loads", "np.load", "tomllib.load", "safe_open")
OPENERS = ("files.py", "domains/demonstrations.py")  # the second: JSON within an archive, of text that was read


def opened_by(path: Path) -> list[int]:
    """The lines at which a module opens a file to read it, or reads JSON; its own assets and locks do not count."""
    lines = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        own = called.startswith(("(files(", "os.open", "self.boards", "webbrowser.", "output.open"))
        if not own and (called in OPENING or called.endswith(tuple(f".{name}" for name in OPENING[:3]))):
            lines.append(node.lineno)
    return lines


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_one_module_opens_files_to_read_them(path: Path) -> None:
    assert path.relative_to(ROOT).as_posix() in OPENERS or opened_by(path) == []


ALLOWED: dict[str, str | tuple[str, ...]] = {
    "report/run/learning.py": "holds 'minigrid'",  # the name of the page's script that draws a grid, in report/html/assets
    # the tasks of its suites, as commands name them, and their demonstrations
    "suites/control.py": ("holds 'lunarlander'", "holds 'hopper'", "holds 'highway'"),
}


@pytest.mark.parametrize("path", OUTSIDE_DOMAINS, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_its_own_folder_knows_a_domain(path: Path) -> None:
    allowed = ALLOWED.get(path.relative_to(ROOT).as_posix())
    leaks = list(domain_leaks(path))
    assert [leak for leak in leaks if allowed is None or not leak.endswith(allowed)] == []
    assert allowed is None or leaks, f"{path} knows nothing any more: take it off the list"


@pytest.mark.parametrize(
    "code",
    [
        "import minigrid",
        "def f():\n    from minigrid.core.grid import Grid",
        "from srm.domains.minigrid import grid",
        "from srm.domains import minigrid",
        "from srm.domains.minigrid.vocabulary import ACTIONS",
        "print(MINIGRID_WORDS)",
        "home = 'srm.domains.minigrid.envs'",
        "known = task.vocabulary.name == 'minigrid'",
        "from srm.domains.control import lunarlander",
        "known = env_id in LUNARLANDER_TASKS or task.name == 'lunarlander'",
    ],
)
def test_a_module_that_knows_a_domain_is_noticed(code: str, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(code)
    assert list(domain_leaks(path))


def test_every_domain_folder_is_guarded_and_listed() -> None:
    homes = (path.parent for path in (ROOT / "domains").rglob("domain.py"))
    folders = {".".join(home.relative_to(ROOT / "domains").parts) for home in homes}
    assert folders == set(OF_DOMAINS)
    assert set(DOMAIN_MODULES.values()) == {f"srm.domains.{folder}.domain" for folder in folders}


def loaded(code: str, *packages: str) -> list[str]:
    """Which of the packages are loaded once a fresh Python has run the code."""
    code += f"; import sys; print(*(m for m in {packages!r} if m in sys.modules))"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_reading_a_machine_loads_nothing_heavy() -> None:
    heavy = "numpy", "torch", "gymnasium", "minigrid", "z3", "matplotlib"
    assert loaded("from srm.machine.language.parse import find_machine; find_machine('doorkey')", *heavy) == []


@pytest.mark.parametrize("module", sorted({row.module for verb, row in VERBS.items() if verb not in LEARNERS}))
def test_verbs_that_learn_nothing_start_without_torch(module: str) -> None:
    of_infer = () if module in {VERBS[verb].module for verb in INFERRING} else ("srm.infer",)
    assert loaded(f"import {module}", "torch", "srm.rl", *of_infer) == []


def test_a_vocabulary_is_had_without_any_environment() -> None:
    heavy = "numpy", "torch", "gymnasium", "minigrid", "rich"
    code = "from srm.domains.registry import DEFAULT, domain_named; assert domain_named(DEFAULT).vocabulary.events"
    assert loaded(code, *heavy) == []


def test_naming_the_domains_loads_none() -> None:
    assert loaded("from srm.domains.registry import MODULES", "srm.domains.minigrid.domain", "numpy") == []
