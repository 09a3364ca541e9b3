#!/usr/bin/env python3
"""Checks the relative links of all Markdown files of the repository: the file is there, and so is the heading.

Links to other hosts are left alone. Exits with 1 and one line for each broken link.
"""
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

root = Path(__file__).resolve().parent.parent
tracked = subprocess.run(
    ["git", "-C", root, "ls-files", "-co", "--exclude-standard"], check=True, capture_output=True, text=True
).stdout.splitlines()


def prose(text):
    """The text without code, whose brackets are not links."""
    text = re.sub(r"^(```|~~~).*?^\1[ \t]*$", "", text, flags=re.M | re.S)
    return re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)


def anchors(text):
    """The names of headings as GitHub makes them, and those of HTML."""
    found, seen = set(re.findall(r'<a (?:id|name)="([^"]+)"', text)), {}
    text = re.sub(r"^(```|~~~).*?^\1[ \t]*$", "", text, flags=re.M | re.S)
    for heading in re.findall(r"^#{1,6}[ \t]+(.+?)[ \t#]*$", text, flags=re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        seen[name] = seen.get(name, -1) + 1
        found.add(name if seen[name] == 0 else f"{name}-{seen[name]}")
    return found


def links(text):
    text = prose(text)
    yield from re.findall(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)", text)
    yield from re.findall(r"^\[[^\]]+\]:\s*<?(\S+?)>?\s*$", text, flags=re.M)


broken = files = checked = 0
for name in sorted(name for name in tracked if name.endswith(".md")):
    page = root / name
    if not page.is_file():
        continue
    files += 1
    for link in links(page.read_text()):
        if re.match(r"[a-z][a-z0-9+.-]*:|//", link):
            continue
        checked += 1
        path, _, anchor = link.partition("#")
        target = (page.parent / unquote(path)).resolve() if path else page
        if not target.exists():
            why = "there is no such file"
        elif anchor and target.suffix == ".md" and unquote(anchor) not in anchors(target.read_text()):
            why = "there is no such heading"
        else:
            continue
        broken += 1
        print(f"{name}: {link}: {why}")
print(f"{checked} links in {files} files, {broken} broken")
sys.exit(1 if broken or checked < 100 else 0)
