"""A real node_exporter reads our files, a real Prometheus scrapes it: every series arrives, alerts fire and end, and every
query of the dashboard has a result.

    scrape.py PROGRAMS FULLBLOOM WORK MONITORING COUNTS
"""

import json
import pathlib
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request

from prometheus_client.openmetrics.parser import text_string_to_metric_families

programs, fullbloom, work, monitoring, counts = map(pathlib.Path, sys.argv[1:])
PATIENCE = 120  # seconds; it takes five on a calm machine


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


exporter_port, prometheus_port = free_port(), free_port()
instance = f"127.0.0.1:{exporter_port}"
textfiles = work / "textfiles"
config = work / "prometheus.yml"
config.write_text(
    "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
    f"rule_files: [{json.dumps(str(monitoring / 'rules.yml'))}]\n"
    f"scrape_configs: [{{job_name: node, static_configs: [{{targets: [{json.dumps(instance)}]}}]}}]\n"
)
storage = work / "storage"
shutil.rmtree(storage, ignore_errors=True)


def start(name, *arguments):
    log = open(work / f"{name}.log", "w")
    return subprocess.Popen([programs / name, *arguments], stdout=log, stderr=log)


def ask(path, **parameters):
    query = urllib.parse.urlencode(parameters)
    url = f"http://127.0.0.1:{prometheus_port}/api/v1/{path}?{query}"
    with urllib.request.urlopen(url, timeout=30) as answer:
        answer = json.load(answer)
    assert answer["status"] == "success", answer
    return answer["data"]


def wait_for(what, condition):
    begun = time.monotonic()
    last = None
    while time.monotonic() - begun < PATIENCE:
        try:
            last = condition()
            if last:
                return last
        except OSError as error:  # it is still starting
            last = error
        time.sleep(0.25)
    raise SystemExit(f"error: {what}: not after {PATIENCE} s: {last}")


def series_of(labels, drop=("job", "instance")):
    return frozenset((name, value) for name, value in labels.items() if name not in drop)


def written():
    """Every series in the files, with its value."""
    series = {}
    for path in textfiles.glob("*.prom"):
        for family in text_string_to_metric_families(path.read_text(encoding="utf-8")):
            for sample in family.samples:
                # An empty label is none.
                labels = {name: value for name, value in sample.labels.items() if value}
                key = series_of({"__name__": sample.name, **labels})
                assert key not in series, f"twice: {sample}"
                series[key] = float(sample.value)
    return series


def scraped():
    found = ask("query", query='{__name__=~"fullbloom_.*"}')["result"]
    return {series_of(one["metric"]): float(one["value"][1]) for one in found}


def alerts():
    return {(one["labels"]["alertname"], one["labels"]["run"]) for one in ask("alerts")["alerts"] if one["state"] == "firing"}


rows = []
exporter = start(
    "prometheus-node-exporter",
    f"--web.listen-address={instance}",
    "--collector.disable-defaults",
    "--collector.textfile",
    f"--collector.textfile.directory={textfiles}",
)
prometheus = start(
    "prometheus",
    f"--config.file={config}",
    f"--web.listen-address=127.0.0.1:{prometheus_port}",
    f"--storage.tsdb.path={storage}",
)
try:
    # Every series arrives, under the same labels, with the same value.
    expected = written()
    wait_for("the series arrive", lambda: scraped() == expected)
    broken = ask("query", query="node_textfile_scrape_error")["result"]
    assert [one["value"][1] for one in broken] == ["0"], broken
    rows.append(("series that arrive with labels and value", len(expected)))

    # The queries of the dashboard have results.
    dashboard = json.loads((monitoring / "dashboard.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    for query in queries:
        found = ask("query", query=query.replace("$instance", ".*"))["result"]
        assert found, f"no result: {query}"
    rows.append(("queries of the dashboard that have a result", len(queries)))

    # The example has damaged filters; a repair ends the alerts.
    damaged = {("FullbloomRowsInvisible", "inspect"), ("FullbloomRowsInvisible", "verify"), ("FullbloomFilterDamaged", "inspect")}
    wait_for("alerts fire", lambda: damaged <= alerts())
    subprocess.run([fullbloom, "rebuild", "--damaged", work / "data" / "cassandra"], check=True, stdout=subprocess.DEVNULL)
    for name, command in (("inspect", "inspect"), ("files", "inspect"), ("verify", "verify"), ("verified-files", "verify")):
        run = [fullbloom, command, "-q", work / "data" / "cassandra", "--metrics", textfiles / f"{name}.prom"]
        subprocess.run(run, check=True)
    wait_for("alerts end", lambda: not alerts())
    rows.append(("alerts that fire for damaged filters, and end with them", len(damaged)))

    # A file of metrics is there as a whole at any time.
    expected = written()
    for _ in range(100):
        run = [fullbloom, "inspect", "-q", work / "data" / "cassandra", "--metrics", textfiles / "inspect.prom"]
        subprocess.run(run, check=True)
        with urllib.request.urlopen(f"http://{instance}/metrics", timeout=30) as answer:
            text = answer.read().decode()
        assert "node_textfile_scrape_error 0" in text
        shown = sum(line.startswith("fullbloom_") for line in text.splitlines())
        assert shown == len(expected), f"{shown} series and not {len(expected)}"
    rows.append(("replacements of a file between two scrapes, each seen as a whole", 100))
finally:
    prometheus.terminate()
    exporter.terminate()
    prometheus.wait(30)
    exporter.wait(30)
counts.write_text("".join(f"{what}\t{cases}\n" for what, cases in rows))
