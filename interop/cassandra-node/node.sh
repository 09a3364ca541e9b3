# A whole Cassandra node in a process of its own; sourced after lib.sh and release.sh by suites that set `version`, `jars` and
# `port`, and where they need them `properties` (of the JVM) and `settings` (lines of cassandra.yaml).
rows=20000
patience=900 # seconds; a start takes 20 on a calm machine
properties=()
settings=

# More packages of the JDK that a complete node needs access to.
for package in java.base/{java.io,java.lang,java.lang.module,java.lang.reflect,java.math,java.net,java.nio,java.util} \
  java.base/{java.util.concurrent,java.util.concurrent.atomic,sun.nio.ch,jdk.internal.loader,jdk.internal.math} \
  java.base/{jdk.internal.misc,jdk.internal.module,jdk.internal.ref,jdk.internal.reflect,jdk.internal.util.jar} \
  java.management.rmi/com.sun.jmx.remote.internal.rmi java.management/com.sun.jmx.remote.security \
  java.rmi/{java.rmi.registry,sun.rmi.registry,sun.rmi.server,sun.rmi.transport.tcp} java.sql/java.sql \
  jdk.management/com.sun.management.internal; do
  opened+=(--add-opens "$package=ALL-UNNAMED" --add-exports "$package=ALL-UNNAMED")
done

# node DIRECTORY write|read: prints "found absent-found rejected sstables filter-bytes". The node's log is DIRECTORY/write.log or
# read.log; what it says about a failure is repeated here.
node() {
  local status=0
  timeout $patience java "${opened[@]}" -Xmx1g -Djdk.attach.allowAttachSelf=true -Dcassandra.config="file://$1/cassandra.yaml" \
    -Dcassandra.storagedir="$1" -Dcassandra.skip_wait_for_gossip_to_settle=0 -Dcassandra.ring_delay_ms=500 \
    "${properties[@]}" -Dlog.level=INFO -Dlogback.configurationFile="$here/../cassandra/logback.xml" -cp "$work/classes:$jars/*" Node "$2" $rows \
    2> "$1/$2.log" || status=$?
  [ $status != 0 ] || return 0
  echo "error: the node ($2) ended with status $status (124: not done after $patience s); see $1/$2.log:" >&2
  grep -E '^(ERROR|Caused by|Exception)' "$1/$2.log" | head -20 >&2
  tail -5 "$1/$2.log" >&2
  return 1
}

# through_the_node FORMAT: the node writes a table, we damage and rebuild its filter, and the node reads the table.
through_the_node() {
  local format=$1
  step "a table of format $format"
  dir=$work/$format
  rm -rf "$dir"
  mkdir -p "$dir"
  sed "s,@DIR@,$dir,; s,@FORMAT@,$format,; s,@PORT@,$port,g" "$here/../cassandra-node/cassandra.yaml.in" > "$dir/cassandra.yaml"
  printf '%s\n' "$settings" >> "$dir/cassandra.yaml"
  said=$(node "$dir" write)
  echo "written: $said"
  table=$(echo "$dir"/data/shop/orders-*)
  "$fullbloom" inspect "$table"
  "$fullbloom" verify "$table"

  step "damage to its filter is detected"
  filter=$(echo "$table"/*-Filter.db)
  cp "$filter" "$dir/good"
  python3 -c '
import sys
path = sys.argv[1]
data = bytearray(open(path, "rb").read())
data[8:8 + len(data) // 8] = bytes(len(data) // 8)
open(path, "wb").write(data)' "$filter"
  if "$fullbloom" verify "$table"; then row Cassandra $version "a damaged filter of a node's table ($format), detected" 1 1; fi
  row Cassandra $version "a damaged filter of a node's table ($format), detected" 1 0

  step "its filter is rebuilt at 10 %"
  "$fullbloom" rebuild --fpr 0.1 "$table"
  "$fullbloom" verify "$table"
  bytes=$(stat -c %s "$filter")
  [ "$bytes" -lt $(($(stat -c %s "$dir/good") * 2 / 3)) ]
  # The node ignores the backup, but it is not part of the table.
  said=$(node "$dir" read)
  echo "read: $said"
  read -r found absent_found rejected sstables in_memory <<< "$said"
  differences=$((rows - found + absent_found + (sstables != 1)))
  row Cassandra $version "rows found through a filter we rebuilt ($format)" $rows $differences
  # The node's own count of rejected rows and the memory of the filter show that it used our filter.
  planned=$("$fullbloom" inspect --json "$table" | python3 -c '
import json, math, sys
rows, fpr = int(sys.argv[1]), json.load(sys.stdin)["places"][0]["expected_fpr"]
print(round(rows * (1 - fpr)), math.ceil(4 * math.sqrt(rows * fpr * (1 - fpr))))' $rows)
  read -r planned spread <<< "$planned"
  echo "rejected $rejected of $rows, planned $planned ± $spread; in memory $in_memory bytes, in the file $bytes"
  row Cassandra $version "absent rows rejected by a filter we rebuilt, as planned ($format)" $rows \
    $((rejected < planned - spread || rejected > planned + spread || in_memory != bytes - 8))
}
