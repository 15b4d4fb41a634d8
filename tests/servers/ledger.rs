//! Decisions and uploads with their answers, and the comparison of all answers with the database.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::postgres_server::TestServer;
use crate::service::{Server, id, organization, run};

/// The number of steps of the role. All but the last can be validated.
const STEPS: usize = 50;

const BOUNDARY: &str = "boundary-of-a-test";

/// The outcome of a request, according to its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    Unavailable,
    Unknown,
}

impl Outcome {
    /// Returns the outcome that an answer reports. Panics if the answer reports none of these outcomes.
    #[track_caller]
    pub(crate) fn of(answer: &Answer) -> Self {
        match answer.status {
            200 => Self::Done,
            500 if answer.text.contains("may or may not have been saved") => Self::Unknown,
            503 => {
                let problem: Value = serde_json::from_str(&answer.text).unwrap_or_default();
                assert_eq!(answer.field("content-type"), Some("application/problem+json"), "{}", answer.text);
                assert!(answer.field("retry-after").is_some() && problem["status"] == 503, "{}", answer.text);
                Self::Unavailable
            }
            status => panic!("{status}: {}", answer.text),
        }
    }
}

/// A server with an organization, and the acts of its staff and of strangers.
pub(crate) struct Company {
    server: Server,
    admin_secret: String,
    organization: String,
    role: String,
    /// The path of the application form.
    form: String,
    acts: AtomicUsize,
    decisions: Mutex<Vec<Decision>>,
    uploads: Mutex<Vec<(String, Outcome)>>,
}

/// A request that validates a step.
struct Decision {
    step: String,
    /// The `User-Agent`, which the usage row contains too.
    agent: String,
    outcome: Outcome,
}

impl Company {
    /// Starts a server on an empty database, and creates the organization.
    pub(crate) fn start(url: &str) -> Self {
        let admin_secret = run(&["bootstrap-admin", "--db", url, "--email", "root@example.org"], "").trim().to_owned();
        let server = Server::start(url);
        let mut admin = server.client().with_key(&admin_secret);
        let (organization, role) = organization(&mut admin, "acme", STEPS);
        let link = admin.call("POST", "/api/public/portal/acme/apply", &json!({ "roleId": role })).succeeded();
        let link: Value = serde_json::from_str(&link.text).unwrap();
        let token = link["inviteUrl"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        Self {
            server,
            admin_secret,
            organization,
            role,
            form: format!("/api/public/signup/{token}"),
            acts: AtomicUsize::new(0),
            decisions: Mutex::default(),
            uploads: Mutex::default(),
        }
    }

    pub(crate) fn client(&self) -> Client {
        self.server.client()
    }

    fn admin(&self) -> Client {
        self.client().with_key(&self.admin_secret)
    }

    /// Reads the role.
    pub(crate) fn read(&self) -> Outcome {
        Outcome::of(&self.admin().get(&format!("/api/v1/roles/{}", self.role)))
    }

    /// Adds candidates, and returns a client that decides on their applications.
    pub(crate) fn decider(&self, candidates: usize) -> Decider<'_> {
        let mut admin = self.admin();
        let path = format!("/api/v1/organizations/{}/candidates", self.organization);
        let mut add = || {
            let email = format!("candidate-{}@example.org", self.next());
            let body = json!({ "name": "Ada", "email": email, "roleId": self.role });
            let added = admin.call("POST", &path, &body).data();
            let steps = added["applications"][0]["steps"].as_array().unwrap()[..STEPS - 1].iter();
            steps.map(id).collect::<Vec<String>>()
        };
        let steps = (0..candidates).flat_map(|_| add()).collect();
        Decider { company: self, steps, confirmed: 0 }
    }

    /// Sends a signup with an attachment, under a new email address.
    pub(crate) fn upload(&self) -> Outcome {
        let email = format!("stranger-{}@example.org", self.next());
        let field = |name: &str, value: &str| {
            format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        };
        let fields = [("name", "Ada"), ("email", &email), ("consent", "true")];
        let mut body: String = fields.iter().map(|(name, value)| field(name, value)).collect();
        body += &field("cv\"; filename=\"cv.txt", &"engines ".repeat(10_000));
        body += &format!("--{BOUNDARY}--\r\n");
        let kind = format!("multipart/form-data; boundary={BOUNDARY}");
        let outcome = Outcome::of(&self.client().send_as(&kind, "POST", &self.form, Some(&body)));
        self.uploads.lock().unwrap().push((email, outcome));
        outcome
    }

    fn next(&self) -> usize {
        self.acts.fetch_add(1, Ordering::SeqCst)
    }

    /// Asserts that the database has every confirmed act once, every confirmed decision with its usage row, and no act
    /// whose requests were all refused.
    pub(crate) fn compare(&self, postgres: &TestServer, database: &str) {
        let counts = |sql: &str| -> HashMap<String, usize> {
            let rows = postgres.rows(database, sql).into_iter();
            rows.map(|row| row.split_once('|').map(|(name, count)| (name.to_owned(), count.parse().unwrap())).unwrap())
                .collect()
        };
        let validated = counts(
            "SELECT candidate_role_step_id, count(*) FROM activities
             WHERE action = 'candidate_step.validated' GROUP BY 1",
        );
        let used = counts("SELECT user_agent, count(*) FROM api_key_usage WHERE user_agent LIKE 'act-%' GROUP BY 1");
        let mut of_steps: HashMap<&str, Vec<Outcome>> = HashMap::new();
        let decisions = self.decisions.lock().unwrap();
        for Decision { step, agent, outcome } in decisions.iter() {
            assert_happened(agent, &[*outcome], used.get(agent));
            of_steps.entry(step).or_default().push(*outcome);
        }
        for (step, outcomes) in &of_steps {
            assert_happened(step, outcomes, validated.get(*step));
        }
        let signups = counts(
            "SELECT email, count(DISTINCT s.id) * count(d.id) FROM signups s LEFT JOIN documents d ON d.signup_id = s.id
             GROUP BY 1",
        );
        for (email, outcome) in self.uploads.lock().unwrap().iter() {
            assert_happened(email, &[*outcome], signups.get(email));
        }
        assert_eq!(postgres.psql(database, "SELECT count(*) = max(number) FROM activities"), "t");
    }
}

/// Asserts that an act whose requests had these outcomes happened as often as the outcomes imply.
#[track_caller]
fn assert_happened(act: &str, outcomes: &[Outcome], count: Option<&usize>) {
    let count = count.copied().unwrap_or_default();
    let is_right = match outcomes {
        _ if outcomes.contains(&Outcome::Done) => count == 1,
        _ if outcomes.contains(&Outcome::Unknown) => count <= 1,
        _ => count == 0,
    };
    assert!(is_right, "{act} happened {count} times: {outcomes:?}");
}

/// A client that validates steps, one after another.
pub(crate) struct Decider<'a> {
    company: &'a Company,
    steps: Vec<String>,
    /// The number of steps whose validation was confirmed.
    confirmed: usize,
}

impl Decider<'_> {
    /// Validates the next step or, if the last validation was not confirmed, sends that request again. Each request has
    /// a connection of its own.
    #[track_caller]
    pub(crate) fn decide(&mut self) -> Outcome {
        let step = self.steps.get(self.confirmed).expect("the client has steps left");
        let agent = format!("act-{}", self.company.next());
        let mut client = self.company.admin().with("User-Agent", &agent).with("Idempotency-Key", step);
        let answer = client.send("POST", &format!("/api/v1/candidate-steps/{step}/validate"), None);
        let outcome = Outcome::of(&answer);
        let mut decisions = self.company.decisions.lock().unwrap();
        if answer.field("idempotency-replayed") == Some("true") {
            let may_be_done = |earlier: &Decision| earlier.step == *step && earlier.outcome == Outcome::Unknown;
            assert!(decisions.iter().any(may_be_done), "{step} was validated, although every earlier answer was a 503");
        }
        decisions.push(Decision { step: step.clone(), agent, outcome });
        self.confirmed += usize::from(outcome == Outcome::Done);
        outcome
    }
}
