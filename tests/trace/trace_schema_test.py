#!/usr/bin/env python3
"""Checks trace files against the schema of their format.

usage: trace_schema_test.py SCHEMA FILE...

Also that the schema lets no object have a member that it does not name, and, if there is a file
called every_member.json, that the schema names no member that this lacks. Exits with 77 if Python
has no jsonschema.
"""
import copy
import json
import os
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: Python has no jsonschema (Debian: python3-jsonschema)")
    sys.exit(77)


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def objects_in(value):
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for element in value:
            yield from objects_in(element)


def members_of(schema):
    """The members that the schema names, for each of its objects that has any."""
    for name, part in [("the trace", schema), *schema["$defs"].items()]:
        if "properties" in part:
            yield name, set(part["properties"])


def check_file(validator, path):
    return [
        f"{path}: {'.'.join(map(str, error.absolute_path)) or 'the trace'}: {error.message}"
        for error in validator.iter_errors(load(path))
    ]


def check_strictness(validator, path):
    """Every kind of object must refuse a member more."""
    trace = load(path)
    kinds = set()
    found = []
    for number, original in enumerate(objects_in(trace)):
        kind = tuple(original)
        if kind in kinds:
            continue
        kinds.add(kind)
        changed = copy.deepcopy(trace)
        list(objects_in(changed))[number]["no such member"] = 0
        if validator.is_valid(changed):
            found.append(f"the schema lets an object of {', '.join(kind)} have other members")
    return found


def check_completeness(schema, path):
    used = set()
    for value in objects_in(load(path)):
        used.update(value)
    return [
        f"{path}: of {name} it lacks {', '.join(sorted(members - used))}"
        for name, members in members_of(schema)
        if members - used
    ]


def main():
    if len(sys.argv) < 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    schema = load(sys.argv[1])
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    found = []
    for path in sys.argv[2:]:
        errors = check_file(validator, path)
        found += errors
        if os.path.basename(path) == "every_member.json" and not errors:
            found += check_strictness(validator, path) + check_completeness(schema, path)
    for line in found:
        print(line)
    print(f"{len(sys.argv) - 2} files, {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
