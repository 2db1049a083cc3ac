"""Docstrings name types and parameters that exist."""

import ast
import builtins
import re
import typing
from pathlib import Path

import mocpack

SOURCE = Path(mocpack.__file__).parent
SECTION = re.compile(r"^([A-Z]\w+)\n-+\n", re.M)
FIELD = re.compile(r"^(\w+(?:, \w+)*)(?: : (.+))?$", re.M)
CLASS = re.compile(r"\b[A-Z][a-z]+[A-Za-z]*\b")
QUOTED_CLASS = re.compile(
    r"(?<!`)`~?(?:mocpack\.[a-z_.]+\.)?([A-Z][a-z]+[A-Za-z]*)(?:\.\w+)*(?:\(\))?`"
)
KNOWN = {*dir(builtins), *dir(typing)}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def identifiers(nodes):
    """Return the names that modules define, import or use."""
    for node in nodes:
        if isinstance(node, Function | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield from node.name.split(".")
            yield node.asname or ""


def documented(nodes):
    """Return (name, node, docstring) of modules and of what they define."""
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | Function):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "name", "module"), node, text


def sections(text):
    """Return (title, body) of each section of a numpy docstring."""
    pieces = SECTION.split(text)
    for title, body in zip(pieces[1::2], pieces[2::2], strict=True):
        yield title, body.partition("\n>>>")[0]


def parameters(node, classes):
    """Return the parameters of a function, or those with which a class is made."""
    if isinstance(node, Function):
        a = node.args
        every = [*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg]
        names = {arg.arg for arg in every if arg is not None}
        if a.kwarg is not None and isinstance(a.kwarg.annotation, ast.Subscript):  # Unpack[Options]
            options = ast.unparse(a.kwarg.annotation.slice).rpartition(".")[2]
            names |= parameters(classes[options], classes)
        return names
    names = set()
    for base in node.bases:
        parent = classes.get(getattr(base, "id", getattr(base, "attr", None)))
        names |= parameters(parent, classes) if parent is not None else set()
    for item in node.body:
        if isinstance(item, ast.AnnAssign):
            names.add(item.target.id)
        elif isinstance(item, Function) and item.name in ("__init__", "__new__"):
            names |= parameters(item, classes)
    return names


def stale_names(trees):
    """Yield (module, what, name) of types that do not exist and parameters that are not taken."""
    nodes = {module: list(ast.walk(tree)) for module, tree in trees.items()}
    every = [node for those in nodes.values() for node in those]
    product = [node for name in nodes if not name.startswith("papers") for node in nodes[name]]
    known, known_to_papers = KNOWN.union(identifiers(product)), KNOWN.union(identifiers(every))
    classes = {node.name: node for node in every if isinstance(node, ast.ClassDef)}
    for module, those in nodes.items():
        for name, node, text in documented(those):
            words = QUOTED_CLASS.findall(text)
            for title, body in sections(text):
                fields = FIELD.findall(body)
                words += [word for _, kind in fields for word in CLASS.findall(kind)]
                if title == "Parameters" and not isinstance(node, ast.Module):
                    given = {one for names, _ in fields for one in names.split(", ")}
                    for one in sorted(given - parameters(node, classes)):
                        yield module, name, f"parameter {one}"
            for word in words:
                if word not in (known_to_papers if module.startswith("papers") else known):
                    yield module, name, f"type {word}"


def parse_package():
    return {
        str(path.relative_to(SOURCE)): ast.parse(path.read_text()) for path in SOURCE.rglob("*.py")
    }


def test_docstrings_name_types_and_parameters_that_exist():
    lines = [f"{module}: {name}: {what}" for module, name, what in stale_names(parse_package())]
    assert not lines, "\n".join(lines)


def test_a_stale_type_and_a_renamed_parameter_are_found():
    text = '''
def send(packet):
    """Send it to a `Door`.

    Parameters
    ----------
    pack : Store
        The packet.
    """
'''
    found = {what for _, _, what in stale_names({"relay.py": ast.parse(text)})}
    assert found == {"type Door", "type Store", "parameter pack"}
