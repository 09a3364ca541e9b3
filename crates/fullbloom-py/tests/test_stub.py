"""The stub says what the module has: every class, method, property, parameter, default and literal, both ways."""

import ast
import inspect
import pathlib
import shutil
import sys
import types

import fullbloom
import pytest
from fullbloom import _core

STUB = pathlib.Path(__file__).resolve().parents[1] / "python/fullbloom/_core.pyi"
TREE = ast.parse(STUB.read_text())
sys.path.insert(0, str(STUB.parents[2]))

import docstrings  # noqa: E402

# What Python gives to every class, or what is no part of the interface.
OF_EVERY_CLASS = {"__module__", "__doc__", "__weakref__", "__new__"}


def defined(body):
    """The definitions in a body by name: functions as lists, because overloads share a name."""
    found = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign):
            found[node.target.id] = node
    return found


STUBBED = defined(TREE.body)
# Names with an underscore are for annotations only: aliases, protocols and typed dictionaries.
CLASSES = {name: node for name, node in STUBBED.items() if isinstance(node, ast.ClassDef) and not name.startswith("_")}
FUNCTIONS = {name: nodes for name, nodes in STUBBED.items() if isinstance(nodes, list)}
ALIASES = {node.targets[0].id: node.value for node in TREE.body if isinstance(node, ast.Assign)}


def decorators(node):
    return {ast.unparse(decorator) for decorator in node.decorator_list}


def is_property(nodes):
    return isinstance(nodes, list) and "property" in decorators(nodes[0])


def members(name):
    return defined(CLASSES[name].body)


def public(namespace):
    return {name for name in namespace if not name.startswith("_")}


def parameters(node, bound):
    """Name, kind and default of each parameter of a function in the stub."""
    of = inspect.Parameter
    arguments = node.args
    plain = [(one, of.POSITIONAL_ONLY) for one in arguments.posonlyargs]
    plain += [(one, of.POSITIONAL_OR_KEYWORD) for one in arguments.args]
    missing = [of.empty] * (len(plain) - len(arguments.defaults))
    defaults = missing + [ast.literal_eval(default) for default in arguments.defaults]
    found = [(one.arg, kind, default) for (one, kind), default in zip(plain, defaults, strict=True)]
    found = found[1:] if bound else found
    if arguments.vararg:
        found.append((arguments.vararg.arg, of.VAR_POSITIONAL, of.empty))
    for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found.append((one.arg, of.KEYWORD_ONLY, of.empty if default is None else ast.literal_eval(default)))
    if arguments.kwarg:
        found.append((arguments.kwarg.arg, of.VAR_KEYWORD, of.empty))
    return found


def signature(function):
    """The same of a function in the module."""
    found = inspect.signature(function).parameters.values()
    return [(one.name, one.kind, one.default) for one in found if one.name not in ("self", "cls")]


def literals(node):
    """The values that an annotation allows, as far as they are literals or None; None if it allows others too."""
    if isinstance(node, ast.Name) and node.id in ALIASES:
        return literals(ALIASES[node.id])
    if isinstance(node, ast.BinOp):
        sides = [literals(node.left), literals(node.right)]
        return None if None in sides else sides[0] | sides[1]
    if isinstance(node, ast.Constant):
        return {node.value}
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Literal":
        values = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return {value.value for value in values}
    return None


def annotation(owner, method, parameter):
    [node] = members(owner)[method]
    every = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
    [found] = [one.annotation for one in every if one.arg == parameter]
    return found


CALLABLES = [(None, name) for name in FUNCTIONS] + [
    (owner, name)
    for owner in CLASSES
    for name, nodes in members(owner).items()
    if isinstance(nodes, list) and not is_property(nodes)
]


@pytest.fixture(scope="module")
def filters():
    """Filters of every kind, of another dialect, and with what properties tell about."""
    build, empty = fullbloom.Filter.build, fullbloom.Filter.with_capacity
    keys = [f"key{i}" for i in range(100)]
    return [
        build(keys, 0.01),
        build(keys, 0.01, kind="compact"),
        build(keys, 0.01, kind="dynamic"),
        build(keys, 0.01, dialect="cassandra"),
        build([1, 2], 0.01, key_type="int", seed=7, label="two"),
        build(keys, 0.01, secret=bytes(range(16))),
        empty(100, 0.01, kind="dynamic", deletable=True),
    ]


def test_the_module_has_the_public_names_of_the_stub_and_no_others():
    constants = {name for name, node in STUBBED.items() if isinstance(node, ast.AnnAssign)}
    assert public(vars(_core)) == set(CLASSES) | set(FUNCTIONS) | public(constants)
    assert "__version__" in constants and isinstance(_core.__version__, str)
    assert set(ast.literal_eval(ALIASES["__all__"])) == set(_core.__all__)
    assert set(fullbloom.__all__) <= set(_core.__all__)
    assert isinstance(_core.DIALECTS, tuple) and all(isinstance(name, str) for name in _core.DIALECTS)


def test_the_installed_package_has_the_stub_and_is_marked_as_typed():
    installed = pathlib.Path(_core.__file__).parent
    assert (installed / "py.typed").exists()
    assert (installed / "_core.pyi").read_text() == STUB.read_text()


def test_the_stub_has_the_docstrings_of_the_module_and_everything_public_has_one():
    assert docstrings.with_docstrings(STUB.read_text(), _core) == STUB.read_text(), "run crates/fullbloom-py/docstrings.py"
    said = {id(node) for node, _ in docstrings.documented(TREE, _core)}
    every = {f"{owner}.{name}": nodes for owner in CLASSES for name, nodes in members(owner).items() if isinstance(nodes, list)}
    every |= FUNCTIONS
    assert not [name for name, nodes in every.items() if not name.split(".")[-1].startswith("_") and id(nodes[0]) not in said]
    assert len(said) > 60 and ast.get_docstring(CLASSES["Filter"]).startswith("A Bloom filter")


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_has_the_members_of_the_stub_and_no_others(name):
    real, stubbed = vars(getattr(_core, name)), members(name)
    assert public(real) == public(stubbed)
    # Methods with underscores on both sides that every object has are left out of stubs by convention.
    special = {one for one in real if one.endswith("__")} - OF_EVERY_CLASS
    assert {one for one in special if one not in vars(object)} <= set(stubbed)
    assert {one for one in stubbed if one.endswith("__")} <= set(real) | {"__new__"}
    assert [ast.unparse(base) for base in CLASSES[name].bases] == [
        base.__name__ for base in getattr(_core, name).__bases__ if base is not object
    ]


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_is_final_in_the_stub_if_it_cannot_be_subclassed(name):
    try:
        type("Sub", (getattr(_core, name),), {})
        final = False
    except TypeError:
        final = True
    assert ("final" in decorators(CLASSES[name])) == final


@pytest.mark.parametrize(("owner", "name"), CALLABLES, ids=lambda part: part or "module")
def test_a_function_has_the_parameters_and_defaults_of_the_stub(owner, name):
    nodes = FUNCTIONS[name] if owner is None else members(owner)[name]
    holder = _core if owner is None else getattr(_core, owner)
    if name == "__new__":
        real = signature(holder)
    elif isinstance(vars(holder)[name], types.WrapperDescriptorType):
        return  # Python's own slots: their parameters have fixed positions and no names
    else:
        real = signature(getattr(holder, name))
    static = [("staticmethod" in decorators(node)) for node in nodes]
    assert all(static) or not any(static)
    if owner is not None:
        assert isinstance(vars(holder)[name], staticmethod) == static[0]
    bound = owner is not None and not static[0]
    for node in nodes:
        said = parameters(node, bound)
        if all(kind is inspect.Parameter.POSITIONAL_ONLY for _, kind, _ in said):
            # Names and defaults do not matter to a caller, and the module may accept more.
            assert len(said) == len(real) or real[0][1] is inspect.Parameter.VAR_POSITIONAL
            continue
        assert [(one, kind) for one, kind, _ in said] == [(one, kind) for one, kind, _ in real]
        differing = [one for one, other in zip(said, real, strict=True) if one[2] != other[2]]
        # An overload may require what has a default elsewhere.
        required = inspect.Parameter.empty
        assert not [one for one in differing if node is nodes[-1] or one[2] is not required]


@pytest.mark.parametrize("name", CLASSES)
def test_a_property_of_the_stub_is_one_of_the_module(name):
    real = vars(getattr(_core, name))
    for member, nodes in members(name).items():
        assert isinstance(real.get(member), types.GetSetDescriptorType) == is_property(nodes), member


def test_a_property_is_writable_if_the_stub_has_a_setter(filters):
    for name, nodes in members("Filter").items():
        if is_property(nodes):
            try:
                setattr(filters[4], name, getattr(filters[4], name))
                writable = True
            except AttributeError:
                writable = False
            assert writable == (len(nodes) == 2), name


TYPES = {"int": int, "float": float, "bool": bool, "str": str, "bytes": bytes, "None": type(None)}


def test_properties_have_the_types_of_the_stub(filters):
    slicing = _core.Slicing(1000, 0.01)
    every = filters + [slicing, slicing.slice(0), slicing.scatter()]
    checked = 0
    for one in every:
        for name, nodes in members(type(one).__name__).items():
            if not is_property(nodes):
                continue
            value, said = getattr(one, name), nodes[0].returns
            if (allowed := literals(said)) is not None:
                assert value in allowed, name
            else:
                assert type(value) in [TYPES[part] for part in ast.unparse(said).split(" | ")], name
            checked += 1
    assert checked > 100


def test_kind_and_key_type_return_every_literal_of_the_stub_and_nothing_else(filters):
    returned = {name: literals(nodes[0].returns) for name, nodes in members("Filter").items() if is_property(nodes)}
    returned = {name: values for name, values in returned.items() if values is not None}
    assert returned.keys() == {"kind", "key_type"}
    for name, values in returned.items():
        assert {getattr(one, name) for one in filters} == values, name
    assert {one.dialect for one in filters} <= set(_core.DIALECTS)


LITERAL_PARAMETERS = [("build", "kind"), ("build", "key_type"), ("with_capacity", "kind"), ("with_capacity", "key_type")]


@pytest.mark.parametrize(("method", "parameter"), LITERAL_PARAMETERS)
def test_a_parameter_takes_the_literals_of_the_stub_and_no_others(method, parameter):
    call = getattr(fullbloom.Filter, method)
    first = ["a", "b"] if method == "build" else 100
    allowed = literals(annotation("Filter", method, parameter))
    assert len(allowed) >= 2
    for value in allowed:
        made = call(first, 0.01, **{parameter: value})
        assert value is None or getattr(made, parameter) == value
    others = {"fast", "compact", "dynamic", "deletable", "int", "long", "short", "", "nonsense"} - allowed
    for value in others:
        with pytest.raises(ValueError):
            call(first, 0.01, **{parameter: value})


def test_a_plan_has_the_fields_of_the_stub():
    every = fullbloom.plan(1000, 1e-12, dialect="all")
    assert isinstance(every, list) and {plan["dialect"] for plan in every} <= set(_core.DIALECTS)
    ones = [fullbloom.plan(1000, 0.01, dialect=dialect) for dialect in ("native", "cassandra", "spark")]
    ones += [fullbloom.plan(0, 0.01), fullbloom.plan(1, memory=10**6)]
    for plans, said in ((ones, "_Plan"), (every, "_PlanOfMany")):
        fields = {one: ast.unparse(node.annotation).split(" | ") for one, node in defined(STUBBED[said].body).items()}
        for plan in plans:
            assert plan.keys() == fields.keys()
            for name, value in plan.items():
                assert type(value) in [TYPES[part] for part in fields[name]], (plan["dialect"], name)


def test_a_report_has_the_fields_of_the_stub(tmp_path, vectors):
    table = next((vectors / "rocksdb/tables").glob("*.sst"))
    path = shutil.copy(table, tmp_path)
    reports = [fullbloom.inspect(path), fullbloom.verify(path), fullbloom.rebuild(path, dry_run=True)]
    reports.append(fullbloom.plan_from(tmp_path, 0.01))
    fields = {one: ast.unparse(node.annotation) for one, node in defined(STUBBED["_Report"].body).items()}
    for report in reports:
        assert report.keys() == fields.keys()
        for name, value in report.items():
            container = fields[name].split("[")[0]
            assert value in (0, 1, 2) if container == "Literal" else type(value).__name__ == container, name
