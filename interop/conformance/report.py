"""Writes docs/conformance.md from the results of conformance/run.

    report.py CORPUS RESULTS FINDINGS OUT

FINDINGS describes wrong answers: after a heading, a line `Readers:` and a line `Cases:` with names and patterns of cases.
Prints a line for each reader: name, version, answers, wrong ones, and wrong ones that no finding describes.
"""

import collections
import datetime
import fnmatch
import json
import pathlib
import re
import sys

# What the adapters call, for readers of the page who want to repeat an answer.
CALLS = {
    ("arrow-rs", "filter"): "`Sbbf::from_bytes`, `check`",
    ("arrow-rs", "column"): "`Sbbf::read_from_column_chunk`, `check`",
    ("parquet-java", "column"): "`ParquetFileReader.readBloomFilter`, `findHash`",
    ("parquet-java", "rows"): "`ParquetReader` with `FilterApi.eq` and its like",
    ("Arrow C++", "filter"): "`BlockSplitBloomFilter::Deserialize` with the length of the file, `FindHash`",
    ("Arrow C++", "column"): "`GetBloomFilterReader()`, `GetColumnBloomFilter`, `FindHash`",
    ("DuckDB", "column"): "`parquet_bloom_probe`",
    ("DuckDB", "rows"): "`select count(*) from read_parquet(…) where …`",
    ("DataFusion", "rows"): "`SessionContext.read_parquet(…).filter(…).count()`",
    ("ClickHouse (chDB)", "rows"): "`select count() from file(…, Parquet) where …`",
    ("pyarrow.dataset", "rows"): "`Dataset.count_rows(filter=…)`",
    ("Spark sketch", "filter"): "`BloomFilter.readFrom`, `mightContain…`",
    ("Guava", "filter"): "`BloomFilter.readFrom`, `mightContain`",
    ("orc-core", "filter"): "`OrcProto.BloomFilter.parseFrom`, `BloomFilterIO.deserialize`, `test…`",
    ("cassandra-all", "filter"): "`BloomFilterSerializer.deserialize`, `isPresent`",
    ("RocksDB", "filter"): "`FilterPolicy::GetFilterBitsReader`, `MayMatch`",
    ("LevelDB", "filter"): "`FilterPolicy::KeyMayMatch`",
    ("libbloom", "filter"): "`bloom_check` on a struct with these bits",
    ("DCSO bloom", "filter"): "`LoadFilter`, `Check`",
    ("readers/python", "filter"): "`Filter`, `may_contain`",
    ("readers/js", "filter"): "`Filter`, `mayContain`",
    ("readers/java", "filter"): "`NativeFilter`, `mayContain`",
    ("readers/go", "filter"): "`New`, `MayContain`",
    ("fullbloom (C)", "filter"): "`fullbloom_filter_decode`, `fullbloom_filter_may_contain`",
    ("fullbloom (Python)", "filter"): "`Filter.from_bytes`, `may_contain`",
    ("fullbloom (page)", "filter"): "`look`, `lookup`",
}
DUE = {
    "exact": "every key that is there is found, and the others get the answers of the bits",
    "rows": "the query returns its rows",
    "twin": "the rows that the same file without filters gives",
    "safe": "an error, or \"maybe\" for every key that is there",
    "nothing": "no crash, and bounded memory",
    "control": "no crash, and bounded memory",
}
ASKS = ("filter", "column", "rows")


def is_wrong(verdict):
    return verdict.isupper()


def findings(text):
    """The readers and the patterns of each finding."""
    listed = lambda name, part: [item.strip().strip("`") for item in re.search(rf"^{name}: (.*)$", part, re.M)[1].split(",")]
    parts = [part for part in re.split(r"^### ", text, flags=re.M) if re.search(r"^Cases: ", part, re.M)]
    return [(part.splitlines()[0], listed("Readers", part), listed("Cases", part)) for part in parts]


def finding_of(known, result):
    """The heading of the finding that describes a wrong answer."""
    for heading, readers, cases in known:
        if result["reader"] in readers and any(fnmatch.fnmatchcase(result["case"], pattern) for pattern in cases):
            return heading
    return None


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def summary(manifests, results):
    lines = ["| system | reader | version | answers | correct | filter used | LOST | OTHER | REFUSED | CRASH, HANG | MEMORY |",
             "|---|---|---|--:|--:|---|--:|--:|--:|--:|--:|"]
    groups = collections.defaultdict(list)
    for result in results:
        groups[result["system"], result["reader"], result["version"]].append(result)
    for (system, reader, version), group in groups.items():
        verdicts = collections.Counter(result["verdict"] for result in group if result["verdict"] != "–")
        wrong = sum(count for verdict, count in verdicts.items() if is_wrong(verdict))
        used = "yes" if verdicts["filter used"] else "no" if verdicts["filter not used"] else ""
        cells = [verdicts["LOST"], verdicts["OTHER"], verdicts["REFUSED"], verdicts["CRASH"] + verdicts["HANG"], verdicts["MEMORY"]]
        total = sum(verdicts.values())
        lines.append(f"| {system} | {reader} | {version} | {total} | {total - wrong} | {used} | " + " | ".join(str(c or "") for c in cells) + " |")
    return lines


def every_wrong_answer(manifests, results, known):
    lines = ["| reader | file | call | what happened | what should have | described |", "|---|---|---|---|---|---|"]
    for result in results:
        if not is_wrong(result["verdict"]):
            continue
        case = manifests[result["system"]][result["case"]]
        heading = finding_of(known, result)
        call = CALLS[result["reader"], case["ask"]]
        # Without the directory of this run, and without what changes from run to run.
        detail = re.sub(r"\S*/conformance/", "", result["detail"])
        detail = re.sub(r"\s+| \(\d+ in use\)", " ", detail).replace("|", "\\|")[:200]
        link = f"[yes](#{anchor(heading)})" if heading else "no"
        lines.append(f"| {result['reader']} | `{result['system']}/{case['file']}` | {call} | {result['verdict']}: {detail} | {DUE[case['expect']]} | {link} |")
    return lines


def matrix(system, cases, results):
    """A line for each file or column, a column for each reader. What was asked is shown where the verdicts differ."""
    readers = list(dict.fromkeys(result["reader"] for result in results))
    verdicts = {(result["case"], result["reader"]): result["verdict"] for result in results}
    rows = collections.OrderedDict()
    for name, case in cases.items():
        base = name.rsplit("/", 1)[0] if name.rsplit("/", 1)[-1] in ASKS else name
        rows.setdefault(base, {"why": case["why"], "asks": {}})["asks"][case["ask"]] = name
    lines = ["| case | what it is | " + " | ".join(readers) + " |", "|---|---|" + "---|" * len(readers)]
    for base, row in rows.items():
        cells = []
        for reader in readers:
            got = {ask: verdicts[name, reader] for ask, name in row["asks"].items()}
            got = {ask: f"**{v}**" if is_wrong(v) else v for ask, v in got.items() if v != "–"}
            if not got:
                cells.append("–")
            elif len(set(got.values())) == 1:
                cells.append(next(iter(got.values())))
            else:
                cells.append(", ".join(f"{ask}: {verdict}" for ask, verdict in got.items()))
        why = row["why"].replace("|", "\\|")
        lines.append(f"| `{base}` | {why} | " + " | ".join(cells) + " |")
    return lines


def main():
    corpus, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[4])
    results = json.loads(pathlib.Path(sys.argv[2]).read_text(encoding="utf-8"))
    text = pathlib.Path(sys.argv[3]).read_text(encoding="utf-8")
    known = findings(text)
    loaded = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(corpus.glob("*/manifest.json"))]
    manifests = {manifest["system"]: {case["case"]: case for case in manifest["cases"]} for manifest in loaded}
    introduction, _, described = text.partition("<!-- summary -->\n")
    lines = [
        introduction.rstrip(),
        "",
        f"Made on {datetime.date.today().isoformat()} by `interop/run conformance`, from {sum(map(len, manifests.values()))} cases of {len(manifests)} systems.",
        "",
        *summary(manifests, results),
        "",
        described.strip(),
        "",
        "## Where the specifications are silent",
        "",
        "| system | specification | what it does not say |",
        "|---|---|---|",
        *(f"| {m['system']} | {m['specification']} | {silent} |" for m in loaded for silent in m["silent"]),
        "",
        "## Every wrong answer",
        "",
        "Files are in `conformance/`. Their making is in the manifest beside them.",
        "",
        *every_wrong_answer(manifests, results, known),
        "",
        "## The matrix",
        "",
        "Verdicts are those of [conformance/README.md](../conformance/README.md#what-is-correct); wrong ones are bold. Where a file is",
        "asked in several ways and the verdicts differ, the way is in front: `filter`, `column` or `rows`.",
    ]
    for system, cases in manifests.items():
        lines += ["", f"### {system}", "", *matrix(system, cases, [result for result in results if result["system"] == system])]
    out.write_text("\n".join(lines) + "\n", encoding="utf-8")

    counts = collections.OrderedDict()
    for result in results:
        if result["verdict"] != "–":
            count = counts.setdefault((result["reader"], result["version"]), [0, 0, 0])
            count[0] += 1
            if is_wrong(result["verdict"]):
                count[1] += 1
                if finding_of(known, result) is None:
                    count[2] += 1
                    print(f"error: {result['reader']}: {result['case']}: {result['verdict']}: no finding describes it", file=sys.stderr)
    for (reader, version), count in counts.items():
        print(reader, version, *count, sep="\t")


main()
