#!/usr/bin/env python3
"""What is inside the command: THIRD-PARTY.txt with the licences of all its parts, and an SBOM in CycloneDX's format.

    licences.py TARGET OUT-DIRECTORY

Reads `cargo metadata` and the sources of the crates, which must have been fetched. Needs the package ziglang, which has musl's licence.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tomllib
import uuid

import ziglang

ROOT = "fullbloom-cli"
TEXTS = re.compile(r"(?i)^(licen[cs]e|copying|copyright|notice|unlicense)")
# The texts to use for a crate whose archive has none, by the licence it declares. It may be used under either.
STANDARD = {"Apache-2.0": "LICENSE-APACHE", "MIT": "LICENSE-MIT"}


def metadata(target):
    command = ["cargo", "metadata", "--locked", "--offline", "--format-version", "1", "--filter-platform", target]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def linked(data):
    """The packages that are linked into the command, with the ids of those that each uses."""
    packages = {package["id"]: package for package in data["packages"]}
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    todo = [package["id"] for package in data["packages"] if package["name"] == ROOT]
    graph = {}
    while todo:
        one = todo.pop()
        if one in graph:
            continue
        normal = [dep["pkg"] for dep in nodes[one]["deps"] if any(kind["kind"] is None for kind in dep["dep_kinds"])]
        macro = lambda id: any("proc-macro" in target["kind"] for target in packages[id]["targets"])
        graph[one] = sorted(id for id in normal if not macro(id))
        todo += graph[one]
    return {id: (packages[id], uses) for id, uses in sorted(graph.items(), key=lambda item: key(packages[item[0]]))}


def key(package):
    return package["name"], [int(part) for part in re.findall(r"\d+", package["version"])]


def texts(package, root):
    """The licence texts in the archive of a crate, those of libraries in C that it contains included."""
    directory = pathlib.Path(package["manifest_path"]).parent
    files = [path for path in directory.iterdir() if path.is_file() and TEXTS.match(path.name)]
    if package["license_file"]:
        files.append(directory / package["license_file"])
    if package["name"].endswith("-sys"):
        files += [path for path in directory.glob("*/*") if path.is_file() and TEXTS.match(path.name)]
    found = {path.resolve().read_text("utf-8", "replace").strip() for path in files}
    if "GPL" not in (package["license"] or ""):
        # zstd and others offer the GPL beside the licence under which they are used here.
        found = {text for text in found if "GNU GENERAL PUBLIC LICENSE" not in text}
    if not found:
        names = [STANDARD[name] for name in STANDARD if re.search(rf"\b{re.escape(name)}\b", package["license"] or "")]
        if not names:
            sys.exit(f"error: {package['name']} {package['version']}: no licence text for {package['license']}")
        authors = ", ".join(package["authors"]) or f"the authors of {package['name']}"
        text = (root / names[0]).read_text("utf-8").strip()
        # The copyright line of our own text names us.
        found = {re.sub(r"(?m)^Copyright .*$", f"Copyright (c) {authors}", text, count=1)}
    return found


def toolchain(root):
    """The parts of a static binary that no crate provides: (name, licence, texts)."""
    version = subprocess.run(["rustc", "--version"], check=True, capture_output=True, text=True).stdout.split()[1]
    apache = (root / STANDARD["Apache-2.0"]).read_text("utf-8").strip()
    musl = (pathlib.Path(ziglang.__file__).parent / "lib/libc/musl/COPYRIGHT").read_text("utf-8").strip()
    return [(f"the Rust standard library {version}", "MIT OR Apache-2.0", {apache}), ("musl", "MIT", {musl})]


def third_party(graph, root):
    rows, used = [], {}
    parts = [
        (f"{package['name']} {package['version']}", package["license"], texts(package, root))
        for package, _ in graph.values()
        if package["source"]
    ]
    for name, licence, found in parts + toolchain(root):
        rows.append(f"  {name:40}{licence}")
        for text in found:
            used.setdefault(text, []).append(name)
    line = "=" * 100
    sections = [f"{line}\n{', '.join(names)}\n{line}\n\n{text}\n" for text, names in used.items()]
    head = "The command fullbloom contains these works of others, under these licences. Their texts follow.\n"
    return "\n".join([head, *rows, "", *sections])


def sbom(graph, lock):
    sums = {(one["name"], one["version"]): one.get("checksum") for one in lock["package"]}
    purl = lambda package: f"pkg:cargo/{package['name']}@{package['version']}"
    references = {id: purl(package) for id, (package, _) in graph.items()}
    components, top = [], None
    for id, (package, _) in graph.items():
        component = {
            "type": "application" if package["name"] == ROOT else "library",
            "bom-ref": references[id],
            "name": package["name"],
            "version": package["version"],
            "purl": references[id],
            "licenses": [{"expression": (package["license"] or "").replace("/", " OR ")}],
        }
        checksum = sums.get((package["name"], package["version"]))
        if checksum:
            component["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        if package["name"] == ROOT:
            top = component
        else:
            components.append(component)
    uses = [{"ref": references[id], "dependsOn": [references[one] for one in on]} for id, (_, on) in graph.items()]
    identity = json.dumps([components, uses], sort_keys=True)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, identity)}",
        "version": 1,
        "metadata": {"component": top},
        "components": components,
        "dependencies": uses,
    }


def main():
    target, out = sys.argv[1], pathlib.Path(sys.argv[2])
    root = pathlib.Path(__file__).resolve().parent.parent
    os.chdir(root)
    graph = linked(metadata(target))
    out.mkdir(parents=True, exist_ok=True)
    (out / "THIRD-PARTY.txt").write_text(third_party(graph, root), "utf-8")
    lock = tomllib.loads((root / "Cargo.lock").read_text("utf-8"))
    (out / "sbom.cdx.json").write_text(json.dumps(sbom(graph, lock), indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
