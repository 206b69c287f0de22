"""Makes a test of the C++ in a page of the documentation.

    make_docs_test.py PAGE.md OUT.cpp

Every ```cpp block of the page is compiled and run, each in a scope of its own. What it prints is
compared with the ```output block that follows it, if there is one. HTML comments before a block,
which no reader sees, say what else there is to know:

    <!-- setup: const sl::Tensor x = sl::ones({4}); -->   precedes the block
    <!-- counters: kernels_launched 1, temporaries_elided 3 -->
                         what the block adds to sluice::stats(), with a sync() at its end
    <!-- continues -->   in the scope of the block before
    <!-- compiled -->    but not run
    <!-- excerpt -->     not a test: a part of something else
    <!-- rows: const sl::Tensor x = sl::ones({4}); -->
                         before a table: the code of its last column is compiled and run, row by row

A block may be a whole program, whose file is called program.cpp in messages. Line numbers at the
left are taken off.
"""

import html
import pathlib
import re
import sys

FENCE = re.compile(r"^( *)```(\w*)\s*$")
COMMENT = re.compile(r"<!--\s*(setup|counters|continues|compiled|excerpt|rows)\s*:?\s*(.*?)\s*-->", re.S)
NUMBERED = re.compile(r"^ ?\d+(  |$)")


CODE_SPAN = re.compile(r"`([^`]+)`")


class Block:
    def __init__(self, line, notes):
        self.line = line
        self.notes = notes
        self.code = []
        self.output = None


def blocks_of(text):
    """The page's cpp blocks, each with the comments before it and the output after it."""
    blocks, prose, inside = [], [], None
    is_next_output = is_table = False
    for number, line in enumerate(text.split("\n"), 1):
        fence = FENCE.match(line)
        if inside is None:
            if not fence:
                if line.startswith("|") and "<!-- rows" in "\n".join(prose):
                    blocks.append(Block(number, dict(COMMENT.findall("\n".join(prose)))))
                    blocks[-1].notes["setup"] = html.unescape(blocks[-1].notes.pop("rows"))
                    prose, is_table = [], True
                if is_table and line.startswith("|"):
                    cell = line.replace("\\|", "\0").rstrip("| ").rpartition("|")[2]
                    for code in CODE_SPAN.findall(cell.replace("\0", "|")):
                        blocks[-1].code.append(
                            code if code.endswith(";") else f"static_cast<void>({code});")
                    continue
                is_table = False
                prose.append(line)
                if line.strip() and not line.lstrip().startswith("<!--"):
                    is_next_output = False
                continue
            kind = fence[2]
            inside = (len(fence[1]), kind)
            if kind == "cpp":
                notes = dict(COMMENT.findall("\n".join(prose)))
                blocks.append(Block(number + 1, {k: html.unescape(v) for k, v in notes.items()}))
                is_next_output = True
            elif kind == "output":
                if not is_next_output:
                    sys.exit(f"line {number}: output of no block")
                blocks[-1].output = []
            prose = []
        elif fence and not fence[2]:
            inside = None
        elif inside[1] == "cpp":
            blocks[-1].code.append(line[inside[0]:])
        elif inside[1] == "output":
            blocks[-1].output.append(line[inside[0]:])
    return blocks


def quoted(lines):
    text = "\n".join(lines) + "\n" if lines else ""
    return 'R"~(' + text + ')~"'


def program(page, blocks):
    name = re.sub(r"\W", "_", page.stem)
    includes, functions, scopes = [], [], []
    for block in blocks:
        if "excerpt" in block.notes:
            continue
        if all(NUMBERED.match(line) for line in block.code if line):
            if not any("int main" in line for line in block.code):
                continue
            block.code = [NUMBERED.sub("", line) for line in block.code]
            block.notes["compiled"] = ""
        code = []
        for line in block.code:
            if line.startswith("#include"):
                includes.append(line)
            elif not line.startswith("namespace sl = "):
                code.append(line)
        begin = [f'#line {block.line} "{page.name}"']
        is_program = any(re.match(r"int main\(", line) for line in code)
        own = f"{name}_{block.line}"
        if is_program:
            code = [re.sub(r"^int main\(.*?\)", f"int main_{own}()", line) for line in code]
            end = max(n for n, line in enumerate(code) if line == "}")
            code.insert(end, "return 0;")  # which main() may leave out
            functions += [f"namespace {own} {{"] + begin + code + ["}"]
            body = [f"{own}::main_{own}();"]
        else:
            body = begin + code
        if "compiled" in block.notes:
            body = ["if (is_never()) {"] + body + ["}"]
        check = ["{", "Expected expected;",
                 f'expected.page = "{page.name}";', f"expected.line = {block.line};"]
        if block.output is not None:
            check.append(f"expected.output = {quoted(block.output)};")
        counters = block.notes.get("counters", "")
        for counter in re.findall(r"(\w+) (\d+)", counters):
            check.append(f"expected.counters.push_back("
                         f'{{"{counter[0]}", &sluice::Stats::{counter[0]}, {counter[1]}}});')
        check += ["checks.begin(expected);", "}"]
        setup = [block.notes["setup"]] if "setup" in block.notes else []
        lines = setup + check + body + ["checks.end();"]
        if "continues" in block.notes:
            scopes[-1][1].extend(lines)
        else:
            scopes.append((block.line, lines))
    tests = []
    for line, lines in scopes:
        tests += [f"TEST(Docs, {name}_line_{line}) {{", "Checks checks;"] + lines + ["}"]
    return "\n".join(sorted(set(includes)) + [
        '#include "tests/docs/checks.h"',
        "namespace sl = sluice;",
        "using namespace sluice::test;",
        "namespace {"] + functions + tests + ["}", ""])


def main():
    page = pathlib.Path(sys.argv[1])
    out = pathlib.Path(sys.argv[2])
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(program(page, blocks_of(page.read_text())))


if __name__ == "__main__":
    main()
