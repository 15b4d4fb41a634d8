//! A stop of the service during deliveries.

use std::time::{Duration, Instant};

use super::admin::Admin;
use super::fixture::Fixture;
use super::receiver::{Behaviour, Receiver};
use crate::support::{RunningService, WorkDir};

/// The maximum duration of a stop. After this time, systemd kills the process (`TimeoutStopSec` in
/// `examples/appliance.service`).
const STOP_MAX: Duration = Duration::from_secs(30);

/// Starts the service with a time limit for attempts that is longer than [`STOP_MAX`], so that a stop that waits for
/// attempts to time out fails the test.
fn serve(dir: &WorkDir, fixture: &Fixture) -> (RunningService, Admin) {
    let fixed = ["--allow-private-hr-targets", "--hr-retry-schedule", "168h", "--hr-timeout", "2m"];
    let service = dir.serve(&[&fixed[..], &["--db", fixture.db()]].concat());
    let admin = Admin::new(fixture, service.address);
    (service, admin)
}

#[test]
fn a_stop_interrupts_hanging_deliveries_and_the_next_start_sends_them_again() {
    let (dir, fixture, receiver) = (WorkDir::new(), Fixture::with(3), Receiver::start());
    let (service, admin) = serve(&dir, &fixture);
    let secrets = admin.connect(&fixture, "http", &receiver);
    receiver.set_behaviour(Behaviour::Hang);
    let hired = [0, 1, 2].map(|number| fixture.company.organization_of(number).take_uncontested().unwrap());
    hired.iter().for_each(|application| admin.hire(application));
    let interrupted = receiver.wait_for(3);
    let began = Instant::now();
    service.stop("TERM").succeeded();
    assert!(began.elapsed() < STOP_MAX, "{:?}", began.elapsed());
    dir.run(&["check", "--db", fixture.db()]).succeeded();
    receiver.set_behaviour(Behaviour::Accept);
    let (service, admin) = serve(&dir, &fixture);
    hired.iter().for_each(|application| drop(admin.wait_delivered(application)));
    let mut sent = receiver.arrivals().split_off(3);
    assert_eq!(sent.len(), 3);
    for before in interrupted {
        let again = sent.iter().position(|after| after.message.id() == before.message.id()).unwrap();
        let again = sent.swap_remove(again);
        assert_eq!((again.message.body, again.verified), (before.message.body, Ok(())));
    }
    fixture.require_no_private_text(&service.stop("TERM").succeeded().stderr, &secrets);
}

#[test]
fn an_answer_during_the_stop_is_recorded() {
    let (dir, fixture, receiver) = (WorkDir::new(), Fixture::with(2), Receiver::start());
    let (mut service, admin) = serve(&dir, &fixture);
    admin.connect(&fixture, "http", &receiver);
    receiver.set_behaviour(Behaviour::Hold);
    let (first, second) = (fixture.take(), fixture.take());
    admin.hire(&first);
    receiver.wait_for(1);
    service.signal("TERM");
    service.wait_for(|line| line.starts_with("stopping"));
    receiver.release();
    let log = service.wait().succeeded().stderr;
    assert!(log.contains("answered 200; delivered"), "{log}");
    let (service, admin) = serve(&dir, &fixture);
    // The first delivery was due before the second, so a repeat of the first would arrive before the second.
    admin.hire(&second);
    admin.wait_delivered(&second);
    assert_eq!(admin.delivery_of(&first)["state"], "delivered");
    assert_eq!(receiver.arrivals().len(), 2);
    service.stop("TERM").succeeded();
}
