"""A filter inside DataFusion: an aggregate that builds one, and a function that asks it.

    pip install ./crates/fullbloom-py datafusion pyarrow
    python crates/fullbloom-py/examples/datafusion_udf.py

`bloom(id)` makes a filter of a column, in parts where DataFusion works in parts; `may_contain(filter, id)` asks one. Both work
on whole Arrow batches, so Python is entered once for thousands of rows.
"""

import datafusion
import pyarrow as pa
from datafusion import Accumulator, SessionContext, udaf, udf

from fullbloom import Filter

EXPECTED_KEYS = 100_000
FPR = 0.01


class Bloom(Accumulator):
    """Keys go into a filter; filters of the same size are merged."""

    def __init__(self):
        self.filter = Filter.with_capacity(EXPECTED_KEYS, FPR)

    def update(self, keys):
        self.filter.update(keys)

    def merge(self, states):
        for state in states if isinstance(states, list) else [states]:
            for part in state:
                if part.is_valid:
                    self.filter |= Filter.from_bytes(part.as_buffer())

    def state(self):
        return [pa.scalar(self.filter.to_bytes(), pa.binary())]

    def evaluate(self):
        return pa.scalar(self.filter.to_bytes(), pa.binary())


bloom = udaf(Bloom, pa.int64(), pa.binary(), [pa.binary()], "stable", "bloom")


def asker(f, name="may_contain"):
    """A function of SQL that asks this filter."""
    return udf(f.may_contain, [pa.int64()], pa.bool_(), "immutable", name)


def main():
    context = SessionContext()
    customers = pa.table({"id": pa.array(range(0, 700_000, 7), pa.int64())})
    orders = pa.table({"customer": pa.array(range(1_000_000), pa.int64()), "amount": pa.array([1] * 1_000_000, pa.int64())})
    context.from_arrow(customers, name="customers")
    context.from_arrow(orders, name="orders")

    context.register_udaf(bloom)
    (row,) = context.sql("select bloom(id) as filter from customers").to_pylist()
    f = Filter.from_bytes(row["filter"])
    print(f"built in DataFusion {datafusion.__version__}: {f}")

    context.register_udf(asker(f))
    joined = "select sum(amount) as total from orders join customers on customer = id"
    pruned = f"{joined} where may_contain(customer)"
    (plain,), (fast,) = context.sql(joined).to_pylist(), context.sql(pruned).to_pylist()
    (left,) = context.sql("select count(*) as rows from orders where may_contain(customer)").to_pylist()
    print(f"orders of customers: {plain['total']}, with the filter in front of the join: {fast['total']}")
    print(f"rows that reach the join: {left['rows']} of {len(orders)}")
    assert plain == fast and f.may_contain(customers["id"]).to_pylist().count(False) == 0
    assert 100_000 <= left["rows"] <= 112_000


if __name__ == "__main__":
    main()
