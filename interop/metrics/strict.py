"""Reads files of metrics with the strict parser of OpenMetrics; prints how many series they have."""

import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families

series = 0
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        for family in text_string_to_metric_families(file.read()):
            assert family.type == "gauge" and family.documentation, f"{path}: {family}"
            assert not family.unit or family.name.endswith("_" + family.unit), f"{path}: {family}"
            series += len(family.samples)
assert series > 300, series
print(series)
