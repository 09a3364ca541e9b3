pub mod cassandra;
