"""The way that a thread takes through a kernel's machine code, and what it costs.

Branches are not computed but chosen: the way with the most accesses of whole vectors, without those
of single elements beside them and without calls (slow paths of divisions) where there is another.
Loops that load run as often as the row that a thread has a part of is long; those that fold a warp
five times; others once.
"""

import collections
import dataclasses
import re

VECTOR = re.compile(r"^(LDG|STG|LD|ST)\.E(\..*)?\.(64|128)$")
WIDTH = {"128": 16, "64": 8, "U16": 2, "S16": 2, "U8": 1, "S8": 1}
FOLDS = 5  # halvings of a warp
# Cycles from an instruction to one that needs it.
PIPELINE = 4
LATENCY = {"SHFL": 24, "LDS": 23, "MUFU": 18, "BAR": 30, "S2R": 20, "S2UR": 20, "LDC": 8}


def bytes_of(instruction):
    """Of a memory access by a thread."""
    for part in instruction.name.split("."):
        if part in WIDTH:
            return WIDTH[part]
    return 4


def loads(instruction):
    return instruction.base in ("LDG", "LD")


@dataclasses.dataclass
class Block:
    instructions: list
    successors: list  # addresses
    loops: list = dataclasses.field(default_factory=list)  # that it is in: frozensets of addresses
    ahead: list = dataclasses.field(default_factory=list)  # successors, but for where loops begin


def branch_target(instruction):
    match = re.search(r"0x([0-9a-f]+)\)?$", instruction.operands)
    return int(match[1], 16) if match else None


def blocks_of(kernel):
    """Basic blocks by address."""
    code = kernel.instructions
    leaders = {code[0].address}
    for n, i in enumerate(code):
        if i.base in ("BRA", "EXIT", "RET", "BRX", "CALL"):
            if i.base == "BRA" and branch_target(i) is not None:
                leaders.add(branch_target(i))
            if i.base != "CALL" and n + 1 < len(code):
                leaders.add(code[n + 1].address)
    blocks, current = {}, None
    for n, i in enumerate(code):
        if i.address in leaders:
            current = blocks[i.address] = Block([], [])
        current.instructions.append(i)
        ends = n + 1 == len(code) or code[n + 1].address in leaders
        if not ends:
            continue
        conditional = bool(i.guard) or re.match(r"!?U?P\d", i.operands) is not None
        if i.base == "BRA" and branch_target(i) is not None:
            current.successors.append(branch_target(i))
        falls = i.base not in ("BRA", "EXIT", "RET", "BRX") or conditional
        if falls and n + 1 < len(code):
            current.successors.append(code[n + 1].address)
    blocks = {a: b for a, b in blocks.items() if b.instructions}
    for block in blocks.values():
        block.successors = [s for s in block.successors if s in blocks]
    find_loops(blocks)
    return blocks


def find_loops(blocks):
    """Sets `loops` and `ahead`."""
    predecessors = collections.defaultdict(list)
    for address, block in blocks.items():
        for successor in block.successors:
            predecessors[successor].append(address)
    state, stack, back = {}, [(min(blocks), iter(blocks[min(blocks)].successors))], []
    state[min(blocks)] = "open"
    while stack:
        address, rest = stack[-1]
        successor = next(rest, None)
        if successor is None:
            state[address] = "done"
            stack.pop()
        elif state.get(successor) == "open":
            back.append((address, successor))
        else:
            blocks[address].ahead.append(successor)
            if successor not in state:
                state[successor] = "open"
                stack.append((successor, iter(blocks[successor].successors)))
    for last, first in back:
        inside, work = {first, last}, [last]
        while work:
            address = work.pop()
            if address == first:
                continue
            more = [p for p in predecessors[address] if p not in inside]
            inside.update(more)
            work += more
        for address in inside:
            blocks[address].loops.append(frozenset(inside))
        if not blocks[last].ahead:  # it goes on where the loop is left
            blocks[last].ahead = sorted({s for a in inside for s in blocks[a].ahead} - inside)


def is_vector(instruction):
    return VECTOR.match(instruction.name) is not None


def loading_loops(blocks):
    """Innermost loops that load from memory."""
    found = set()
    for block in blocks.values():
        if block.loops and any(loads(i) for i in block.instructions):
            found.add(min(block.loops, key=len))
    return found


def best_way(blocks, weight):
    """The addresses of blocks from the first on whose weights have the largest sum; a loop once."""
    best, stack = {}, [min(blocks)]
    while stack:
        address = stack[-1]
        missing = [s for s in blocks[address].ahead if s not in best]
        if missing:
            stack += missing
            continue
        stack.pop()
        ahead = [best[s] for s in blocks[address].ahead]
        rest = max(ahead, default=(0, ()), key=lambda w: w[0])
        best[address] = (rest[0] + weight(blocks[address]), (address,) + rest[1])
    return best[min(blocks)][1]


def hot_path(kernel, launch):
    """A list of (block, times)."""
    blocks = blocks_of(kernel)
    call = launch.get("call") or {}
    in_loops = loading_loops(blocks)
    has_vectors = any(is_vector(i) and loads(i) for i in kernel.instructions)

    def weight(block):
        names = collections.Counter(i.base for i in block.instructions)
        vectors = sum(is_vector(i) for i in block.instructions)
        single = sum(i.base in ("LDG", "STG") and not is_vector(i) for i in block.instructions)
        return (len(block.instructions) + 10_000 * vectors
                - (500 * single if has_vectors else 0)
                - 500 * names["I2F"]  # a division of integers: what blocks share a row
                - 10_000_000 * names["CALL"] - 1_000_000 * names["FCHK"])

    return [(blocks[a], times(blocks[a], blocks, in_loops, call)) for a in best_way(blocks, weight)]


def times(block, blocks, in_loops, call):
    """How often a thread runs a block of its way."""
    inner = [loop for loop in block.loops if loop in in_loops]
    if not inner:
        body = [i for loop in block.loops[:1] for a in loop for i in blocks[a].instructions]
        folds = any(i.base == "SHFL" for i in body) and len(body) < 60
        return FOLDS if folds else 1
    loop = min(inner, key=len)
    inside = [i for a in loop for i in blocks[a].instructions]
    found = [i for i in inside if loads(i)]
    if not call or not found:
        return 1
    vectors = [i for i in found if is_vector(i)]
    elements = elements_of(call)
    taken = 4 * len(vectors) if vectors else len(found)
    if not is_main(loop, in_loops, blocks):
        return 1  # what batches leave over
    return max(1.0, elements / taken)


def elements_of(call):
    """That a thread has of the chunks which its block goes through."""
    length = min(call["length"], call["chunk"]) if call["stage"] >= 0 else call["length"]
    return length / call["threads_a_row"]


def is_main(loop, in_loops, blocks):
    """The loop with the most loads, of those for whole vectors."""
    def count(l):
        return sum((100 if is_vector(i) else 1) * loads(i) for a in l
                   for i in blocks[a].instructions)
    return count(loop) == max(count(other) for other in in_loops)


@dataclasses.dataclass
class Walk:
    instructions: float  # issued for a warp
    cycles: float        # from its first to its last
    under_way: float     # most bytes that a thread has on their way from memory


REGISTER = re.compile(r"(?<![A-Za-z])R(\d+)")


def registers_of(text, count=1):
    match = REGISTER.search(text)
    return set(range(int(match[1]), int(match[1]) + count)) if match else set()


def walk(path, call, latency, near):
    """Follows a path. `latency`: cycles of a load from memory; `near`: of one that a pass before has
    made, from a cache."""
    instructions = cycles = now = most = 0.0
    # Elements are read from memory once.
    new = elements_of(call) if call else float("inf")
    pending = {}  # register: (when it is there, bytes, number of the load)
    for block, count in path:
        start = now
        for i in block.instructions:
            operands = i.operands
            result, _, sources = operands.partition(",")
            used = {int(n) for n in REGISTER.findall(sources if not i.base.startswith("ST")
                                                     else operands)}
            for register in used & pending.keys():
                now = max(now, pending[register][0])
            loaded = {r for r in used & pending.keys()}
            numbers = {pending[r][2] for r in loaded}
            pending = {r: p for r, p in pending.items() if p[2] not in numbers}
            cost = LATENCY.get(i.base, PIPELINE)
            # Independent instructions follow each other at once; about every other one is.
            now += cost if i.base in LATENCY else PIPELINE / 2
            if loads(i) and not is_alternative(i, block):
                takes = latency if new > 0 else near
                new -= count * (4 if is_vector(i) else 1)
                for register in registers_of(result, max(1, bytes_of(i) // 4)):
                    pending[register] = (now + takes, bytes_of(i), i.address)
                sizes = {p[2]: p[1] for p in pending.values()}
                most = max(most, float(sum(sizes.values())))
            instructions += count
        cycles += (now - start) * count
        if count > 1:
            pending = {}
    return Walk(instructions, max(cycles, instructions), most)


def is_alternative(instruction, block):
    """True for a predicated load of single elements beside one of vectors."""
    return (bool(instruction.guard) and not is_vector(instruction)
            and any(is_vector(i) and i.guard for i in block.instructions))
