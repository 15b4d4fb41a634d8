//! Finds the reasons why `serve` would not start. The search neither starts the service nor changes anything.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::fs::{Access, access};

use super::Args;
use crate::cli::database_server::not_supported;
use crate::cli::finding::Finding;
use crate::store::is_server;
use crate::store::{self, file::parent};
use crate::world::World;

/// The permissions to run a file.
const EXECUTE: u32 = 0o111;

impl Args {
    /// Returns a finding for each option that lacks another option, or that another option excludes.
    pub(in crate::cli) fn contradictions(&self) -> Vec<Finding> {
        let has_tls = self.tls.is_set();
        let is_redirecting = self.redirect_from.is_some();
        let redirects = (is_redirecting && !has_tls).then(|| Finding {
            option: "redirect-from",
            sentence: "--redirect-from needs --tls-cert or --acme-domain, neither of which is set".to_owned(),
        });
        let base_url = self.tls.flaw_of_base_url(self.base_url.as_deref());
        let base_url = base_url.map(|sentence| Finding { option: "base-url", sentence });
        let tls = self.tls.contradictions(self.base_url.as_deref(), is_redirecting).into_iter();
        let of_server = self.server_contradictions();
        tls.chain(base_url).chain(redirects).chain(self.backups.contradiction()).chain(of_server).collect()
    }

    /// Returns a finding for each option that needs a file, if the data is on a PostgreSQL server. A build without
    /// PostgreSQL cannot use such a server at all.
    fn server_contradictions(&self) -> Vec<Finding> {
        if !is_server(&self.path()) {
            return Vec::new();
        }
        if cfg!(not(feature = "postgres")) {
            return vec![Finding { option: "db", sentence: not_supported(&self.path()) }];
        }
        let options = [
            ("demo", self.demo, "choose a file for the sample company"),
            ("acme-domain", self.tls.acme.is_set(), "order the certificate with another program, and pass --tls-cert"),
            ("backup-dir", self.backups.directory().is_some(), "make backups with the tools of PostgreSQL"),
        ];
        let finding = |option, instead| Finding {
            option,
            sentence: format!("--{option} needs a file for --db, but --db names a PostgreSQL server; {instead}"),
        };
        options.into_iter().filter(|(_, is_set, _)| *is_set).map(|(option, _, why)| finding(option, why)).collect()
    }

    /// Returns the reasons why the service would not start, apart from [`Args::contradictions`], in the order of the
    /// options. Does not check whether the ports are free.
    pub(in crate::cli) fn findings(&self, world: &dyn World) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut find = |option, sentence: Option<String>| {
            findings.extend(sentence.map(|sentence| Finding { option, sentence }));
        };
        find("db", flaw_of_database(&self.path()));
        find("tls-cert", self.tls.flaw_of_files(world));
        find("acme-domain", self.tls.acme.flaw_of_folder(&self.path()));
        find("acme-ca-file", self.tls.acme.flaw_of_trust());
        find(
            "redirect-from",
            self.redirect_from.and_then(|address| same(address, "redirect-from", self.listen, "listen")),
        );
        find("backup-dir", self.backups.directory().and_then(flaw_of_backup_directory));
        find("backup-hook", self.backups.hook().and_then(flaw_of_hook));
        find(
            "metrics-listen",
            self.metrics_listen.and_then(|metrics| {
                let redirects =
                    self.redirect_from.and_then(|from| same(metrics, "metrics-listen", from, "redirect-from"));
                same(metrics, "metrics-listen", self.listen, "listen").or(redirects)
            }),
        );
        findings
    }
}

/// Returns the reason why the service could not use its database. If the database is on a PostgreSQL server, connects
/// to the server. In a build without PostgreSQL, [`Args::contradictions`] already reports the URL of such a server.
fn flaw_of_database(db: &Path) -> Option<String> {
    if !is_server(db) {
        return flaw_of_file(db);
    }
    let can_connect = cfg!(feature = "postgres");
    can_connect.then(|| store::file::require_servable(db).err()).flatten().map(|error| error.to_string())
}

/// Returns the reason why the service could neither open nor create its file.
fn flaw_of_file(path: &Path) -> Option<String> {
    if path.exists() {
        return store::file::require_servable(path).err().map(|error| error.to_string());
    }
    let why = flaw_of_directory(parent(path))?;
    Some(format!("{} does not exist and cannot be created: {why}", path.display()))
}

fn flaw_of_backup_directory(path: &Path) -> Option<String> {
    if path.exists() {
        return flaw_of_directory(path).map(|why| format!("backups cannot be made: {why}"));
    }
    let why = flaw_of_directory(parent(path))?;
    Some(format!("the backup directory {} does not exist and cannot be created: {why}", path.display()))
}

fn flaw_of_directory(path: &Path) -> Option<String> {
    let shown = path.display();
    match fs::metadata(path) {
        Err(error) => Some(format!("the directory {shown} cannot be used: {error}")),
        Ok(metadata) if !metadata.is_dir() => Some(format!("{shown} is not a directory")),
        Ok(_) => access(path, Access::WRITE_OK | Access::EXEC_OK)
            .err()
            .map(|error| format!("this user cannot write to the directory {shown}: {error}")),
    }
}

/// Returns the reason why the service could not run the backup hook. Does not check a name without a slash: the service
/// searches its PATH for the name, and this command does not know that PATH.
fn flaw_of_hook(path: &Path) -> Option<String> {
    if path.components().count() == 1 && !path.is_absolute() {
        return None;
    }
    let shown = path.display();
    match fs::metadata(path) {
        Err(error) => Some(format!("the backup hook {shown} cannot be used: {error}")),
        Ok(metadata) if !metadata.is_file() => Some(format!("the backup hook {shown} is not a file; name a program")),
        Ok(metadata) if metadata.permissions().mode() & EXECUTE != 0 => None,
        Ok(_) => Some(format!("the backup hook {shown} is not executable; make it executable with: chmod +x {shown}")),
    }
}

/// Returns a sentence if two options have the same address. Port 0 selects a different port for each.
fn same(address: SocketAddr, option: &str, other: SocketAddr, other_option: &str) -> Option<String> {
    let is_same = address == other && address.port() != 0;
    is_same.then(|| format!("--{option} and --{other_option} are both {address}; each needs its own port"))
}
