"""Checks the manifests of a corpus against conformance/manifest.schema.json."""

import json
import pathlib
import sys

import jsonschema

corpus = pathlib.Path(sys.argv[1])
validator = jsonschema.Draft202012Validator(json.loads((corpus / "manifest.schema.json").read_text()))
for path in sorted(corpus.glob("*/manifest.json")):
    for error in validator.iter_errors(json.loads(path.read_text(encoding="utf-8"))):
        sys.exit(f"error: {path}: {error.json_path}: {error.message}")
