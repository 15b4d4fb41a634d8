//! The acts that require a confirmation within the last ten minutes. Before the confirmation, an act has no effect. The
//! confirmation page carries the form of the act, or leads back to the page with the form. After the confirmation, the
//! act is carried out once.

use std::collections::BTreeSet;
use std::path::Path;

use crate::console_passkey;
use crate::support::authenticator::{Authenticator, add_passkey};
use crate::support::console::{PASSWORD, Phone, app_path, browser_with_app};
use crate::support::{Answer, App, Client, Hiring};

crate::tests![
    the_table_has_every_act_that_requires_a_confirmation,
    an_act_needs_no_new_confirmation_for_ten_minutes,
    an_act_is_carried_out_once_after_the_confirmation_that_carries_it,
    an_act_without_any_confirmation_is_not_carried_out,
    a_page_is_shown_after_the_confirmation,
];

/// A confirmation counts as recent for less than this time.
const RECENT_SECONDS: u64 = 600;

const SET_UP: &str = "/app/me/authenticator";
const NEW_PASSKEY: &str = "/app/me/passkeys/new";

type Fields = Vec<(String, String)>;

struct Act {
    /// The handler: its file in `src/http/pages/console` and its function.
    handler: &'static str,
    path: fn(&Scene) -> String,
    fields: fn(&Scene) -> Fields,
    /// The action in the activity. A password change has none.
    recorded: &'static str,
    /// The page that opens after the confirmation if the confirmation does not carry the form.
    return_to: Option<&'static str>,
}

const fn act(
    handler: &'static str,
    recorded: &'static str,
    path: fn(&Scene) -> String,
    fields: fn(&Scene) -> Fields,
) -> Act {
    Act { handler, path, fields, recorded, return_to: None }
}

const ACTS: &[Act] = &[
    act(
        "second_factor/authenticator.rs set_up",
        "totp.replaced",
        |_| SET_UP.to_owned(),
        |scene| {
            let new = &scene.new_phone;
            fields(&[("form", &new.form), ("code", &new.shown(&scene.app))])
        },
    ),
    act(
        "second_factor/list.rs remove_app",
        "totp.removed",
        |_| "/app/me/authenticator/remove".to_owned(),
        |_| Fields::new(),
    ),
    Act {
        return_to: Some(NEW_PASSKEY),
        ..act(
            "second_factor/passkey.rs add",
            "passkey.added",
            |_| "/app/me/passkeys".to_owned(),
            |scene| {
                let options = scene.owner.submit("/app/me/passkeys/options", &[]).expect(200).json();
                fields(&Authenticator::new("second").create(&options).and(&[("name", "Second")]))
            },
        )
    },
    act(
        "second_factor/passkey.rs remove",
        "passkey.removed",
        |scene| format!("/app/me/passkeys/{}/remove", scene.app.sql("SELECT id FROM passkeys").remove(0)),
        |_| Fields::new(),
    ),
    act(
        "second_factor/recovery.rs replace",
        "recovery_code.replaced",
        |_| "/app/me/recovery-codes".to_owned(),
        |_| Fields::new(),
    ),
    Act {
        return_to: Some("/app/me#password"),
        ..act(
            "me.rs decode_password",
            "",
            |_| "/app/me/password".to_owned(),
            |_| fields(&[("current", PASSWORD), ("new", "nine lanterns at dusk")]),
        )
    },
    act("membership/mod.rs invite", "membership.put", |scene| members(scene, ""), |_| invitation("new")),
    act("membership/mod.rs invite", "sign_in_link.issued", |scene| members(scene, ""), |_| invitation("invited")),
    act(
        "membership/mod.rs change_role",
        "membership.put",
        |scene| member(scene, "member", "role"),
        |_| fields(&[("before", "member"), ("orgRole", "owner")]),
    ),
    act(
        "membership/mod.rs change_role",
        "membership.put",
        |scene| member(scene, "admin", "role"),
        |_| fields(&[("before", "admin"), ("orgRole", "member")]),
    ),
    act(
        "membership/mod.rs issue_link",
        "sign_in_link.issued",
        |scene| member(scene, "member", "link"),
        |_| Fields::new(),
    ),
    act("membership/mod.rs remove", "membership.removed", |scene| member(scene, "admin", "remove"), |_| Fields::new()),
    act(
        "security.rs change",
        "organization.changed",
        |scene| app_path(&scene.hiring, "settings/security"),
        |_| fields(&[("requireSecondFactor", "true")]),
    ),
];

/// The pages that require a confirmation, with their handlers.
const PAGES: [(&str, &str); 2] =
    [("second_factor/authenticator.rs show", SET_UP), ("second_factor/passkey.rs show", NEW_PASSKEY)];

/// Functions that call `require_recent` for a handler in the same file.
const HELPERS: [&str; 2] = ["membership/mod.rs require_recent_for", "me.rs require_recent_or_password"];

fn fields(fields: &[(&str, &str)]) -> Fields {
    fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn members(scene: &Scene, rest: &str) -> String {
    app_path(&scene.hiring, &format!("members{rest}"))
}

fn member(scene: &Scene, org_role: &str, act: &str) -> String {
    members(scene, &format!("/{}/{act}", scene.hiring.staff(org_role)))
}

fn invitation(name: &str) -> Fields {
    fields(&[("name", &format!("<{name}> & \"co\"")), ("email", &format!("{name}@example.com")), ("orgRole", "admin")])
}

/// An owner with an app and a passkey, who has just confirmed their identity.
struct Scene {
    app: App,
    hiring: Hiring,
    owner: Client,
    phone: Phone,
    /// The app that replaces the owner's first app.
    new_phone: Phone,
    /// The hash of the owner's first password.
    hash: String,
}

impl Scene {
    fn new() -> Self {
        let (app, hiring) = console_passkey::start(false);
        let (owner, phone) = browser_with_app(&app, &hiring, "owner");
        add_passkey(&owner, &Authenticator::new("first")).expect(303);
        let new_phone = Phone::scan(&owner.get(SET_UP).expect(200).text());
        let mut scene = Self { app, hiring, owner, phone, new_phone, hash: String::new() };
        scene.hash = scene.password_hash();
        scene.submit(&members(&scene, ""), &invitation("invited")).expect(200);
        scene
    }

    fn password_hash(&self) -> String {
        let owner = self.hiring.staff("owner");
        self.app.sql(&format!("SELECT password_hash FROM users WHERE id = '{owner}'")).concat()
    }

    fn submit(&self, path: &str, fields: &Fields) -> Answer {
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        self.owner.submit(path, &fields)
    }

    /// Returns the number of activity rows with the act's action. For a password change, returns 1 if the password
    /// has changed, and 0 otherwise.
    fn count(&self, act: &Act) -> usize {
        match act.recorded {
            "" => usize::from(self.password_hash() != self.hash),
            action => self.app.sql(&format!("SELECT id FROM main.activities WHERE action = '{action}'")).len(),
        }
    }

    /// Sends the act, which must be refused without any effect. Returns the page.
    fn refused(&self, act: &Act, path: &str) -> String {
        let before = self.count(act);
        let page = self.submit(path, &(act.fields)(self)).expect(403).text();
        assert!(page.contains("Please confirm that it is you"), "{}: {page}", act.handler);
        assert_eq!(self.count(act), before, "{}", act.handler);
        page
    }
}

/// The form of a confirmation page that asks for a code.
struct ConfirmForm {
    action: String,
    fields: Fields,
}

impl ConfirmForm {
    fn of(page: &str) -> Self {
        // The form before this one asks for a passkey.
        let form = page.rsplit_once("<form ").unwrap().1;
        let hidden = form.split(r#"<input type="hidden" name=""#).skip(1).map(|rest| {
            let (name, rest) = rest.split_once(r#"" value=""#).unwrap();
            (text(name), text(rest.split_once('"').unwrap().0))
        });
        let action = form.split_once(r#"action=""#).unwrap().1.split_once('"').unwrap().0;
        Self { action: text(action), fields: hidden.collect() }
    }
}

/// Returns an attribute's value with its character references decoded.
fn text(html: &str) -> String {
    let references = [("&#60;", "<"), ("&#62;", ">"), ("&#34;", "\""), ("&#39;", "'"), ("&#38;", "&")];
    references.iter().fold(html.to_owned(), |text, (reference, character)| text.replace(reference, character))
}

/// Returns the functions that call `require_recent` or one of its variants, each with its file.
fn callers() -> BTreeSet<String> {
    fn read(folder: &Path, root: &Path, callers: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                read(&path, root, callers);
                continue;
            }
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            let mut function = String::new();
            for line in std::fs::read_to_string(&path).unwrap().lines() {
                if let Some((_, rest)) = line.split_once("fn ") {
                    function = rest.split(['(', '<']).next().unwrap().to_owned();
                } else if line.contains("require_recent") && line.contains('(') && !line.trim_start().starts_with("//")
                {
                    callers.insert(format!("{name} {function}"));
                }
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/http/pages/console");
    let mut callers = BTreeSet::new();
    read(&root, &root, &mut callers);
    callers
}

fn the_table_has_every_act_that_requires_a_confirmation() {
    let acts = ACTS.iter().map(|act| act.handler);
    let known: BTreeSet<String> =
        acts.chain(PAGES.map(|(handler, _)| handler)).chain(HELPERS).map(str::to_owned).collect();
    assert_eq!(callers(), known);
}

fn an_act_needs_no_new_confirmation_for_ten_minutes() {
    for act in ACTS {
        let scene = Scene::new();
        scene.app.pass(RECENT_SECONDS - 1);
        let (path, before) = ((act.path)(&scene), scene.count(act));
        let answer = scene.submit(&path, &(act.fields)(&scene));
        assert!([200, 303].contains(&answer.status), "{}: {} {}", act.handler, answer.status, answer.text());
        assert_eq!(scene.count(act), before + 1, "{}", act.handler);
    }
}

fn an_act_is_carried_out_once_after_the_confirmation_that_carries_it() {
    for act in ACTS {
        let scene = Scene::new();
        scene.app.pass(RECENT_SECONDS);
        let (path, before) = ((act.path)(&scene), scene.count(act));
        let form = ConfirmForm::of(&scene.refused(act, &path));
        let code = ("confirmation.code".to_owned(), scene.phone.shown(&scene.app));
        let sent: Fields = form.fields.iter().cloned().chain([code]).collect();
        let (status, leads_to) = act.return_to.map_or((307, path.as_str()), |page| (303, page));
        if act.return_to.is_none() {
            assert_eq!(form.fields, (act.fields)(&scene), "{}", act.handler);
        }
        let answer = scene.submit(&form.action, &sent).expect(status);
        assert_eq!(answer.header("location"), Some(leads_to), "{}", act.handler);
        assert_eq!(scene.count(act), before, "{}", act.handler);
        // The browser sends the carried form again, or the user sends the form of the page.
        let again = if act.return_to.is_none() { sent.clone() } else { (act.fields)(&scene) };
        let answer = scene.submit(&path, &again);
        assert!([200, 303].contains(&answer.status), "{}: {} {}", act.handler, answer.status, answer.text());
        assert_eq!(scene.count(act), before + 1, "{}", act.handler);
        // Sending the same confirmation again does not carry out the act again.
        scene.submit(&form.action, &sent);
        assert_eq!(scene.count(act), before + 1, "{}", act.handler);
    }
}

fn an_act_without_any_confirmation_is_not_carried_out() {
    for act in ACTS {
        let scene = Scene::new();
        let path = (act.path)(&scene);
        scene.app.sql("UPDATE sessions SET confirmed_at = 0");
        scene.refused(act, &path);
        // A wrong code changes nothing.
        let form = ConfirmForm::of(&scene.refused(act, &path));
        let before = scene.count(act);
        let wrong = ("confirmation.code".to_owned(), "000000".to_owned());
        scene.submit(&form.action, &form.fields.into_iter().chain([wrong]).collect()).expect(403);
        scene.refused(act, &path);
        assert_eq!(scene.count(act), before, "{}", act.handler);
    }
}

fn a_page_is_shown_after_the_confirmation() {
    for (handler, path) in PAGES {
        let scene = Scene::new();
        scene.app.pass(RECENT_SECONDS - 1);
        scene.owner.get(path).expect(200);
        scene.app.pass(1);
        let form = ConfirmForm::of(&scene.owner.get(path).expect(403).text());
        let code = ("confirmation.code".to_owned(), scene.phone.shown(&scene.app));
        let answer = scene.submit(&form.action, &vec![code]).expect(303);
        assert_eq!((answer.header("location"), form.fields.len()), (Some(path), 0), "{handler}");
        scene.owner.get(path).expect(200);
    }
}
