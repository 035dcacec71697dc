"""The wheel, as a stranger gets it: installed where there is no compiler and no source, it checks, learns, and runs README's Python."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SHIPPED = ("srm", "README.md", "LICENSE", "pyproject.toml")
LEFT_OUT = shutil.ignore_patterns("*.so", "__pycache__")
# Where README has no Python, or another does not fit in a test: the front door with small numbers.
LINES = """
import srm

machine = srm.load("doorkey")
print(machine.check())
demos = srm.demonstrations("doorkey")
posterior = srm.infer("doorkey", machine, demos, posterior={"sweeps": 200})
run = srm.learn("doorkey", machine, demos, frames=3000, seed=0, episodes=1)
run.plot()
print(srm.evaluate(run.policy, "DoorKey-5x5", episodes=4))
"""


def readme_python() -> str:
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    return next((block for block in blocks if "import srm\n" in block), LINES)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("build")
    if shutil.which("cc") is None:
        pytest.skip("no C compiler to build the wheel with")
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    for name in SHIPPED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=LEFT_OUT)
        else:
            shutil.copy(ROOT / name, source)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = out.glob("symbolic_reward_machines-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of an environment with the wheel in it; what the wheel needs is found where the tests find it."""
    folder = tmp_path_factory.mktemp("venv") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    install = ["install", "--quiet", "--no-deps", "--no-index", "--no-compile", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", "--python", str(python), *install], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    # Files that make our source tree importable are read in an environment's own folder alone, so not through this line.
    (packages / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return folder / "bin"


def run(installed: Path, folder: Path, *command: str) -> str:
    """What a command prints, with nothing on the path but the environment itself."""
    kept = {name: os.environ[name] for name in ("HOME", "OMP_NUM_THREADS", "TMPDIR") if name in os.environ}
    environment = {**kept, "PATH": str(installed)}
    assert shutil.which("cc", path=environment["PATH"]) is None
    done = subprocess.run(
        [str(installed / command[0]), *command[1:]], cwd=folder, capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_wheel_holds_the_package_with_all_its_files_and_its_extensions(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    wanted = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "srm").rglob("*")
        if path.is_file() and path.suffix not in (".c", ".h", ".so") and path.parent.name != "__pycache__"
    ]
    assert sorted(set(wanted) - set(names)) == []
    extensions = re.findall(r'^name = "(srm\.[\w.]+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert extensions
    for extension in extensions:
        assert [name for name in names if name.startswith(extension.replace(".", "/")) and name.endswith(".so")]


@pytest.mark.slow
def test_the_commands_run_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    home = run(installed, tmp_path, "python", "-c", "import srm; print(srm.__file__, srm.__version__)")
    assert home.startswith(str(installed.parent))
    assert run(installed, tmp_path, "srm", "--version").split()[1].rstrip(",") == home.split()[1]
    assert "no errors" in run(installed, tmp_path, "srm", "check", "doorkey")
    small = [
        "--frames",
        "1200",
        "--ppo.num-envs",
        "8",
        "--ppo.num-steps",
        "32",
        "--episodes",
        "1",
        "--posterior.sweeps",
        "60",
    ]
    printed = run(installed, tmp_path, "srm", "learn", "doorkey", *small, "-o", "run")
    assert "machine doorkey" in printed
    assert (tmp_path / "run" / "report.html").exists()


@pytest.mark.slow
def test_the_python_of_the_readme_runs_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    script = tmp_path / "lines.py"
    script.write_text(readme_python())
    assert "episodes, sampled actions" in run(installed, tmp_path, "python", str(script))
