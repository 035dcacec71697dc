"""What the site needs beyond its pages: the navigation, copies of the files that pages link to, and a check of every link at the end."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

INDEX = "README.md"  # lists every page; a test holds it to that
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")
OUTSIDE = re.compile(r"\[([^\]]*)\]\((\.\./[^)\s#]+)(#[^)\s]*)?\)")
SOURCES = "source"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The navigation is the index: its headings are sections, its links are pages."""
    sections: dict[str, list[str]] = {}
    section = ""
    for line in (Path(config.docs_dir) / INDEX).read_text(encoding="utf-8").splitlines():
        if heading := re.fullmatch(r"##+ (.*)|(\S.*):", line):
            section = heading[1] or heading[2]
        for _, target in LINK.findall(line):
            if target.endswith((".md", ".ipynb")) and not target.startswith("../"):
                sections.setdefault(section, []).append(target)
    config.nav = [INDEX, *({name: pages} if name else page for name, pages in sections.items() for page in (pages,))]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the files beside docs/ that pages link to."""
    docs = Path(config.docs_dir)
    for page in sorted(docs.rglob("*.md")):
        for _, target, _ in OUTSIDE.findall(page.read_text(encoding="utf-8")):
            path = _outside(page, target, docs)
            name = f"{SOURCES}/{path.relative_to(docs.parent.resolve())}"
            if path.is_file() and files.get_file_from_path(name) is None:
                files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links to those files lead to their copies; folders are named and not linked. Blocks are of one word (`srm`), where tests read more."""
    docs = Path(config.docs_dir)
    source = docs / page.file.src_uri
    up = "../" * page.file.src_uri.count("/")

    def replaced(link: re.Match[str]) -> str:
        path = _outside(source, link[2], docs)
        if path.is_relative_to(docs.resolve()):  # from a folder of docs/ to a page above it
            return link[0]
        name = f"{SOURCES}/{path.relative_to(docs.parent.resolve())}"
        return f"[{link[1]}]({up}{name})" if path.is_file() else link[1]

    return OUTSIDE.sub(replaced, re.sub(r"(?m)^```(\w+) .*$", r"```\1", markdown))


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Links of a notebook are not MkDocs' to follow: to a page they become links to what is built of it."""
    if not page.file.src_uri.endswith(".ipynb"):
        return output
    return re.sub(r'(href="(?!\w+:)[^"#]*)\.md(?=["#])', r"\1.html", output)


def on_post_build(config: MkDocsConfig) -> None:
    """Every link and picture within the site is there."""
    site = Path(config.site_dir)
    broken = [
        f"{page.relative_to(site)}: {link}"
        for page in sorted(site.rglob("*.html"))
        if page.name != "404.html"  # its links are from the root of a server
        for link in _Links.of(page)
        if not _leads_somewhere(page, link)
    ]
    if broken:
        raise PluginError("links that lead nowhere:\n  " + "\n  ".join(broken))


def _outside(page: Path, target: str, docs: Path) -> Path:
    path = (page.parent / target).resolve()
    if not path.exists():
        raise PluginError(f"{page.relative_to(docs)}: {target} is not there")
    return path


def _leads_somewhere(page: Path, link: str) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc or not parts.path:
        return True
    path = page.parent / unquote(parts.path)
    return path.is_file() or (path / "index.html").is_file()


class _Links(HTMLParser):
    """What a page links to, and the pictures in it."""

    def __init__(self) -> None:
        super().__init__()
        self.links: set[str] = set()

    @staticmethod
    def of(page: Path) -> list[str]:
        parser = _Links()
        parser.feed(page.read_text(encoding="utf-8"))
        return sorted(parser.links)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        wanted = {"a": "href", "img": "src", "script": "src", "link": "href"}.get(tag)
        self.links.update(value for name, value in attrs if name == wanted and value)
