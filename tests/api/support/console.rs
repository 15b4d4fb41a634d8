//! The staff console: signed-in browsers, forms, and the paths of its pages.

use std::time::Duration;

use appliance::domain::id::{Id, UserId};
use appliance::domain::sign_in_link::LinkPurpose;
use appliance::domain::totp::TotpSecret;
use appliance::http::server::access_rule::AccessRule;
use appliance::http::server::route::Route;
use appliance::store;
use appliance::world::World;
use serde_json::json;

use super::{Answer, App, Client, Hiring, recorder};

/// The password that [`App::browser_of`] sets.
pub(crate) const PASSWORD: &str = "correct horse battery";

pub(crate) const SAME_ORIGIN: (&str, &str) = ("Sec-Fetch-Site", "same-origin");

impl App {
    /// Returns a browser in which the organization's user with this organization role is signed in.
    pub(crate) fn browser(&self, hiring: &Hiring, org_role: &str) -> Client {
        self.browser_of(&hiring.email(org_role))
    }

    /// Returns a browser in which the user with this address is signed in.
    pub(crate) fn browser_of(&self, email: &str) -> Client {
        self.set_password(email, PASSWORD);
        self.sign_in(email, PASSWORD).with_header(SAME_ORIGIN.0, SAME_ORIGIN.1)
    }
}

impl App {
    /// Signs in with [`PASSWORD`] and, if given, a code.
    pub(crate) fn try_sign_in(&self, email: &str, code: Option<&str>) -> Answer {
        let mut body = json!({ "email": email, "password": PASSWORD });
        if let Some(code) = code {
            body["code"] = json!(code);
        }
        self.anonymous().post("/api/auth/sign-in", &body)
    }
}

impl Client {
    /// Submits a form with these fields.
    pub(crate) fn submit(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let body = form_body(fields);
        self.send("POST", path, &[("Content-Type", "application/x-www-form-urlencoded")], body.as_bytes())
    }

    /// Submits a form with these fields, as the modules of the console do when they replace parts of a page.
    pub(crate) fn submit_for_parts(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.with_header("X-Part", "1").submit(path, fields)
    }
}

/// Returns the path of a page of the organization's console.
pub(crate) fn app_path(hiring: &Hiring, path: &str) -> String {
    format!("/app/{}/{path}", hiring.slug)
}

/// Follows a 303, and returns the page.
#[track_caller]
pub(crate) fn follow(client: &Client, answer: Answer) -> Answer {
    let answer = answer.expect(303);
    client.get(answer.header("location").unwrap()).expect(200)
}

/// Creates a sign-in link for a user, and returns the path of the link.
pub(crate) fn sign_in_link(app: &App, user_id: &str, purpose: LinkPurpose) -> String {
    let user = UserId::parse(user_id).unwrap();
    let world: &dyn World = app.world.as_ref();
    let create = |tx: &store::Tx<'_>| store::sign_in_link::create(tx, world, &user, purpose, None);
    format!("/join/{}", store::act_alone(&app.path, world, create).unwrap())
}

/// Returns the body of a form with these fields.
pub(crate) fn form_body(fields: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

/// Returns the routes that require a session, except those under `/api`.
pub(crate) fn staff_routes() -> Vec<&'static Route> {
    recorder::TABLE.routes().iter().filter(|route| route.access == AccessRule::Staff).collect()
}

/// Returns the path of a console route in the organization with this slug, with the ids of `hiring`.
pub(crate) fn staff_path(route: &Route, slug: &str, hiring: &Hiring) -> String {
    let mut before = "";
    let member = hiring.staff("member");
    let fill = |segment: &'static str| {
        let filled = match (before, segment) {
            (_, "{orgSlug}") => slug,
            ("roles", "{id}") => &hiring.role_id,
            ("candidates", "{id}") => &hiring.candidates[0].candidate_id,
            ("applications", "{id}") => &hiring.candidates[0].application_id,
            ("documents", "{id}") => "doc_none",
            ("candidate-steps", "{id}") => &hiring.candidates[0].steps[1],
            ("steps", "{stepId}") => &hiring.role_steps[0],
            ("members", "{userId}") => &member,
            (_, parameter) if parameter.starts_with('{') => "some_id",
            (_, literal) => literal,
        };
        before = segment;
        filled.to_owned()
    };
    route.path.split('/').map(fill).collect::<Vec<_>>().join("/")
}

/// A phone with an authenticator app.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Phone {
    /// The key in base 32, as the page shows it.
    pub(crate) key: String,
    /// The signed form of the page.
    pub(crate) form: String,
}

impl Phone {
    /// Reads the key and the signed form from a page that sets up an app.
    #[track_caller]
    pub(crate) fn scan(page: &str) -> Self {
        let between = |before: &str, after: &str| {
            let rest = page.split_once(before).unwrap_or_else(|| panic!("no {before} in {page}")).1;
            rest.split_once(after).unwrap().0.to_owned()
        };
        Self { key: between("<code class=\"key\">", "</code>"), form: between("name=\"form\" value=\"", "\"") }
    }

    /// Returns the code that the phone shows now.
    pub(crate) fn shown(&self, app: &App) -> String {
        self.shown_in(app, 0)
    }

    /// Returns the code that the phone will show after this many seconds.
    pub(crate) fn shown_in(&self, app: &App, seconds: u64) -> String {
        const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
        let digits = self.key.chars().filter(|c| *c != ' ').map(|c| DIGITS.find(c).unwrap());
        let bits: String = digits.map(|digit| format!("{digit:05b}")).collect();
        let bytes: Vec<u8> = (0..20).map(|at| u8::from_str_radix(&bits[at * 8..at * 8 + 8], 2).unwrap()).collect();
        let secret = TotpSecret::new(bytes.try_into().unwrap());
        secret.shown_at(app.world.now().plus(Duration::from_secs(seconds)))
    }
}

/// Sets up an authenticator app for the user who has just signed in with this browser.
pub(crate) fn set_up_app(app: &App, browser: &Client) -> Phone {
    let phone = Phone::scan(&browser.get("/app/me/authenticator").expect(200).text());
    let fields = [("form", phone.form.as_str()), ("code", &phone.shown(app))];
    browser.submit("/app/me/authenticator", &fields).expect(200);
    phone
}

/// Signs in the organization's user with this organization role, and sets up an authenticator app for the user.
pub(crate) fn browser_with_app(app: &App, hiring: &Hiring, org_role: &str) -> (Client, Phone) {
    let browser = app.browser(hiring, org_role);
    let phone = set_up_app(app, &browser);
    (browser, phone)
}

/// Returns the recovery codes that a page shows.
pub(crate) fn codes_of(page: &str) -> Vec<String> {
    page.split("<li><code>").skip(1).map(|rest| rest.split_once('<').unwrap().0.to_owned()).collect()
}
