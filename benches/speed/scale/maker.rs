//! Creates a file with SQL, because an import would take hours.

use std::path::Path;

use appliance::domain::search;
use rusqlite::{Connection, Statement};
use serde_json::json;

use super::crowd;
use super::data::{self, ADMIN, KEYS, MADE_AT, Size};
use super::progress::Progress;
use super::usage::fill_usage;
use crate::company::{self, ORG_ROLES, PORTAL_ROLES};
use crate::template::run;

/// The version of the created file. Increase it with every change that affects the file.
pub(crate) const VERSION: usize = 2;

/// Durability is off, because the next run replaces an incomplete file.
const PRAGMAS: &str = "PRAGMA journal_mode = OFF;
    PRAGMA synchronous = OFF;
    PRAGMA foreign_keys = OFF;
    PRAGMA cache_size = -262144;
    PRAGMA temp_store = MEMORY;";

/// Creates a file with a command of the service, and fills it.
pub(crate) fn make(db: &Path, size: &Size) {
    let path = db.to_str().unwrap();
    run(&["bootstrap-admin", "--db", path, "--email", "first@appliance.example"]);
    let connection = Connection::open(db).unwrap();
    connection.execute_batch(PRAGMAS).unwrap();
    for fill in [people, organizations, memberships, applications, crowd::fill, fill_usage, statuses] {
        connection.execute_batch("BEGIN").unwrap();
        fill(&connection, size);
        connection.execute_batch("COMMIT").unwrap();
    }
    connection.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    connection.close().unwrap();
    eprintln!("  checking the file");
    run(&["check", "--db", path]);
}

/// Creates users with one key each. The last user is an admin.
fn people(connection: &Connection, _: &Size) {
    let sql = "INSERT INTO users (id, email, email_key, name, platform_role, enabled, created_at, updated_at)
               VALUES ($1, $2, $2, 'Kim Member', $3, 1, $4, $4)";
    let mut user = connection.prepare(sql).unwrap();
    let sql = "INSERT INTO api_keys (number, id, digest, user_id, name, start, scopes, enabled, created_at, updated_at)
               VALUES ($1, $2, $3, $4, 'scale', $5, 'candidates:read roles:read pipeline:write', 1, $6, $6)";
    let mut key = connection.prepare(sql).unwrap();
    for nth in 0..=KEYS {
        let id = company::user_id(nth);
        let platform_role = if nth == ADMIN { "admin" } else { "user" };
        user.execute((&id, format!("member{nth}@staff.example"), platform_role, MADE_AT)).unwrap();
        let secret = data::secret(nth);
        let (digest, start) = (secret.digest(), secret.start());
        key.execute((data::key_number(nth), data::key_id(nth), digest.as_slice(), id, start, MADE_AT)).unwrap();
    }
}

fn organizations(connection: &Connection, size: &Size) {
    let sql = "INSERT INTO organizations (id, slug, slug_key, name, domain, logo, portal_enabled, portal_theme,
                 require_external_position_id, enabled, time_zone, pay_transparency, privacy_notice, require_second_factor,
                 created_at, updated_at)
               VALUES ($1, $2, $2, $3, $4, $5, 1, $6, 0, 1, 'UTC', 0, '', 0, $7, $7)";
    let mut insert = connection.prepare(sql).unwrap();
    let theme = json!({ "primaryColor": "#0f766e", "showSalary": true }).to_string();
    let large = usize::from(size.large_portal_roles > 0);
    for organization in 0..size.organizations + large {
        let id = company::organization_id(organization);
        let slug = company::slug(organization);
        let domain = format!("{slug}.example");
        let logo = format!("https://{domain}/logo.svg");
        let name = format!("Company {organization:03} Ltd");
        insert.execute((id, slug, name, domain, logo, &theme, MADE_AT)).unwrap();
        let roles = if organization == size.large() { size.large_portal_roles } else { PORTAL_ROLES };
        (0..roles).for_each(|nth| portal_role(connection, organization, nth));
        if organization != size.large() {
            decided_role(connection, organization, size);
        }
    }
}

/// Creates a portal role like those in the interchange documents of [`company`], with another id and time.
fn portal_role(connection: &Connection, organization: usize, nth: usize) {
    let sql = "INSERT INTO roles (id, organization_id, name, description, department, location, work_type, collar_type,
                 salary_min, salary_max, salary_currency, salary_period, status, public, positions, hired, created_at,
                 updated_at, shown_since)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'open', 1, 2, 0, $13, $13, $13)";
    let role = company::portal_role(organization, nth % PORTAL_ROLES);
    let text = |member: &str| role[member].as_str().map(str::to_owned);
    let row = (
        data::role_id(organization, nth),
        company::organization_id(organization),
        text("name"),
        role["description"].to_string(),
        text("department"),
        text("location"),
        text("workType"),
        text("collarType"),
        role["salaryMin"].as_f64(),
        role["salaryMax"].as_f64(),
        text("salaryCurrency"),
        text("salaryPeriod"),
        MADE_AT + nth as i64 * 1_000_000,
    );
    connection.prepare_cached(sql).unwrap().execute(row).unwrap();
}

/// Creates an open role that is not on the portal, with two steps and more positions than applications.
fn decided_role(connection: &Connection, organization: usize, size: &Size) {
    let sql = "INSERT INTO roles (id, organization_id, name, description, department, location, status, public,
                 positions, hired, created_at, updated_at, shown_since)
               VALUES ($1, $2, 'Apprentice', '{}', '', '', 'open', 0, $3, 0, $4, $4, $4)";
    let role = data::decided_role_id(organization);
    let positions = size.applications_of_one() + 1;
    let row = (&role, company::organization_id(organization), positions as i64, MADE_AT);
    connection.prepare_cached(sql).unwrap().execute(row).unwrap();
    let sql = "INSERT INTO role_steps (id, role_id, name, step_order, step_type) VALUES ($1, $2, $3, $4, $5)";
    for (order, name, step_type) in STEPS {
        let row = (data::role_step_id(organization, order), &role, name, order as i64, step_type);
        connection.prepare_cached(sql).unwrap().execute(row).unwrap();
    }
}

const STEPS: [(usize, &str, &str); 2] = [(1, "Application", "application"), (2, "Interview", "interview")];

fn memberships(connection: &Connection, size: &Size) {
    let sql = "INSERT INTO memberships (user_id, organization_id, org_role, created_at) VALUES ($1, $2, $3, $4)";
    let mut insert = connection.prepare(sql).unwrap();
    for user in 0..KEYS {
        let organization = company::organization_id(size.organization_of_user(user));
        insert.execute((company::user_id(user), organization, ORG_ROLES[user % ORG_ROLES.len()], MADE_AT)).unwrap();
    }
}

/// Creates candidates with one application each, at the last step.
fn applications(connection: &Connection, size: &Size) {
    let prepare = |sql| connection.prepare(sql).unwrap();
    let mut candidate = prepare(
        "INSERT INTO candidates (number, id, organization_id, name, email, email_key, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $5, $6, $6)",
    );
    let mut words = Words::of(connection);
    let mut application = prepare(
        "INSERT INTO candidate_roles (id, organization_id, candidate_id, candidate_number, role_id, status,
           at_role_step_id, at_since, applied_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, 'In Progress', $6, $7, $7, $7)",
    );
    let mut step = prepare(
        "INSERT INTO candidate_role_steps (id, candidate_role_id, role_step_id, name, step_order, step_type, status,
           validated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    );
    let mut progress = Progress::of("candidates with an application", size.applications);
    for nth in 0..size.applications {
        let of = size.organization_of(nth);
        let (organization, role) = (company::organization_id(of), data::decided_role_id(of));
        let (person, id) = (company::candidate_id(nth), company::application_id(nth));
        let (number, name, email) = (nth as i64 + 1, "Jo Candidate", format!("candidate{nth}@people.example"));
        candidate.execute((number, &person, &organization, name, &email, MADE_AT)).unwrap();
        words.add(&organization, number, name, &email);
        let here = data::role_step_id(of, STEPS.len());
        application.execute((&id, &organization, &person, number, &role, here, MADE_AT)).unwrap();
        for (order, name, step_type) in STEPS {
            let (status, at) = if order == 1 { ("validated", Some(MADE_AT)) } else { ("in_progress", None) };
            let role_step = data::role_step_id(of, order);
            let row = (company::step_id(nth, order), &id, role_step, name, order as i64, step_type, status, at);
            step.execute(row).unwrap();
        }
        progress.one();
    }
}

/// The statement that fills the search index of candidates.
pub(super) struct Words<'a>(Statement<'a>);

impl<'a> Words<'a> {
    pub(super) fn of(connection: &'a Connection) -> Self {
        let sql = "INSERT INTO candidate_words (organization_id, word, candidate_number, in_name, block)
                   VALUES ($1, $2, $3, $4, $3 / 1024)";
        Self(connection.prepare(sql).unwrap())
    }

    /// Adds the words of a name and an address, as the service indexes them.
    pub(super) fn add(&mut self, organization: &str, number: i64, name: &str, email: &str) {
        for (word, in_name) in search::candidate_words(name, email) {
            self.0.execute((organization, word, number, in_name)).unwrap();
        }
    }
}

/// Creates the stored status counts. Every role is open. `check` verifies the counts.
fn statuses(connection: &Connection, _: &Size) {
    let sql = "INSERT INTO organization_statuses
                 (organization_id, open_roles, open_positions, in_progress, hired, not_selected, withdrawn)
               SELECT o.id,
                 (SELECT count(*) FROM roles r WHERE r.organization_id = o.id),
                 (SELECT sum(r.positions - r.hired) FROM roles r WHERE r.organization_id = o.id),
                 count(*) FILTER (WHERE a.status = 'In Progress'), count(*) FILTER (WHERE a.status = 'Hired'),
                 count(*) FILTER (WHERE a.status = 'Not Selected'), count(*) FILTER (WHERE a.status = 'Withdrawn')
               FROM organizations o
               LEFT JOIN candidate_roles a ON a.organization_id = o.id
               GROUP BY o.id";
    connection.execute(sql, []).unwrap();
}
