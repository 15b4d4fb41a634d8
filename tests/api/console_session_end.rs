//! Forms and pages that wait for a confirmation when the session ends: after the next sign-in, the person can send the
//! form, or the page opens.

use crate::console_passkey::{cookie, start as start_with_passkeys, stranger};
use crate::support::authenticator::{Authenticator, add_passkey};
use crate::support::console::{PASSWORD, Phone, SAME_ORIGIN, browser_with_app};
use crate::support::{Answer, App, Client, Hiring};

crate::tests![
    a_form_that_waits_for_a_confirmation_can_be_sent_after_the_sign_in,
    a_page_that_waits_for_a_confirmation_is_opened_after_the_sign_in,
    a_dialog_carries_the_form_through_the_sign_in,
    a_passkey_carries_the_form_through_the_sign_in,
    a_confirmation_without_a_session_leads_only_to_pages_of_the_console,
];

const REMOVE: &str = "/app/me/authenticator/remove";
const CONFIRM_REMOVE: &str = "/app/confirm?to=%2Fapp%2Fme%2Fauthenticator%2Fremove";
const NOTE: (&str, &str) = ("note", "<b> & more");

/// Starts a service in which the session of the owner, who has an authenticator app, has ended.
fn start() -> (App, Hiring, Client, Phone) {
    let app = App::start();
    let hiring = app.hiring();
    let (owner, phone) = browser_with_app(&app, &hiring, "owner");
    app.pass(30 * 60);
    (app, hiring, owner, phone)
}

/// Returns the hidden fields of the form with this action.
fn hidden_fields(page: &str, action: &str) -> Vec<(String, String)> {
    let form = page.split(&format!(r#"action="{action}""#)).nth(1).unwrap_or_else(|| panic!("{action} in {page}"));
    let form = form.split("</form>").next().unwrap();
    let fields = form.split(r#"<input type="hidden" name=""#).skip(1).map(|field| {
        let (name, rest) = field.split_once(r#"" value=""#).unwrap();
        let value = rest.split_once('"').unwrap().0;
        (name.to_owned(), value.replace("&#60;", "<").replace("&#62;", ">").replace("&#38;", "&"))
    });
    fields.collect()
}

fn with<'a>(fields: &'a [(String, String)], more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    fields.iter().map(|(name, value)| (&**name, &**value)).chain(more.iter().copied()).collect()
}

/// Signs in from a page that carries a form. Returns the browser and the page after the sign-in.
fn sign_in(app: &App, hiring: &Hiring, phone: &Phone, page: &str) -> (Client, Answer) {
    let browser = app.anonymous().with_header(SAME_ORIGIN.0, SAME_ORIGIN.1);
    let carried = hidden_fields(page, "/sign-in");
    let email = hiring.email("owner");
    let answer = browser.submit("/sign-in", &with(&carried, &[("email", &email), ("password", PASSWORD)])).expect(200);
    let carried = hidden_fields(&answer.text(), "/sign-in/code");
    let browser = browser.with_header("Cookie", &cookie(&answer));
    let answer = browser.submit("/sign-in/code", &with(&carried, &[("code", &phone.shown(app))]));
    let session = answer.headers.iter().filter(|(name, _)| name == "set-cookie").map(|(_, value)| value.as_str());
    let session = session.filter_map(|value| value.split(';').next()).collect::<Vec<_>>().join("; ");
    (app.anonymous().with_header(SAME_ORIGIN.0, SAME_ORIGIN.1).with_header("Cookie", &session), answer)
}

fn a_form_that_waits_for_a_confirmation_can_be_sent_after_the_sign_in() {
    let (app, hiring, owner, phone) = start();
    let sent = [NOTE, ("confirmation.code", "123456")];
    let page = owner.submit(CONFIRM_REMOVE, &sent).expect(401).text();
    assert!(page.contains("Your session had ended") && !page.contains("123456"), "{page}");
    let (browser, answer) = sign_in(&app, &hiring, &phone, &page);
    let page = answer.expect(200).text();
    let carried = hidden_fields(&page, REMOVE);
    assert_eq!(with(&carried, &[]), [NOTE]);
    browser.submit(REMOVE, &with(&carried, &[])).expect(303);
    assert_eq!(app.sql("SELECT count(*) FROM totp_secrets"), ["0"]);
}

fn a_page_that_waits_for_a_confirmation_is_opened_after_the_sign_in() {
    let (app, hiring, owner, phone) = start();
    let next = "/app/confirm?next=%2Fapp%2Fme%2Fauthenticator%3Fa%3Db";
    let page = owner.submit(next, &[("confirmation.code", "123456")]).expect(401).text();
    let (browser, answer) = sign_in(&app, &hiring, &phone, &page);
    assert_eq!(answer.expect(303).header("location"), Some("/app/me/authenticator?a=b"));
    browser.get("/app/me/authenticator").expect(200);
}

fn a_dialog_carries_the_form_through_the_sign_in() {
    let (app, hiring, owner, phone) = start();
    let part = owner.submit_for_parts(CONFIRM_REMOVE, &[NOTE, ("confirmation.code", "1")]).expect(401).text();
    assert!(part.starts_with("<template data-dialog>") && part.contains("Your session had ended"), "{part}");
    let (_, answer) = sign_in(&app, &hiring, &phone, &part);
    assert_eq!(with(&hidden_fields(&answer.expect(200).text(), REMOVE), &[]), [NOTE]);
    // A sign-in dialog that is shown instead of a page leads back to the page on which the dialog opened.
    let part = owner.send("GET", "/app/me", &[("X-Part", "1")], b"").expect(401).text();
    assert!(part.contains("data-here") && !part.contains("Your session had ended"), "{part}");
}

fn a_passkey_carries_the_form_through_the_sign_in() {
    let (app, hiring) = start_with_passkeys(false);
    let (owner, key) = (app.browser(&hiring, "owner"), Authenticator::new("key"));
    add_passkey(&owner, &key).expect(200);
    app.pass(30 * 60);
    let codes = "/app/me/recovery-codes";
    let page = owner.submit("/app/confirm?to=%2Fapp%2Fme%2Frecovery-codes", &[NOTE]).expect(401).text();
    let carried = hidden_fields(&page, "/sign-in/passkey");
    let (browser, options) = stranger(&app);
    let answer = browser.submit("/sign-in/passkey", &key.get(&options).and(&with(&carried, &[]))).expect(200);
    assert_eq!(with(&hidden_fields(&answer.text(), codes), &[]), [NOTE]);
    let browser = app.anonymous().with_header(SAME_ORIGIN.0, SAME_ORIGIN.1);
    browser.with_header("Cookie", &cookie(&answer)).submit(codes, &[NOTE]).expect(200);
}

fn a_confirmation_without_a_session_leads_only_to_pages_of_the_console() {
    let app = App::start();
    for target in
        ["/app/confirm?to=https%3A%2F%2Fevil.example", "/app/confirm?next=%2F%2Fevil.example", "/app/confirm?x=1"]
    {
        let page = app.anonymous().submit(target, &[NOTE]).expect(401).text();
        assert_eq!(with(&hidden_fields(&page, "/sign-in"), &[]), [("next", "/app")], "{target}");
    }
}
