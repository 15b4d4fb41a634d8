//! Tests of reading forms: what no client can send on time.
