//! The data of an organization that has half of the candidates of a file: steps, members, candidates and activity.

use appliance::domain::activity::{self, ChainLink, Subject};
use appliance::domain::id::{ActivityId, ApiKeyId, ApplicationId, CandidateId, Id, OrganizationId, RoleId, UserId};
use appliance::domain::timestamp::Timestamp;
use rusqlite::{Connection, Statement};
use serde_json::json;

use super::data::{self, ADMIN, MADE_AT, Size};
use super::maker::Words;
use super::progress::Progress;
use crate::company;
use crate::random::Random;

/// The steps of each role. Candidates who were not hired are distributed over them in turn.
const STEPS: [(usize, &str, &str); 4] =
    [(1, "Application", "application"), (2, "Call", "screening"), (3, "Interview", "interview"), (4, "Offer", "offer")];

/// First names. Names repeat often enough that each search for a name fills a page, even in the small file.
const FIRST_NAMES: [&str; 20] = [
    "Ada", "Björn", "Carla", "Dmitri", "Elif", "Fatima", "Günter", "Hana", "Ivo", "Jelena", "Karim", "Leïla", "Mateo",
    "Nadia", "Oskar", "Paula", "Quentin", "Rosa", "Sanjay", "Théo",
];

/// The two halves of surnames.
const BEGINNINGS: [&str; 10] = ["Hart", "Kauf", "Berg", "Neu", "Stein", "Lind", "Wald", "Gross", "Feld", "Brück"];
const ENDS: [&str; 5] = ["mann", "meyer", "berger", "ner", "holm"];

/// The role with the same number of applications in every file.
pub(crate) const SAME_ROLE: usize = 1;
const APPLICATIONS_OF_SAME: usize = 1_000;

/// The role with a fixed share of the organization's applications: one in `GROWING_PART`.
pub(crate) const GROWING_ROLE: usize = 0;
const GROWING_PART: usize = 50;

/// The departments, which are assigned to the roles in turn.
pub(crate) const DEPARTMENTS: [&str; 10] =
    ["Operations", "Sales", "Finance", "Design", "Support", "Research", "Legal", "Quality", "Logistics", "People"];

/// The number of users who are also members of this organization.
const MEMBERS: usize = 60;

/// The surname for searches, and a first name that occurs with it.
pub(crate) const SURNAME: &str = "Hartmann";
pub(crate) const FIRST_NAME: &str = "Ada";

/// Returns the index of the role to which a candidate has applied, by the candidate's index.
fn role_of(size: &Size, nth: usize) -> usize {
    let growing = size.crowd / GROWING_PART;
    match nth {
        _ if nth < growing => GROWING_ROLE,
        _ if nth < growing + APPLICATIONS_OF_SAME => SAME_ROLE,
        _ => 2 + nth % (size.large_portal_roles - 2),
    }
}

/// Returns the id of a candidate of the role with the same number of applications in every file.
pub(crate) fn candidate_of_same(size: &Size) -> String {
    company::candidate_id(size.applications + size.crowd / GROWING_PART + 7)
}

/// Returns the address of the last candidate.
pub(crate) fn last_email(size: &Size) -> String {
    email(size.crowd - 1)
}

fn email(nth: usize) -> String {
    format!("applicant{nth}@crowd.example")
}

/// Returns the id of a step of one of the organization's roles.
pub(crate) fn step_id(role: usize, order: usize) -> String {
    company::id("step", 1_000_000_000 + role * 10 + order)
}

/// Returns the status of an application, by its index. Seven of ten applications are in progress.
fn status(nth: usize) -> &'static str {
    match nth % 10 {
        3 => "Hired",
        6 => "Withdrawn",
        9 => "Not Selected",
        _ => "In Progress",
    }
}

/// Adds the data to the organization. Does nothing if a file of this size has no such organization.
pub(crate) fn fill(connection: &Connection, size: &Size) {
    if size.crowd == 0 {
        return;
    }
    let organization = company::organization_id(size.large());
    pipelines(connection, size);
    let sql = "INSERT INTO memberships (user_id, organization_id, org_role, created_at) VALUES ($1, $2, 'member', $3)";
    for user in 0..MEMBERS {
        connection.execute(sql, (company::user_id(user), &organization, MADE_AT + 1 + user as i64)).unwrap();
    }
    let mut crowd = Crowd::of(connection, &organization);
    let mut record = Record::of(connection, &organization);
    for role in 0..size.large_portal_roles {
        record.append("role.created", &data::role_id(size.large(), role), None);
    }
    let mut random = Random::new(5);
    let mut progress = Progress::of("candidates of one organization", size.crowd);
    for nth in 0..size.crowd {
        let role = role_of(size, nth);
        let role_id = data::role_id(size.large(), role);
        let ids = (company::candidate_id(size.applications + nth), company::application_id(size.applications + nth));
        let [first, beginning, end] =
            [FIRST_NAMES.len(), BEGINNINGS.len(), ENDS.len()].map(|count| random.below(count));
        let name = format!("{} {}{}", FIRST_NAMES[first], BEGINNINGS[beginning], ENDS[end]);
        crowd.add(size, nth, (role, &role_id), (&ids.0, &ids.1), &name);
        record.append("candidate_role.added", &role_id, Some((&ids.0, &ids.1)));
        progress.one();
    }
    // Every role has two open positions.
    let sql = "UPDATE roles
                 SET hired = c.hired, positions = c.hired + 2
                 FROM (SELECT role_id, count(*) AS hired FROM candidate_roles WHERE status = 'Hired' GROUP BY role_id) c
                 WHERE c.role_id = roles.id";
    connection.execute(sql, []).unwrap();
}

/// Creates the steps of the organization's roles and sets the departments.
fn pipelines(connection: &Connection, size: &Size) {
    let sql = "INSERT INTO role_steps (id, role_id, name, step_order, step_type) VALUES ($1, $2, $3, $4, $5)";
    let mut step = connection.prepare(sql).unwrap();
    let mut department = connection.prepare("UPDATE roles SET department = $1 WHERE id = $2").unwrap();
    for role in 0..size.large_portal_roles {
        let id = data::role_id(size.large(), role);
        department.execute((DEPARTMENTS[role % DEPARTMENTS.len()], &id)).unwrap();
        for (order, name, step_type) in STEPS {
            step.execute((step_id(role, order), &id, name, order as i64, step_type)).unwrap();
        }
    }
}

/// The statements that add candidates.
struct Crowd<'a> {
    organization: &'a str,
    candidate: Statement<'a>,
    words: Words<'a>,
    application: Statement<'a>,
    step: Statement<'a>,
}

impl<'a> Crowd<'a> {
    fn of(connection: &'a Connection, organization: &'a str) -> Self {
        let prepare = |sql| connection.prepare(sql).unwrap();
        Self {
            organization,
            candidate: prepare(
                "INSERT INTO candidates (number, id, organization_id, name, email, email_key, created_at, updated_at)
                 VALUES ($1, $2, $3, $4, $5, $5, $6, $6)",
            ),
            words: Words::of(connection),
            application: prepare(
                "INSERT INTO candidate_roles (id, organization_id, candidate_id, candidate_number, role_id, status,
                   at_role_step_id, at_since, applied_at, updated_at, hired_date)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, $10)",
            ),
            step: prepare(
                "INSERT INTO candidate_role_steps (id, candidate_role_id, role_step_id, name, step_order, step_type,
                   status, rejected_at, rejection_reason, outcome_type, validated_at)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
            ),
        }
    }

    /// Adds a candidate with an application that is in progress or has ended at a step.
    fn add(&mut self, size: &Size, nth: usize, (role, role_id): (usize, &str), (id, app): (&str, &str), name: &str) {
        let (number, email) = ((size.applications + nth) as i64 + 1, email(nth));
        let at = MADE_AT + nth as i64 * 1_000_000;
        self.candidate.execute((number, id, self.organization, name, &email, at)).unwrap();
        self.words.add(self.organization, number, name, &email);
        let status = status(nth);
        let is_in_progress = status == "In Progress";
        // A hire is always at the last step.
        let here = if status == "Hired" { STEPS.len() } else { 1 + nth / 10 % STEPS.len() };
        let row = (
            app,
            self.organization,
            id,
            number,
            role_id,
            status,
            is_in_progress.then(|| step_id(role, here)),
            is_in_progress.then_some(at),
            at,
            (status == "Hired").then_some(at + 86_400_000_000),
        );
        self.application.execute(row).unwrap();
        for (order, name, step_type) in STEPS {
            let step_status = match (order.cmp(&here), status) {
                (std::cmp::Ordering::Less, _) | (std::cmp::Ordering::Equal, "Hired") => "validated",
                (std::cmp::Ordering::Equal, "Not Selected") => "rejected",
                (std::cmp::Ordering::Equal, _) => "in_progress",
                (std::cmp::Ordering::Greater, _) => "pending",
            };
            let is = |wanted: &str| step_status == wanted;
            let row = (
                company::step_id(size.applications + nth, order),
                app,
                step_id(role, order),
                name,
                order as i64,
                step_type,
                step_status,
                is("rejected").then_some(at),
                is("rejected").then_some("Talked to three of the team; they agree."),
                is("rejected").then_some("rejected_by_organization"),
                is("validated").then_some(at),
            );
            self.step.execute(row).unwrap();
        }
    }
}

/// A statement that appends activity rows, and the end of the hash chain.
struct Record<'a> {
    append: Statement<'a>,
    organization: OrganizationId,
    user: UserId,
    key: ApiKeyId,
    number: i64,
    previous: [u8; 32],
}

impl<'a> Record<'a> {
    /// Continues the hash chain, which begins with the activity of the command that created the file.
    fn of(connection: &'a Connection, organization: &str) -> Self {
        let sql = "INSERT INTO activities (number, id, organization_id, at, action, user_id, api_key_id, role_id,
                     candidate_id, candidate_role_id, detail, salt, detail_hash, hash)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
        let head = "SELECT number, hash FROM activities ORDER BY number DESC LIMIT 1";
        let (number, previous) = connection.query_row(head, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        Self {
            append: connection.prepare(sql).unwrap(),
            organization: OrganizationId::parse(organization).unwrap(),
            user: UserId::parse(&company::user_id(ADMIN)).unwrap(),
            key: ApiKeyId::parse(&data::key_id(ADMIN)).unwrap(),
            number,
            previous,
        }
    }

    fn append(&mut self, action: &str, role: &str, application: Option<(&str, &str)>) {
        self.number += 1;
        let subject = Subject {
            role_id: RoleId::parse(role),
            candidate_id: application.and_then(|(candidate, _)| CandidateId::parse(candidate)),
            candidate_role_id: application.and_then(|(_, id)| ApplicationId::parse(id)),
            ..Subject::of_organization(self.organization.clone())
        };
        let id = company::id("act", self.number as usize);
        let at = MADE_AT + self.number * 1_000_000;
        let detail = json!({ "before": null, "after": { "roleId": role, "status": "In Progress" } }).to_string();
        let salt = [self.number.to_be_bytes(), at.to_be_bytes()].concat().try_into().unwrap();
        let detail_hash = activity::detail_hash(&salt, &detail);
        let link = ChainLink {
            number: self.number,
            id: &ActivityId::parse(&id).unwrap(),
            at: Timestamp::from_micros(at),
            action,
            user_id: Some(&self.user),
            api_key_id: Some(&self.key),
            subject: &subject,
            detail_hash: &detail_hash,
        };
        self.previous = link.hash(&self.previous);
        let (candidate, application) = application.unzip();
        let row = (
            self.number,
            &id,
            self.organization.as_str(),
            at,
            action,
            self.user.as_str(),
            self.key.as_str(),
            role,
            candidate,
            application,
            &detail,
            salt,
            detail_hash,
            self.previous,
        );
        self.append.execute(row).unwrap();
    }
}
