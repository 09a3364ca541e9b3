"""What the makers of all systems share: a manifest that grows, and the files that it names."""

import hashlib
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = 1


def vectors(name):
    """A file of vectors/: as JSON if it is, else its bytes."""
    data = (ROOT / "vectors" / name).read_bytes()
    return json.loads(data) if name.endswith(".json") else data


class System:
    """One directory of the corpus."""

    def __init__(self, corpus, name, specification, silent):
        self.folder = corpus / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.manifest = {
            "schema": 1,
            "version": VERSION,
            "system": name,
            "specification": specification,
            "silent": silent,
            "hashes": [],
            "files": {},
            "keys": {},
            "cases": [],
        }

    def file(self, name, data, origin):
        """Adds a file; `origin` says which program wrote it, or what was done to which file."""
        (self.folder / name).write_bytes(data)
        known = self.manifest["files"].get(name)
        entry = {"sha256": hashlib.sha256(data).hexdigest(), "origin": origin}
        assert known in (None, entry), name
        self.manifest["files"][name] = entry
        return name

    def hashes(self, function, origin, pairs):
        """Adds hashes of keys, for readers whose answers are wrong: pairs of a key and its hash, both in hex."""
        short = {key: hash for key, hash in pairs if len(key) <= 128}
        self.manifest["hashes"].append({"function": function, "origin": origin, "keys": short})

    def keys(self, name, found, absent=(), answers=None, rows=None, **request):
        """Adds a set of keys. `answers` are due for the absent ones, `rows` for all of them."""
        entry = {"request": request} if request else {}
        entry["found"], entry["absent"] = [as_hex(key) for key in found], [as_hex(key) for key in absent]
        if answers is not None:
            assert len(answers) == len(absent), name
            entry["answers"] = "".join("01"[bool(int(a))] for a in answers)
        if rows is not None:
            assert len(rows) == len(found) + len(absent), name
            entry["rows"] = list(rows)
        assert self.manifest["keys"].setdefault(name, entry) == entry, name
        return name

    def case(self, name, file, ask, keys, expect, why, **request):
        """Adds a case; `expect` is a verdict of README.md."""
        assert all(case["case"] != name for case in self.manifest["cases"]), name
        case = {"case": name, "file": file, "ask": ask, "keys": keys, "expect": expect, "why": why}
        if "twin" in request:
            case["twin"] = request.pop("twin")
        if request:
            case["request"] = request
        self.manifest["cases"].append(case)

    def write(self):
        """Writes the manifest: a line for each file, set of keys and case, so that changes are readable."""
        lines = []
        for field, value in self.manifest.items():
            if isinstance(value, list) and value:
                inner = ",\n  ".join(json.dumps(v, ensure_ascii=False) for v in value)
                lines.append(f'"{field}": [\n  {inner}\n ]')
            elif isinstance(value, dict):
                inner = ",\n  ".join(f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in value.items())
                lines.append(f'"{field}": {{\n  {inner}\n }}')
            else:
                lines.append(f'"{field}": {json.dumps(value, ensure_ascii=False)}')
        text = "{\n " + ",\n ".join(lines) + "\n}\n"
        json.loads(text)
        (self.folder / "manifest.json").write_text(text, encoding="utf-8")


def as_hex(key):
    """A key as it stands in a manifest: hex, or a list of hex for queries of several values."""
    return [part.hex() for part in key] if isinstance(key, (list, tuple)) else key.hex()
