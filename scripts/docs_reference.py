"""The reference of the public headers, as Markdown: their comments as text, declarations as code.

    docs_reference.py FOLDER_OF_HEADERS > headers.md
"""

import pathlib
import re
import sys

GUARD = re.compile(r"^#(ifndef|define|endif).*_H_")
# What is no declaration for its own sake.
NOISE = re.compile(r"^(#include|#pragma|namespace [\w: ]*\{$|\}  // namespace|class \w+;$)")


def paragraphs(text):
    """(comment, code) pairs: what blank lines at the left margin separate."""
    comment, code = [], []
    for line in text.split("\n") + [""]:
        if GUARD.match(line) or NOISE.match(line):
            continue
        is_blank = not line.strip()
        is_nested = code and code[-1].startswith((" ", "class ", "struct ", "enum ", "template"))
        if is_blank and code and is_nested and not code[-1].startswith("}"):
            code.append("")  # within a class
        elif is_blank:
            if comment or code:
                yield comment, code
            comment, code = [], []
        elif line.startswith("//") and not code:
            comment.append(re.sub(r"^// ?", "", line))
        elif line.startswith("//") and not code[-1].startswith((" ", "class ", "struct ")):
            yield comment, code
            comment, code = [re.sub(r"^// ?", "", line)], []
        else:
            code.append(line)
    if comment or code:
        yield comment, code


def escaped(lines):
    """Comments are plain text, but for indented code."""
    out = []
    for line in lines:
        if line.startswith("  "):
            out.append("    " + line)
        else:
            out.append(re.sub(r"([*_<\[\]|])", r"\\\1", line))
    return out


def main():
    folder = pathlib.Path(sys.argv[1])
    print("# The public headers\n\nAll of them come with `#include <sluice/sluice.h>`.")
    for header in sorted(folder.rglob("*.h")):
        name = header.relative_to(folder)
        if header.name == "sluice.h" or name.parts[0] == "detail":
            continue
        print(f"\n## sluice/{name}")
        for comment, code in paragraphs(header.read_text()):
            while code and not code[-1].strip():
                code.pop()
            if comment:
                print("\n" + "\n".join(escaped(comment)))
            if code:
                print("\n```cpp\n" + "\n".join(code) + "\n```")


if __name__ == "__main__":
    main()
