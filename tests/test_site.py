"""The site: it is built of every page and notebook, and whatever leads nowhere fails the build."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import srm

pytest.importorskip("material")
pytest.importorskip("mkdocstrings")
pytest.importorskip("mkdocs_jupyter")

ROOT = Path(__file__).parents[1]


def build(folder: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """`make docs`, elsewhere."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)},
    )


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Two pages and a file beside them, with the settings of the site."""
    docs = tmp_path / "docs"
    docs.mkdir()
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    shutil.copy(ROOT / "docs" / "hooks.py", docs)
    (docs / "README.md").write_text("# Index\n\n## Pages\n\n* [One](one.md)\n")
    (docs / "one.md").write_text(
        "# One\n\nSee [the file](../code.py), [the folder](../results) and [above](README.md#pages).\n"
    )
    (tmp_path / "code.py").write_text("pass\n")
    (tmp_path / "results").mkdir()
    return tmp_path


@pytest.mark.slow
def test_links_out_of_the_docs_lead_to_copies_and_pages_are_in_the_order_of_the_index(small: Path) -> None:
    done = build(small, small / "site")
    assert done.returncode == 0, done.stderr
    page = (small / "site" / "one.html").read_text()
    assert 'href="source/code.py"' in page
    assert "the folder" in page
    assert (small / "site" / "source" / "code.py").read_text() == "pass\n"
    assert re.search(r"Pages.*One", (small / "site" / "index.html").read_text(), re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("link", "problem"),
    [
        ("[x](nowhere.md)", "nowhere.md"),
        ("[x](README.md#nowhere)", "nowhere"),
        ("[x](../nowhere.py)", "../nowhere.py is not there"),
        ('<img src="nowhere.png">', "one.html: nowhere.png"),
    ],
    ids=["page", "heading", "file", "picture"],
)
def test_what_leads_nowhere_fails_the_build(link: str, problem: str, small: Path) -> None:
    with (small / "docs" / "one.md").open("a") as page:
        page.write(f"\n{link}\n")
    done = build(small, small / "site")
    assert done.returncode != 0
    assert problem in done.stderr + done.stdout


@pytest.mark.slow
def test_the_site_has_every_page_the_notebooks_with_what_they_show_and_a_reference_of_every_public_name(
    tmp_path: Path,
) -> None:
    done = build(ROOT, tmp_path / "site")
    assert done.returncode == 0, done.stderr
    site = tmp_path / "site"
    for page in (ROOT / "docs").rglob("*.md"):
        name = "index" if page.name == "README.md" else page.stem
        assert (site / f"{name}.html").exists()
    notebook = (site / "notebooks" / "first_steps.html").read_text()
    assert "srm-machine" in notebook
    assert "srm-display" in notebook
    assert 'href="../wrappers.html"' in (site / "notebooks" / "own_training_loop.html").read_text()
    reference = (site / "api.html").read_text()
    assert [name for name in srm.__all__ if f'.{name}"' not in reference] == []
    scripts = [
        tag for page in site.rglob("*.html") for tag in re.findall(r"<script[^>]*src=\"http[^>]*>", page.read_text())
    ]
    assert scripts == []  # it opens from disk, without a network
