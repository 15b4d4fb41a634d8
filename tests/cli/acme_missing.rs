//! A build without the feature `acme`: `cargo test --no-default-features --test cli`.

use crate::support::WorkDir;

const SENTENCE: &str = "--acme-domain: this program was built without ACME";

#[test]
fn a_build_without_acme_refuses_to_order_a_certificate() {
    let dir = WorkDir::new();
    let flags = ["--acme-domain", "jobs.example.com", "--redirect-from", "127.0.0.1:0"];
    dir.run(&[&["serve", "--db", "a.db"], &flags[..]].concat()).misused(SENTENCE);
    dir.write("a.toml", "db = 'a.db'\nacme-domain = 'jobs.example.com'\nredirect-from = '127.0.0.1:0'\n");
    dir.run(&["serve", "--settings", "a.toml"]).failed(78, &format!("a.toml:2:1: {SENTENCE}"));
    assert_eq!(dir.names(), ["a.toml"]);
}
