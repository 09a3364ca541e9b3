/** The table that a statement alters, and the rate that it sets. */
record Altered(String keyspace, String table, String rate) {}
