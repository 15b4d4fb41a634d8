//! Retries of deliveries: the documented times to the second, the effect of `Retry-After`, and the final failure.

use std::time::Duration;

use appliance::domain::timestamp::Timestamp;
use appliance::world::World as _;
use serde_json::{Value, json};

use crate::hr_send::{after_attempts, delivering, eventually, hire, integrate};
use crate::support::app::Hr;
use crate::support::{App, Behaviour, Receiver};

crate::tests![
    a_delivery_fails_after_ten_attempts_at_the_documented_times,
    jitter_adds_at_most_a_tenth_to_each_delay,
    each_attempt_sends_the_same_message_with_its_own_timestamp,
    retrying_a_failed_delivery_repeats_the_whole_schedule,
    retry_after_can_lengthen_a_delay_but_not_shorten_it,
    retry_after_is_honoured_to_the_second,
];

/// The delays between attempts, in seconds: 5 s, 5 min, 30 min, and then 2, 5, 10, 14, 20 and 24 h.
const DELAYS: [u64; 9] = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];

/// An organization whose pings arrive. A delivered ping shows that the delivery worker has polled at the current time
/// and has seen all due deliveries.
pub(crate) struct WorkerProbe {
    organization_id: String,
    _receiver: Receiver,
}

impl WorkerProbe {
    pub(crate) fn new(app: &App) -> Self {
        let (organization_id, receiver) = (app.hiring().organization_id, Receiver::start());
        integrate(app, &organization_id, &receiver.url("/"), true);
        Self { organization_id, _receiver: receiver }
    }

    /// Waits for two polls of the worker. Deliveries that the first poll starts are in progress at the second.
    pub(crate) fn wait(&self, app: &App) {
        let path = format!("/api/admin/organizations/{}/hr-integration/test", self.organization_id);
        for _ in 0..2 {
            let id = app.admin().post_empty(&path).expect(202).json()["data"]["id"].as_str().unwrap().to_owned();
            eventually(app, &id, |ping| ping["state"] == "delivered");
        }
    }
}

/// A single delivery to one target, with fixed random bytes.
struct Trial {
    app: App,
    probe: WorkerProbe,
    receiver: Receiver,
    secret: String,
    id: String,
    began: Timestamp,
}

fn trial(answer: Behaviour, random: u8) -> Trial {
    trial_with(Hr::default(), answer, random)
}

fn trial_with(hr: Hr, answer: Behaviour, random: u8) -> Trial {
    let app = delivering(hr);
    let (probe, hiring, receiver) = (WorkerProbe::new(&app), app.hiring(), Receiver::start());
    receiver.will([answer]);
    // The delivery is held until the random bytes are fixed.
    let secret = integrate(&app, &hiring.organization_id, &receiver.url("/"), false).unwrap();
    let id = hire(&app, &hiring, 0);
    app.world.fix_random(Some(random));
    let began = app.world.now();
    integrate(&app, &hiring.organization_id, &receiver.url("/"), true);
    Trial { app, probe, receiver, secret, id, began }
}

impl Trial {
    /// Moves the clock to one second before this time, checks that no attempt happens, and then moves it to the time
    /// itself.
    fn go_to(&self, time: Timestamp) {
        let before = self.receiver.seen().len();
        self.app.world.set(Timestamp::from_micros(time.micros() - 1_000_000));
        self.probe.wait(&self.app);
        assert_eq!(self.receiver.seen().len(), before, "no attempt a second before {time}");
        self.app.world.set(time);
    }

    /// Runs through a schedule with these delays, lengthened by `longer`, and returns the times of the attempts.
    fn run_out(&self, delays: &[u64], longer: impl Fn(Duration) -> Duration) -> Vec<Timestamp> {
        let mut times = vec![self.began];
        for delay in delays {
            let delivery = after_attempts(&self.app, &self.id, times.len() as u64);
            times.push(times[times.len() - 1].plus(longer(Duration::from_secs(*delay))));
            let next = times[times.len() - 1];
            assert_eq!((&delivery["state"], &delivery["nextAttemptAt"]), (&json!("pending"), &json!(next.to_string())));
            self.go_to(next);
        }
        times
    }

    /// Asserts that the delivery failed after attempts at exactly these times and is not tried again.
    fn assert_failed_after(&self, times: &[Timestamp]) {
        let count = times.len();
        let failed = after_attempts(&self.app, &self.id, count as u64);
        assert_eq!((&failed["state"], &failed["nextAttemptAt"]), (&json!("failed"), &Value::Null));
        self.app.pass(30 * 86_400);
        self.probe.wait(&self.app);
        assert_eq!(eventually(&self.app, &self.id, |_| true), failed);
        let history = failed["history"].as_array().unwrap();
        let recorded: Vec<String> = history.iter().map(|attempt| attempt["at"].as_str().unwrap().to_owned()).collect();
        assert_eq!(recorded, times.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert!(history.iter().all(|attempt| attempt["status"] == 500 && attempt["error"].is_null()));
        assert_eq!(self.receiver.seen().len(), count);
    }
}

fn a_delivery_fails_after_ten_attempts_at_the_documented_times() {
    let trial = trial(Behaviour::status(500), 0);
    let times = trial.run_out(&DELAYS, |delay| delay);
    assert_eq!(times.len(), 10);
    trial.assert_failed_after(&times);
}

fn jitter_adds_at_most_a_tenth_to_each_delay() {
    let trial = trial(Behaviour::status(500), 0xff);
    let times = trial.run_out(&DELAYS, |delay| delay + delay / 10);
    trial.assert_failed_after(&times);
}

fn each_attempt_sends_the_same_message_with_its_own_timestamp() {
    let trial = trial_with(Hr { schedule: "5s,5m,2h", ..Hr::default() }, Behaviour::status(500), 0);
    let times = trial.run_out(&[5, 300, 7_200], |delay| delay);
    let seen = trial.receiver.wait_for(4);
    for (message, at) in seen.iter().zip(times) {
        assert_eq!((message.id(), &message.body), (trial.id.as_str(), &seen[0].body));
        assert_eq!(message.header("webhook-timestamp"), (at.micros() / 1_000_000).to_string());
        assert!(message.is_signed_with(&trial.secret));
        assert!(!message.is_signed_with("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), "another secret does not match");
    }
}

fn retrying_a_failed_delivery_repeats_the_whole_schedule() {
    let trial = trial_with(Hr { schedule: "5s,5m", ..Hr::default() }, Behaviour::status(500), 0);
    trial.run_out(&[5, 300], |delay| delay);
    assert_eq!(after_attempts(&trial.app, &trial.id, 3)["state"], "failed");
    trial.app.pass(86_400);
    let again = trial.app.world.now();
    trial.app.admin().post_empty(&format!("/api/admin/hr-deliveries/{}/retry", trial.id)).expect(200);
    let delivery = after_attempts(&trial.app, &trial.id, 4);
    assert_eq!(delivery["nextAttemptAt"], again.plus(Duration::from_secs(5)).to_string());
    trial.go_to(again.plus(Duration::from_secs(5)));
    let delivery = after_attempts(&trial.app, &trial.id, 5);
    assert_eq!(delivery["nextAttemptAt"], again.plus(Duration::from_secs(305)).to_string());
    assert_eq!(trial.receiver.wait_for(5)[4].id(), trial.id);
}

fn retry_after_can_lengthen_a_delay_but_not_shorten_it() {
    let app = delivering(Hr::default());
    // The test clock shows 09:00:00 on 21 November 2026, a Saturday.
    let cases = [
        (503, "4", 5),
        (503, "5", 5),
        (503, "6", 6),
        (429, "3600", 3_600),
        (500, "86399", 86_399),
        (404, "86400", 86_400),
        (503, "86401", 86_400),
        (503, "99999999999999999999999", 86_400),
        (503, "Sat, 21 Nov 2026 08:00:00 GMT", 5),
        (503, "Sat, 21 Nov 2026 09:00:04 GMT", 5),
        (503, "Sat, 21 Nov 2026 09:00:06 GMT", 6),
        (503, "Sat, 21 Nov 2026 09:02:00 GMT", 120),
        (503, "Sun, 22 Nov 2026 09:00:00 GMT", 86_400),
        (503, "Sun, 22 Nov 2026 09:00:01 GMT", 86_400),
        (503, "Mon, 01 Jan 2029 00:00:00 GMT", 86_400),
        (503, "soon", 5),
        (503, "-100", 5),
        (503, "", 5),
    ];
    let mut sent = Vec::new();
    for (status, retry_after, seconds) in cases {
        let (hiring, receiver) = (app.hiring(), Receiver::start());
        receiver.will([Behaviour::Answer(status, vec![("Retry-After", retry_after.to_owned())], Vec::new())]);
        integrate(&app, &hiring.organization_id, &receiver.url("/"), false);
        sent.push((hire(&app, &hiring, 0), hiring, receiver, retry_after, seconds));
    }
    app.world.fix_random(Some(0));
    sent.iter().for_each(|(_, hiring, receiver, ..)| {
        integrate(&app, &hiring.organization_id, &receiver.url("/"), true);
    });
    for (id, _, _, retry_after, seconds) in &sent {
        let next = app.world.now().plus(Duration::from_secs(*seconds)).to_string();
        assert_eq!(after_attempts(&app, id, 1)["nextAttemptAt"], next, "{retry_after:?}");
    }
}

fn retry_after_is_honoured_to_the_second() {
    let trial = trial(Behaviour::Answer(503, vec![("Retry-After", "60".to_owned())], Vec::new()), 0);
    after_attempts(&trial.app, &trial.id, 1);
    let second = trial.began.plus(Duration::from_secs(60));
    trial.go_to(second);
    // The attempt is part of the schedule, so the next delay is the second one.
    let delivery = after_attempts(&trial.app, &trial.id, 2);
    assert_eq!(delivery["lastAttempt"]["at"], second.to_string());
    assert_eq!(delivery["nextAttemptAt"], second.plus(Duration::from_secs(300)).to_string());
    trial.go_to(second.plus(Duration::from_secs(300)));
    assert_eq!(trial.receiver.wait_for(3).len(), 3);
}
