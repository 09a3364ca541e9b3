"""Adapters of the engines that come as Python packages: engines.py duckdb | datafusion | clickhouse | pyarrow

`rows` counts the rows of a query in SQL or its like; DuckDB also answers `column`, by its function parquet_bloom_probe.
"""

import json
import re
import sys

import pyarrow as pa
from values import plain, scalar


class DuckDB:
    name = "DuckDB"

    def __init__(self):
        import duckdb

        self.version = duckdb.__version__
        self.connection = duckdb.connect(config={"threads": 1})

    def literal(self, request, key):
        """A constant of SQL, of the type that DuckDB gives the column."""
        value, name = plain(request, key), request["type"].partition("(")[0]
        if name in ("binary", "fixed"):
            return "'" + "".join(f"\\x{byte:02X}" for byte in value) + "'::BLOB"
        if name == "string":
            return "'" + value.replace("'", "''") + "'" if "\0" not in value else " || chr(0) || ".join(
                f"'{part}'" for part in value.replace("'", "''").split("\0"))
        if name == "date":
            return f"(DATE '1970-01-01' + {value})::DATE"
        if name == "time":
            return f"TIME '{value // 3_600_000:02}:{value // 60_000 % 60:02}:{value // 1000 % 60:02}.{value % 1000:03}'"
        if name == "timestamp":
            return f"make_timestamp{'_ns' * (request['physical'] == 'INT96')}({value})"
        if name == "uuid":
            return f"'{value}'::UUID"
        kind = {"float": "FLOAT", "double": "DOUBLE", "float16": "FLOAT", "int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER",
                "int64": "BIGINT", "uint8": "UTINYINT", "uint16": "USMALLINT", "uint32": "UINTEGER", "uint64": "UBIGINT"}
        return f"'{value}'::{kind.get(name) or request['type'].upper()}"

    def column(self, request):
        if "." in request["column"]:
            raise NotImplementedError("parquet_bloom_probe takes no nested column")

        def may_contain(key):
            rows = self.connection.execute(
                f"select bool_and(bloom_filter_excludes) from parquet_bloom_probe(?, ?, {self.literal(request, key)})",
                [request["file"], request["column"]],
            ).fetchall()
            return int(not rows[0][0])

        return [may_contain(key) for key in request["keys"]]

    def rows(self, request):
        def count(where):
            return self.connection.execute(f"select count(*) from read_parquet('{request['file']}') where {where}").fetchone()[0]

        path = lambda column: '"' + column.replace(".", '"."') + '"'
        a, b = path(request["column"]), path(request.get("other", ""))
        value = lambda key: self.literal(request, key)
        predicate = {
            "=": lambda key: f"{a} = {value(key)}",
            "<>": lambda key: f"{a} <> {value(key)}",
            "in": lambda keys: f"{a} in ({', '.join(map(value, keys))})",
            "or": lambda keys: f"{a} = {value(keys[0])} or {b} = {value(keys[1])}",
            "and": lambda keys: f"{a} = {value(keys[0])} and {b} = {value(keys[1])}",
        }[request.get("where", "=")]
        return [count(predicate(key)) for key in request["keys"]]


class DataFusion:
    name = "DataFusion"

    def __init__(self):
        import datafusion

        self.datafusion, self.version = datafusion, datafusion.__version__

    def rows(self, request):
        context = self.datafusion.SessionContext(self.datafusion.SessionConfig().with_target_partitions(1))
        frame = context.read_parquet(request["file"])
        functions = self.datafusion.functions
        def column(path):
            first, *rest = path.split(".")
            expression = self.datafusion.col(f'"{first}"')
            for part in rest:
                expression = expression[part]
            return expression

        a, b = column(request["column"]), column(request.get("other", request["column"]))
        value = lambda key: self.datafusion.lit(scalar(request, key))
        predicate = {
            "=": lambda key: a == value(key),
            "<>": lambda key: a != value(key),
            "in": lambda keys: functions.in_list(a, [value(key) for key in keys]),
            "or": lambda keys: (a == value(keys[0])) | (b == value(keys[1])),
            "and": lambda keys: (a == value(keys[0])) & (b == value(keys[1])),
        }[request.get("where", "=")]
        return [frame.filter(predicate(key)).count() for key in request["keys"]]


class ClickHouse:
    name = "ClickHouse (chDB)"

    def __init__(self):
        from chdb import session

        self.session = session.Session()
        self.version = self.ask("select version()").strip('"')

    def ask(self, query):
        return self.session.query(query, "CSV").bytes().decode().strip()

    def literal(self, request, key):
        """A constant of the type that ClickHouse gives the column."""
        value, (name, _, rest) = plain(request, key), request["type"].partition("(")
        if name in ("string", "binary", "fixed"):
            return f"unhex('{key}')" if name != "fixed" else f"toFixedString(unhex('{key}'), {rest}"
        if name == "date":
            raise NotImplementedError("Date32 is from 1900 to 2299, and the values are not")
        if name.startswith("time"):
            digits = {"(ms": 3, "(us": 6, "(ns": 9}["(" + rest.rstrip(")")]
            return f"reinterpret(toInt64({value}), 'DateTime64({digits})')"
        if name in ("float", "double"):
            return f"reinterpretAsFloat{8 * len(key) // 2}(unhex('{key}'))"
        kinds = {"float16": "Float32", "uuid": "UUID"}
        kind = kinds.get(name) or re.sub("^u?int", lambda start: {"int": "Int", "uint": "UInt"}[start[0]], request["type"]).replace("dec", "Dec")
        return f"CAST('{value}' AS {kind})"

    def rows(self, request):
        path = lambda column: "`" + column.replace(".", "`.`") + "`"
        a, b = path(request["column"]), path(request.get("other", ""))
        value = lambda key: self.literal(request, key)
        predicate = {
            "=": lambda key: f"{a} = {value(key)}",
            "<>": lambda key: f"{a} <> {value(key)}",
            "in": lambda keys: f"{a} in ({', '.join(map(value, keys))})",
            "or": lambda keys: f"{a} = {value(keys[0])} or {b} = {value(keys[1])}",
            "and": lambda keys: f"{a} = {value(keys[0])} and {b} = {value(keys[1])}",
        }[request.get("where", "=")]
        table = f"file('{request['file']}', Parquet)"
        return [int(self.ask(f"select count() from {table} where {predicate(key)}")) for key in request["keys"]]


class PyArrow:
    name = "pyarrow.dataset"

    def __init__(self):
        import pyarrow.dataset

        self.dataset, self.version = pyarrow.dataset, pa.__version__

    def rows(self, request):
        if request["type"] == "float16":
            raise NotImplementedError("no comparison of float16")
        data = self.dataset.dataset(request["file"], format="parquet")
        column = lambda path: self.dataset.field(*path.split("."))
        a, b = column(request["column"]), column(request.get("other", request["column"]))
        value = lambda key: scalar(request, key)
        predicate = {
            "=": lambda key: a == value(key),
            "<>": lambda key: a != value(key),
            "in": lambda keys: a.isin(pa.array([value(key).as_py() for key in keys], pa.int32())),
            "or": lambda keys: (a == value(keys[0])) | (b == value(keys[1])),
            "and": lambda keys: (a == value(keys[0])) & (b == value(keys[1])),
        }[request.get("where", "=")]
        return [data.count_rows(filter=predicate(key)) for key in request["keys"]]


def main():
    engine = {"duckdb": DuckDB, "datafusion": DataFusion, "clickhouse": ClickHouse, "pyarrow": PyArrow}[sys.argv[1]]()
    print(json.dumps({"name": engine.name, "version": engine.version, "systems": ["parquet"]}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(engine, request["ask"], None)
            reply = {"answers": answer(request)} if answer else {"skip": f"does not answer {request['ask']}"}
        except NotImplementedError as error:
            reply = {"skip": str(error)}
        except BaseException as error:  # a panic of Rust is no Exception
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), flush=True)


main()
