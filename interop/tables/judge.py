"""Reads the output of `fullbloom verify --json` for tables of real engines. Prints how many databases and tables were
verified, and how many tables differ: a key is missing, or the filter is not the one rebuilt from the keys.

    judge.py JSON DATABASES
"""

import json
import os
import sys

said = json.load(open(sys.argv[1]))
databases = set()
places = said["places"]
different = {problem["place"] for problem in said["problems"] if problem["severity"] == "error"}
for table in places:
    databases.add(os.path.dirname(table["path"]))
    missing = table["missing"] + table["missing_in_seek"] + table["missing_in_seek_back"]
    # A prefix filter is not stored if no key has a prefix; then there is nothing to compare.
    filtered = table["absent_asked"] > 0
    if missing or table["rebuilt_identical"] is False or (filtered and table["rebuilt_identical"] is None):
        different.add(table["path"])
compared = sum(table["rebuilt_identical"] is True for table in places)
print(
    "%d databases, %d tables, %d filters made again, %d keys"
    % (len(databases), len(places), compared, sum(table["keys"] for table in places)),
    file=sys.stderr,
)
for path in sorted(different)[:20]:
    print("different:", path, file=sys.stderr)
if len(databases) != int(sys.argv[2]) or compared < len(places) / 2:
    sys.exit("expected tables of %s databases, most of them with filters" % sys.argv[2])
print(len(different))
