"""What the tests share."""

import os
import pathlib
import shutil

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parents[1]


@pytest.fixture(scope="session")
def vectors():
    return ROOT / "vectors"


@pytest.fixture(scope="session")
def command():
    """The command: where FULLBLOOM says, or as cargo built it. FULLBLOOM set to nothing good is a failure."""
    if told := os.environ.get("FULLBLOOM"):
        assert os.access(told, os.X_OK), f"FULLBLOOM is {told}, which cannot be run"
        return told
    for built in (ROOT / "target/release/fullbloom", ROOT / "target/debug/fullbloom"):
        if built.exists():
            return str(built)
    if found := shutil.which("fullbloom"):
        return found
    pytest.skip("the command is not built: cargo build -p fullbloom-cli")
