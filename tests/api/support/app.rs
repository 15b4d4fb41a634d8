//! A real server on a free port, with its own database and a scripted world.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use appliance::domain::api_key::Scope;
use appliance::domain::backup::Keep;
use appliance::domain::disk::{DiskSpace, UploadLimits};
use appliance::domain::hr_delivery::RetrySchedule;
use appliance::domain::rate::RatePolicy;
use appliance::domain::text::Email;
use appliance::domain::timestamp::{Rounding, Timestamp};
use appliance::hr;
use appliance::http::server::ctx::{Ctx, Settings};
use appliance::http::{Server, Stopped, origin};
use appliance::store::{self, Store, backup, is_server};
use appliance::telemetry::{LogFormat, Telemetry};
use appliance::world::{Scripted, World};
use serde_json::json;

use super::client::Client;
use super::database;
use super::hiring::Hiring;

/// The time at which every scripted clock starts.
pub(crate) const BEGINNING: &str = "2026-11-21T09:00:00Z";

/// The settings of a test's service.
#[derive(Clone)]
pub(crate) struct Options {
    /// The base URL, or `None` to use the bound address.
    pub(crate) base_url: Option<String>,
    /// The maximum number of requests a minute with one API key or in all sessions of one user; `None` means no limit.
    pub(crate) per_minute: Option<u32>,
    /// The maximum number of signups an hour from one client address; `None` means no limit.
    pub(crate) signups_per_hour: Option<u32>,
    /// The limits on uploads.
    pub(crate) uploads: UploadLimits,
    /// The networks of trusted proxies.
    pub(crate) trusted_proxies: Vec<&'static str>,
    /// Whether users who must have a second factor need it to use the console. Most tests sign in with a password
    /// alone.
    pub(crate) requires_second_factors: bool,
    /// Contacts for security reports.
    pub(crate) security_contacts: Vec<&'static str>,
    /// The settings of deliveries to HR systems. `None` means that the service sends no deliveries.
    pub(crate) hr: Option<Hr>,
    /// The settings of scheduled backups. `None` means that the service makes no backups.
    pub(crate) backups: Option<backup::Settings>,
}

/// The delivery settings of a test's service.
#[derive(Clone)]
pub(crate) struct Hr {
    pub(crate) network: Arc<dyn hr::DeliveryNetwork>,
    pub(crate) schedule: &'static str,
    pub(crate) timeout: Duration,
    pub(crate) allow_private: bool,
}

impl Default for Hr {
    /// Returns settings that use the documented schedule and allow receivers on this machine.
    fn default() -> Self {
        let schedule = "5s,5m,30m,2h,5h,10h,14h,20h,24h";
        Self { network: Arc::new(hr::SystemNetwork), schedule, timeout: Duration::from_secs(15), allow_private: true }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            base_url: None,
            per_minute: Some(1_000_000),
            signups_per_hour: None,
            uploads: UploadLimits::default(),
            trusted_proxies: Vec::new(),
            requires_second_factors: false,
            security_contacts: vec!["mailto:security@example.com"],
            hr: None,
            backups: None,
        }
    }
}

/// The statement with which [`App::sql`] creates the temporary view `activities`.
const VIEW: &str = "CREATE TEMP VIEW activities AS
                    SELECT row_number() OVER (ORDER BY number) AS number, id, organization_id, at, action, user_id,
                      api_key_id, role_id, candidate_id, candidate_role_id, candidate_role_step_id, detail, salt,
                      detail_hash, hash
                    FROM main.activities
                    WHERE organization_id IS NOT NULL";

/// A running service.
pub(crate) struct App {
    pub(crate) address: SocketAddr,
    pub(crate) world: Arc<Scripted>,
    pub(crate) path: PathBuf,
    options: Options,
    admin_secret: String,
    running: RefCell<Option<Running>>,
    organizations: AtomicUsize,
    _dir: tempfile::TempDir,
}

struct Running {
    stop: tokio::sync::oneshot::Sender<()>,
    thread: JoinHandle<Stopped>,
}

impl App {
    /// Starts a service with an admin and nothing else in its database.
    pub(crate) fn start() -> Self {
        Self::with(Options::default())
    }

    /// Starts a service with these settings, and with an admin and nothing else in its database.
    pub(crate) fn with(options: Options) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let beginning = Timestamp::parse(BEGINNING, Rounding::Down).unwrap();
        let world = Arc::new(Scripted::at(beginning));
        let (path, admin_secret) = database::create(dir.path());
        let (address, running) = run(&path, &world, &options, "127.0.0.1:0".parse().unwrap());
        Self {
            address,
            world,
            path,
            options,
            admin_secret,
            running: RefCell::new(Some(running)),
            organizations: AtomicUsize::new(0),
            _dir: dir,
        }
    }

    /// Returns a client without a credential.
    pub(crate) fn anonymous(&self) -> Client {
        Client::new(self.address)
    }

    /// Returns a client with this API key.
    pub(crate) fn key(&self, secret: &str) -> Client {
        Client::new(self.address).with_header("Authorization", &format!("Bearer {secret}"))
    }

    /// Returns a client of the platform admin.
    pub(crate) fn admin(&self) -> Client {
        self.key(&self.admin_secret)
    }

    /// Returns the secret of the platform admin's key.
    pub(crate) fn admin_secret(&self) -> &str {
        &self.admin_secret
    }

    /// As the admin, creates a key for this user, and returns the key's id and secret.
    pub(crate) fn make_key(&self, user_id: &str) -> (String, String) {
        self.make_key_with(&json!({ "name": "test", "userId": user_id }))
    }

    /// As the admin, creates a key with this request body, and returns the key's id and secret.
    pub(crate) fn make_key_with(&self, body: &serde_json::Value) -> (String, String) {
        let answer = self.admin().post("/api/admin/api-keys", body).expect(200);
        let data = &answer.json()["data"];
        (data["id"].as_str().unwrap().to_owned(), data["key"].as_str().unwrap().to_owned())
    }

    /// Returns a client with a new key of this user.
    pub(crate) fn user(&self, user_id: &str) -> Client {
        self.key(&self.make_key(user_id).1)
    }

    /// As the admin, creates a key with every scope for this user, and returns the key's id and secret.
    pub(crate) fn make_key_with_all(&self, user_id: &str) -> (String, String) {
        let scopes: Vec<&str> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
        self.make_key_with(&json!({ "name": "test", "userId": user_id, "scopes": scopes }))
    }

    /// Returns a client with a new key that acts as this user and has every scope.
    pub(crate) fn user_with_all(&self, user_id: &str) -> Client {
        self.key(&self.make_key_with_all(user_id).1)
    }

    /// Imports a new organization that hires: a user for each organization role, an open public role with four steps,
    /// and three candidates.
    pub(crate) fn hiring(&self) -> Hiring {
        self.hiring_with(|_| {})
    }

    /// Imports a new organization like [`App::hiring`], but from an interchange document that `change` has modified.
    pub(crate) fn hiring_with(&self, change: impl FnOnce(&mut serde_json::Value)) -> Hiring {
        let number = self.organizations.fetch_add(1, Ordering::Relaxed) + 1;
        let (mut document, hiring) = super::hiring::document(number);
        change(&mut document);
        self.import(&document);
        hiring
    }

    /// Imports an interchange document as another process would.
    pub(crate) fn import(&self, document: &serde_json::Value) {
        super::hiring::import(&self.path, self.world.as_ref(), document);
    }

    /// Sets a user's password as the command line would.
    pub(crate) fn set_password(&self, email: &str, password: &str) {
        let world: &dyn World = self.world.as_ref();
        let hash = world.hash_password(password);
        let email = Email::parse_stored(email).unwrap();
        let set = store::act_alone(&self.path, world, |tx| store::user::set_password(tx, &email, &hash)).unwrap();
        assert!(set, "there is no user {email:?}");
    }

    /// Signs in with this address and password, and returns a client with the session.
    pub(crate) fn sign_in(&self, email: &str, password: &str) -> Client {
        let body = json!({ "email": email, "password": password });
        let answer = self.anonymous().post("/api/auth/sign-in", &body).expect(200);
        let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        Client::new(self.address).with_header("Cookie", &cookie)
    }

    /// Advances the wall clock and the monotonic clock by this many seconds.
    pub(crate) fn pass(&self, seconds: u64) {
        self.world.pass(Duration::from_secs(seconds));
    }

    /// Sets the disk space that the service sees.
    pub(crate) fn set_disk(&self, free_bytes: u64, total_bytes: u64) {
        self.world.set_disk(Some(DiskSpace { free_bytes, total_bytes }));
    }

    /// Sets the wall clock to this time.
    pub(crate) fn set_clock(&self, text: &str) {
        self.world.set(Timestamp::parse(text, Rounding::Down).unwrap());
    }

    /// Returns the findings of `check`. An empty list means that the database is sound.
    pub(crate) fn check(&self) -> Vec<String> {
        store::check::check(&self.path, |_| {}).unwrap()
    }

    /// Returns the rows of a query on the database, as text. In the query, `activities` has only the rows of
    /// organizations, numbered from 1, because creating a test's key writes platform activity. `main.activities` has
    /// all rows.
    pub(crate) fn sql(&self, sql: &str) -> Vec<String> {
        if is_server(&self.path) {
            return database::run(&self.path, &format!("{VIEW};\n{sql}"));
        }
        let connection = rusqlite::Connection::open(&self.path).unwrap();
        connection.execute_batch(VIEW).unwrap();
        let mut statement = connection.prepare(sql).unwrap();
        let columns = statement.column_count();
        let rows = statement.query_map([], |row| {
            let cells: Vec<String> = (0..columns)
                .map(|column| match row.get_ref(column).unwrap() {
                    rusqlite::types::ValueRef::Null => "null".to_owned(),
                    rusqlite::types::ValueRef::Integer(number) => number.to_string(),
                    rusqlite::types::ValueRef::Real(number) => number.to_string(),
                    rusqlite::types::ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
                    rusqlite::types::ValueRef::Blob(bytes) => format!("{bytes:?}"),
                })
                .collect();
            Ok(cells.join("|"))
        });
        rows.unwrap().map(Result::unwrap).collect()
    }

    /// Changes the database with SQL, as another process would.
    pub(crate) fn change(&self, sql: &str) {
        if is_server(&self.path) {
            database::change(&self.path, sql);
            return;
        }
        let connection = rusqlite::Connection::open(&self.path).unwrap();
        connection.busy_timeout(Duration::from_secs(60)).unwrap();
        connection.execute_batch(sql).unwrap();
    }

    /// Stops the service gracefully and returns the outcome.
    pub(crate) fn stop(&self) -> Stopped {
        let running = self.running.borrow_mut().take().expect("the service is running");
        stop(running)
    }

    /// Starts the service again on the same database and address.
    pub(crate) fn start_again(&self) {
        let (_, running) = run(&self.path, &self.world, &self.options, self.address);
        *self.running.borrow_mut() = Some(running);
    }

    /// Restarts the service, and then overwrites with garbage every page of the file except the first two.
    pub(crate) fn restart_damaged(&self) {
        self.stop();
        self.start_again();
        let length = std::fs::metadata(&self.path).unwrap().len();
        let file = std::fs::OpenOptions::new().write(true).open(&self.path).unwrap();
        let garbage = vec![0xa5; usize::try_from(length).unwrap() - 8_192];
        std::os::unix::fs::FileExt::write_all_at(&file, &garbage, 8_192).unwrap();
        // Closing the file would drop SQLite's locks on it in this process.
        std::mem::forget(file);
    }
}

impl Drop for App {
    fn drop(&mut self) {
        if let Some(running) = self.running.borrow_mut().take() {
            stop(running);
        }
        database::remove(&self.path);
    }
}

fn stop(running: Running) -> Stopped {
    let Running { stop, thread } = running;
    let _ = stop.send(());
    thread.join().unwrap()
}

fn run(path: &Path, world: &Arc<Scripted>, options: &Options, address: SocketAddr) -> (SocketAddr, Running) {
    let listener = std::net::TcpListener::bind(address).unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let base_url = options.base_url.clone().unwrap_or_else(|| format!("http://{address}"));
    let settings = Settings {
        origin: origin(&base_url).unwrap(),
        base_url,
        rate: options.per_minute.map(|per_minute| RatePolicy { per_minute }),
        signups_per_hour: options.signups_per_hour,
        uploads: options.uploads,
        trusted_proxies: options.trusted_proxies.iter().map(|network| network.parse().unwrap()).collect(),
        requires_second_factors: options.requires_second_factors,
        security_contacts: options.security_contacts.iter().map(|contact| (*contact).to_owned()).collect(),
    };
    let store = Store::open(path, Arc::clone(world) as Arc<dyn World>).unwrap();
    if let Some(backups) = options.backups.clone() {
        store.backups().schedule(backups);
    }
    let world = Arc::clone(world) as Arc<dyn World>;
    let ctx = Arc::new(Ctx::new(Arc::new(store), world, settings, Arc::new(Telemetry::new(LogFormat::Off))));
    let worker = options.hr.as_ref().map(|hr| deliver(&ctx, hr));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(8)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let shutdown = async {
                let _ = stopped.await;
            };
            let background = async {
                if let Some(worker) = worker {
                    worker.stop().await;
                }
            };
            Server::new(listener, ctx, appliance::http::routes::table()).run(shutdown, background).await
        })
    });
    (address, Running { stop, thread })
}

fn deliver(ctx: &Ctx, options: &Hr) -> hr::Worker {
    let (store, world, telemetry) = (Arc::clone(&ctx.store), Arc::clone(&ctx.world), Arc::clone(&ctx.telemetry));
    let settings = hr::Settings {
        schedule: RetrySchedule::parse(options.schedule).unwrap(),
        timeout: options.timeout,
        allow_private_targets: options.allow_private,
    };
    hr::Worker::start(store, world, telemetry, Arc::clone(&options.network), settings).unwrap()
}

/// Returns the settings of daily backups to a subdirectory of `dir`. The hook creates the file `made` in `dir`.
pub(crate) fn daily_backups(dir: &tempfile::TempDir, directory: &str) -> backup::Settings {
    let hook = dir.path().join("hook");
    std::fs::write(&hook, "#!/bin/sh\ntouch \"${0%/*}/made\"\n").unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    backup::Settings {
        directory: dir.path().join(directory),
        every: Duration::from_secs(86_400),
        keep: Keep::Newest(7),
        hook: Some(hook),
        room: UploadLimits::default(),
    }
}

/// Waits until the hook of [`daily_backups`] has run.
pub(crate) fn wait_for_backup(dir: &tempfile::TempDir) {
    let began = std::time::Instant::now();
    while !dir.path().join("made").exists() {
        assert!(began.elapsed().as_secs() < 120, "no backup was made");
        std::thread::yield_now();
    }
}
