//! Collects the answers of `appliance init` from flags and, on a terminal, from questions.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::args::{Args, NO_BACKUPS, Portal, Tls, parse_every, parse_keep};
use super::question::{ask, can_ask};
use crate::cli::acme_args;
use crate::cli::failure::{EXIT_USAGE, Failure};
use crate::cli::output::print_message;
use crate::cli::tls_args::is_https;
use crate::cli::value::{parse_base_url, parse_name, parse_new_email, parse_slug};
use crate::domain::acme::Domain;
use crate::domain::text::{Email, Slug};
use crate::hr::trusting_config_of;
use crate::http::{self, TlsFiles};
use crate::world::World;

const EVERY_DEFAULT: &str = "24h";
const KEEP_DEFAULT: &str = "daily=7,weekly=4,monthly=6";

/// Everything that a setup needs.
pub(super) struct Answers {
    /// An absolute path.
    pub(super) db: PathBuf,
    pub(super) organization: String,
    pub(super) slug: Slug,
    pub(super) has_portal: bool,
    pub(super) email: Email,
    pub(super) name: String,
    pub(super) base_url: String,
    pub(super) tls: TlsAnswer,
    pub(super) backups: Option<Backups>,
}

pub(super) enum TlsAnswer {
    /// The base URL is http, so only this machine reaches the service.
    Plain,
    Proxy,
    Files(TlsFiles),
    Acme(AcmeAnswer),
}

/// The settings with which the service orders its certificate.
pub(super) struct AcmeAnswer {
    pub(super) domain: Domain,
    pub(super) contact: Email,
    pub(super) directory: Option<String>,
    pub(super) ca_file: Option<PathBuf>,
}

pub(super) struct Backups {
    pub(super) directory: PathBuf,
    pub(super) every: String,
    pub(super) keep: String,
}

impl Answers {
    /// # Errors
    /// Exit status 2 if an option is missing and nobody can be asked, or if options contradict each other. Exit status
    /// 1 at the end of input, or if the terminal, a path, the certificate, its key or the file of `--acme-ca-file`
    /// cannot be used.
    pub(super) fn collect(args: &Args, world: &dyn World) -> Result<Self, Failure> {
        let asks = can_ask();
        if !asks {
            refuse_missing(args)?;
        }
        let answer = Source { asks };
        let organization =
            answer.given_or_ask(args.organization_name.as_ref(), "Name of the organization", None, parse_name)?;
        let slug = slug_of(&organization);
        let slug =
            answer.given_or_ask(args.slug.as_ref(), "Slug, for the portal's address", slug.as_deref(), parse_slug)?;
        let portal = "Public career portal, on or off";
        let portal = answer.given_or_ask(args.portal.as_ref(), portal, Some("on"), parse_choice::<Portal>)?;
        let email = answer.given_or_ask(args.email.as_ref(), "Email address of the admin", None, parse_new_email)?;
        let default = email.as_str().split('@').next();
        let name = answer.given_or_ask(args.name.as_ref(), "Name of the admin", default, parse_name)?;
        let question = "Public URL, such as https://jobs.example.com";
        let base_url = answer.given_or_ask(args.base_url.as_ref(), question, None, parse_base_url)?;
        let tls = tls(args, &answer, &base_url, &email, world)?;
        let db = absolute(&args.db)?;
        let backups = backups(args, &answer, &db)?;
        let has_portal = portal == Portal::On;
        Ok(Self { db, organization, slug, has_portal, email, name, base_url, tls, backups })
    }
}

/// The source of the answers: options and, if somebody can be asked, questions.
struct Source {
    /// Whether the command asks for answers that the options do not give.
    asks: bool,
}

impl Source {
    /// Returns the value of the option, the answer to the question or, if nobody can be asked, the default.
    fn given_or_ask<T: Clone>(
        &self,
        given: Option<&T>,
        question: &str,
        default: Option<&str>,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, Failure> {
        match given {
            Some(given) => Ok(given.clone()),
            None if self.asks => ask(question, default, parse),
            None => parse(default.unwrap_or_default()).map_err(|why| misused(&why)),
        }
    }
}

/// # Errors
/// Exit status 2 if an option without a default is not given. The message names all such options.
fn refuse_missing(args: &Args) -> Result<(), Failure> {
    let has_slug = args.slug.is_some() || args.organization_name.as_deref().is_none_or(|name| slug_of(name).is_some());
    let needs_tls = args.tls.is_none() && args.base_url.as_deref().is_some_and(is_https);
    let needs_files = args.tls == Some(Tls::Files);
    let missing: Vec<&str> = [
        ("--organization-name", args.organization_name.is_none()),
        ("--slug", !has_slug),
        ("--email", args.email.is_none()),
        ("--base-url", args.base_url.is_none()),
        ("--tls", needs_tls),
        ("--tls-cert", needs_files && args.tls_cert.is_none()),
        ("--tls-key", needs_files && args.tls_key.is_none()),
    ]
    .into_iter()
    .filter_map(|(flag, is_missing)| is_missing.then_some(flag))
    .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(misused(&format!(
        "without a terminal, the command cannot ask questions, so these options are required: {}",
        missing.join(", ")
    )))
}

fn tls(args: &Args, answer: &Source, base_url: &str, email: &Email, world: &dyn World) -> Result<TlsAnswer, Failure> {
    if !is_https(base_url) {
        return match args.tls {
            Some(kind @ (Tls::Files | Tls::Acme)) => {
                let kind = if kind == Tls::Files { "files" } else { "acme" };
                Err(misused(&format!("--tls {kind} needs an https URL, but --base-url is {base_url}")))
            }
            _ if !is_here(base_url) => Err(misused(&format!(
                "candidates and staff need an https URL, but --base-url is {base_url}; an http URL must point to this \
                 machine, for example http://127.0.0.1:8080"
            ))),
            Some(Tls::Proxy) | None => Ok(TlsAnswer::Plain),
        };
    }
    let question = match acme_args::MISSING {
        None => {
            "TLS: acme (a certificate from Let's Encrypt; you agree to its terms of service at \
             https://letsencrypt.org/repository/), proxy (a proxy on this machine) or files (a certificate and its key)"
        }
        Some(_) => "TLS: proxy (a proxy on this machine) or files (a certificate and its key)",
    };
    let has_acme = args.acme_contact.is_some() || args.acme_directory.is_some() || args.acme_ca_file.is_some();
    match answer.given_or_ask(args.tls.as_ref(), question, Some("proxy"), parse_tls)? {
        Tls::Proxy | Tls::Acme if args.tls_cert.is_some() || args.tls_key.is_some() => {
            Err(misused("--tls-cert and --tls-key need --tls files"))
        }
        Tls::Proxy | Tls::Files if has_acme => {
            Err(misused("--acme-contact, --acme-directory and --acme-ca-file need --tls acme"))
        }
        Tls::Acme => acme(args, answer, base_url, email).map(TlsAnswer::Acme),
        Tls::Proxy => Ok(TlsAnswer::Proxy),
        Tls::Files => files(args, answer, world).map(TlsAnswer::Files),
    }
}

/// Parses one of the answers to a question that offers a choice.
fn parse_choice<T: ValueEnum>(text: &str) -> Result<T, String> {
    T::from_str(text, true).map_err(|_| {
        let answers = T::value_variants().iter().filter_map(T::to_possible_value);
        let names: Vec<String> = answers.map(|answer| answer.get_name().to_owned()).collect();
        format!("possible answers: {}", names.join(", "))
    })
}

/// Parses a value of `--tls`. Refuses a value that this build does not support.
fn parse_tls(text: &str) -> Result<Tls, String> {
    match (parse_choice(text)?, acme_args::MISSING) {
        (Tls::Acme, Some(why)) => Err(format!("{why}; answer proxy or files")),
        (kind, _) => Ok(kind),
    }
}

fn acme(args: &Args, answer: &Source, base_url: &str, email: &Email) -> Result<AcmeAnswer, Failure> {
    if let Some(why) = acme_args::MISSING {
        return Err(misused(&format!("--tls acme: {why}; use --tls proxy or --tls files")));
    }
    let host = http::host(base_url).unwrap_or_default();
    let domain = Domain::parse(&host).map_err(|why| {
        misused(&format!("--tls acme needs a public name, and the host of --base-url is {host}: {why}"))
    })?;
    let question = "Email address for the certificate authority";
    let contact = answer.given_or_ask(args.acme_contact.as_ref(), question, Some(email.as_str()), parse_new_email)?;
    let ca_file = args.acme_ca_file.as_deref().map(absolute).transpose()?;
    if let Some(path) = &ca_file {
        trusting_config_of(path).map_err(|why| Failure::new(format!("{why}; nothing was changed")))?;
    }
    Ok(AcmeAnswer { domain, contact, directory: args.acme_directory.clone(), ca_file })
}

/// Returns whether a base URL leads to the address on which a service without TLS listens.
fn is_here(base_url: &str) -> bool {
    matches!(http::host(base_url).as_deref(), Some("127.0.0.1" | "localhost"))
}

/// Asks for both files until they can be used together. If an option names either of them, or if nobody can be asked,
/// unusable files are an error.
fn files(args: &Args, answer: &Source, world: &dyn World) -> Result<TlsFiles, Failure> {
    loop {
        let certificate =
            answer.given_or_ask(args.tls_cert.as_ref(), "File of the certificate", None, existing_file)?;
        let key = answer.given_or_ask(args.tls_key.as_ref(), "File of its key", None, existing_file)?;
        let files = TlsFiles { certificate: absolute(&certificate)?, key: absolute(&key)? };
        match http::Tls::read(files.clone(), world.now()) {
            Ok(_) => return Ok(files),
            Err(why) if answer.asks && args.tls_cert.is_none() && args.tls_key.is_none() => {
                print_message(&format!("  {why}"));
            }
            Err(why) => return Err(Failure::new(format!("{why}; nothing was changed"))),
        }
    }
}

fn existing_file(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if path.is_file() { Ok(path) } else { Err(format!("there is no file {text:?}")) }
}

fn backups(args: &Args, answer: &Source, db: &Path) -> Result<Option<Backups>, Failure> {
    let default = db.parent().unwrap_or(Path::new("/")).join("backups");
    let default = default.to_string_lossy();
    let question = "Directory for backups, or none";
    let directory =
        answer.given_or_ask(args.backup_dir.as_ref(), question, Some(&default), |text| Ok(PathBuf::from(text)))?;
    if directory == Path::new(NO_BACKUPS) {
        return Ok(None);
    }
    let every = "Time between two backups";
    let every = answer.given_or_ask(args.backup_every.as_ref(), every, Some(EVERY_DEFAULT), parse_every)?;
    let keep = "Backups to keep";
    let keep = answer.given_or_ask(args.backup_keep.as_ref(), keep, Some(KEEP_DEFAULT), parse_keep)?;
    Ok(Some(Backups { directory: absolute(&directory)?, every, keep }))
}

/// Returns the slug that a name suggests: its ASCII letters and digits in lower case, with a dash for each gap. Returns
/// `None` if the result is not a slug, for example because the name has no such characters.
fn slug_of(name: &str) -> Option<String> {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let slug = words.collect::<Vec<_>>().join("-").to_ascii_lowercase();
    Slug::parse(&slug).map(|slug| slug.as_str().to_owned())
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| Failure::new(format!("{} cannot be used: {error}", path.display())))
}

fn misused(problem: &str) -> Failure {
    Failure { exit: EXIT_USAGE, message: format!("{problem}\nFor more information, try 'appliance init --help'.") }
}
