//! A stop with deliveries under way.

use std::time::{Duration, Instant};

use crate::admin::Admin;
use crate::receiver::{Behaviour, Receiver};
use crate::setting::Setting;
use crate::support::{Place, Serving};

/// How long a stop may take: what a supervisor waits before it kills.
const STOP_MAX: Duration = Duration::from_secs(30);

/// Starts the service with a time limit that no stop waits for.
fn serve(place: &Place, setting: &Setting) -> (Serving, Admin) {
    let fixed = ["--allow-private-hr-targets", "--hr-retry-schedule", "168h", "--hr-timeout", "2m"];
    let serving = place.serve(&[&fixed[..], &["--db", setting.db()]].concat());
    let admin = Admin::new(setting, serving.address);
    (serving, admin)
}

#[test]
fn a_stop_does_not_wait_for_receivers_that_hang_and_what_it_cuts_off_is_sent_after_the_next_start() {
    let (place, setting, receiver) = (Place::new(), Setting::with(3), Receiver::start());
    let (serving, admin) = serve(&place, &setting);
    let secrets = admin.connect(&setting, "http", &receiver);
    receiver.will(Behaviour::Hang);
    let hired = [0, 1, 2].map(|number| setting.company.organization_of(number).take_wide().unwrap());
    hired.iter().for_each(|application| admin.hire(application));
    let cut_off = receiver.wait_for(3);
    let began = Instant::now();
    serving.stop("TERM").succeeded();
    assert!(began.elapsed() < STOP_MAX, "{:?}", began.elapsed());
    place.run(&["check", "--db", setting.db()]).succeeded();
    receiver.will(Behaviour::Accept);
    let (serving, admin) = serve(&place, &setting);
    hired.iter().for_each(|application| drop(admin.wait_delivered(application)));
    let mut sent = receiver.arrivals().split_off(3);
    assert_eq!(sent.len(), 3);
    for before in cut_off {
        let again = sent.iter().position(|after| after.message.id() == before.message.id()).unwrap();
        let again = sent.swap_remove(again);
        assert_eq!((again.message.body, again.verified), (before.message.body, Ok(())));
    }
    setting.require_discreet(&serving.stop("TERM").succeeded().stderr, &secrets);
}

#[test]
fn an_answer_that_comes_while_the_service_stops_counts() {
    let (place, setting, receiver) = (Place::new(), Setting::with(2), Receiver::start());
    let (mut serving, admin) = serve(&place, &setting);
    admin.connect(&setting, "http", &receiver);
    receiver.will(Behaviour::Hold);
    let (first, second) = (setting.take(), setting.take());
    admin.hire(&first);
    receiver.wait_for(1);
    serving.signal("TERM");
    serving.wait_for(|line| line.starts_with("stopping"));
    receiver.release();
    let log = serving.ended().succeeded().stderr;
    assert!(log.contains("answered 200; delivered"), "{log}");
    let (serving, admin) = serve(&place, &setting);
    // The second has come, so the first would have: it was due before.
    admin.hire(&second);
    admin.wait_delivered(&second);
    assert_eq!(admin.delivery_of(&first)["state"], "delivered");
    assert_eq!(receiver.arrivals().len(), 2);
    serving.stop("TERM").succeeded();
}
