//! Many applications to one role, inserted directly. The rows equal those that an import writes, but the word index
//! gets no entries. Inserting the rows is much faster than importing them.

use super::{App, Hiring};

/// One second in microseconds, the unit of times in the database.
const SECOND: u64 = 1_000_000;

/// The earliest arrival at a current step: 2026-11-01.
const SINCE: u64 = 1_793_491_200 * SECOND;

/// Adds `count` candidates, each with an application to the organization's role. The applications are in progress and
/// are distributed over the four steps in rotation. The candidates at a step arrived there in pairs, each pair at the
/// same time.
pub(crate) fn add(app: &App, hiring: &Hiring, count: usize) {
    let (organization, role) = (&hiring.organization_id, &hiring.role_id);
    let step = role_step("n % 4");
    app.change(&format!(
        "BEGIN IMMEDIATE;
         CREATE TEMP TABLE crowd AS
         WITH RECURSIVE series (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM series WHERE n < {count} - 1)
         SELECT n, printf('%05d', n) AS name, (SELECT max(number) + 1 FROM candidates) + n AS number,
           {SINCE} + n / 8 * {SECOND} AS since
         FROM series;
         CREATE TEMP TABLE pipeline AS SELECT * FROM role_steps WHERE role_id = '{role}';
         INSERT INTO candidates (number, id, organization_id, name, email, email_key, created_at, updated_at)
         SELECT number, 'cand_crowd_' || name, '{organization}', 'Crowd ' || name, name || '@crowd.example',
           name || '@crowd.example', since, since
         FROM crowd;
         INSERT INTO candidate_roles (id, organization_id, candidate_id, candidate_number, role_id, status,
           at_role_step_id, at_since, applied_at, updated_at)
         SELECT 'app_crowd_' || name, '{organization}', 'cand_crowd_' || name, number, '{role}', 'In Progress',
           {step}, since, {SINCE}, since
         FROM crowd;
         INSERT INTO candidate_role_steps (id, candidate_role_id, role_step_id, name, step_order, step_type, status,
           validated_at)
         SELECT 'cstep_crowd_' || c.name || '_' || p.step_order, 'app_crowd_' || c.name, p.id, p.name, p.step_order,
           p.step_type,
           CASE sign(p.step_order - 1 - c.n % 4) WHEN -1 THEN 'validated' WHEN 0 THEN 'in_progress' ELSE 'pending' END,
           iif(p.step_order - 1 < c.n % 4, since, NULL)
         FROM crowd c, pipeline p;
         UPDATE organization_statuses SET in_progress = in_progress + {count} WHERE organization_id = '{organization}';
         COMMIT;"
    ));
}

/// Returns SQL for the id of the step at this position in the pipeline, counted from 0.
fn role_step(position: &str) -> String {
    format!("(SELECT id FROM pipeline WHERE step_order = 1 + {position})")
}

/// Returns the path of a decision on the `nth` candidate, counted from 0, at the `step`-th step, counted from 1.
pub(crate) fn decision(nth: usize, step: usize, decision: &str) -> String {
    format!("/api/v1/candidate-steps/cstep_crowd_{nth:05}_{step}/{decision}")
}
