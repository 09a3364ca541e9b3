"""Writes the docstrings of the installed module into the stub, so that editors show them.

    python crates/fullbloom-py/docstrings.py

``tests/test_stub.py`` compares the two. The text is that of the Rust sources.
"""

import ast
import inspect
import pathlib

STUB = pathlib.Path(__file__).resolve().parent / "python/fullbloom/_core.pyi"


def documented(tree, module):
    """Every definition of the stub that has a docstring in the module, as (node, text).

    Of overloads it is the first. Methods with underscores have Python's own text, and are left out.
    """
    found = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            found.append((node, getattr(module, node.name)))
            members = {}
            for member in node.body:
                if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
                    members.setdefault(member.name, member)
            found += [(member, getattr(getattr(module, node.name), name)) for name, member in members.items()]
    functions = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            functions.setdefault(node.name, node)
    found += [(node, getattr(module, name)) for name, node in functions.items()]
    return [(node, inspect.cleandoc(real.__doc__)) for node, real in found if real.__doc__]


def with_docstrings(source, module):
    """The stub with the docstrings of the module."""
    lines = source.splitlines()
    places = sorted(documented(ast.parse(source), module), key=lambda place: -place[0].lineno)
    for node, text in places:
        indent = " " * (node.col_offset + 4)
        escaped = text.replace("\\", "\\\\").splitlines()
        quoted = [f'{indent}"""{escaped[0]}', *(indent + line if line else "" for line in escaped[1:])]
        if len(quoted) == 1:
            quoted[0] += '"""'
        else:
            quoted.append(f'{indent}"""')
        first = node.body[0]
        if ast.get_docstring(node) is not None:
            lines[first.lineno - 1 : first.end_lineno] = quoted
        elif isinstance(first, ast.Expr) and first.value.value is ...:
            end = lines[first.lineno - 1][: first.col_offset].rstrip()
            lines[first.lineno - 1 : first.lineno] = [end, *quoted]
        else:
            lines[node.lineno : node.lineno] = [*quoted, ""]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    from fullbloom import _core

    STUB.write_text(with_docstrings(STUB.read_text(), _core))
