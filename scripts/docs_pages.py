"""Copies the pages of docs/ for the site, and checks what they link to outside of it.

    docs_pages.py DOCS OUT

In the repository pages link to sources; the site does not have them, so that such a link becomes its
text, in code. A link to what is not there is an error.
"""

import pathlib
import re
import shutil
import sys

LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#\s]+)(#[^)]*)?\)")


def main():
    docs = pathlib.Path(sys.argv[1]).resolve()
    out = pathlib.Path(sys.argv[2])
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(docs, out)
    missing = []
    for page in sorted(docs.rglob("*.md")):
        def resolve(match, page=page):
            text, target, _ = match.groups()
            if re.match(r"\w+:", target):
                return match[0]
            path = (page.parent / target).resolve()
            if not path.exists():
                missing.append(f"{page.relative_to(docs.parent)}: there is no {target}")
            if path.is_relative_to(docs) and path.is_file():
                return match[0]
            return text if text.startswith("`") else f"{text} (`{path.relative_to(docs.parent)}`)"
        copy = out / page.relative_to(docs)
        copy.write_text(LINK.sub(resolve, page.read_text()))
    # The README's links, which the site does not have.
    readme = docs.parent / "README.md"
    for _, target, _ in LINK.findall(readme.read_text()):
        if not re.match(r"\w+:", target) and not (docs.parent / target).exists():
            missing.append(f"README.md: there is no {target}")
    if missing:
        sys.exit("\n".join(missing))


if __name__ == "__main__":
    main()
