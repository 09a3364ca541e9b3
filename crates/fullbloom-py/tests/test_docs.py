"""The examples in the documentation, run."""

import doctest
import pathlib
import re

import fullbloom
import pytest

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
FLAGS = doctest.ELLIPSIS


def examples(page):
    """The blocks of Python in a page, one after the other."""
    return "\n".join(re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("page", [PACKAGE.parents[1] / "docs/python.md", PACKAGE / "README.md"], ids=lambda page: page.name)
def test_the_examples_of_a_page_do_what_they_show(page, monkeypatch):
    monkeypatch.chdir(PACKAGE.parents[1])  # where the pages say that the vectors are
    for library in ("pyarrow", "polars", "duckdb", "pandas"):
        pytest.importorskip(library)
    test = doctest.DocTestParser().get_doctest(examples(page), {}, page.name, str(page), 0)
    assert len(test.examples) >= 5
    results = doctest.DocTestRunner(optionflags=FLAGS).run(test)
    assert results.failed == 0


def test_the_examples_of_the_module_do_what_they_show():
    assert doctest.testmod(fullbloom).failed == 0
