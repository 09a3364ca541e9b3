# Cassandra's jars, and the JVM options that they need; sourced after lib.sh.

# Cassandra's off-heap memory and clean-up use JDK internals that are closed since version 9.
opened=()
for package in java.lang java.nio java.util sun.nio.ch jdk.internal.ref jdk.internal.misc; do
  opened+=(--add-opens "java.base/$package=ALL-UNNAMED" --add-exports "java.base/$package=ALL-UNNAMED")
done

# cassandra VERSION [DIRECTORY]: fetches the jars into the directory, default $work/jars-RELEASE.
cassandra() { one_at_a_time cassandra_jars "$1" "${2:-$work/jars-${1%.*}}"; }
cassandra_jars() {
  local version=$1 jars=$2
  [ ! -e "$jars/cassandra-all-$version.jar" ] || return 0
  rm -rf "$jars"
  mvn -q -B -f "$(dirname "${BASH_SOURCE[0]}")/pom.xml" -Dcassandra.version="$version" \
    org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies -DoutputDirectory="$jars"
}
