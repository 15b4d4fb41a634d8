//! The time until a hire reaches a healthy HR system while other HR systems hang.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::Client;
use super::company::{Deployment, Organization};
use super::figures::{Figures, verdict};
use super::receiver::{Hanging, Healthy};
use super::service::PATIENCE;

const HIRES: usize = 50;

/// The number of hires in each organization whose HR system hangs: one delivery is in progress, the others are pending.
const HIRES_OWED: usize = 3;

/// The target: the maximum time from the answer to a hire to the arrival of its message.
const LIMIT: Duration = Duration::from_secs(1);

/// The measured times of all hires.
pub(crate) struct Arrivals {
    hanging: usize,
    figures: Figures,
}

/// Measures the times while the HR systems of this many organizations hang.
pub(crate) fn measure(count: usize) -> Arrivals {
    let (hanging, healthy) = (Hanging::start(), Healthy::start());
    let target = Some(hanging.address);
    let mut others: Vec<_> =
        (0..count).map(|nth| Organization::new(&format!("org_{nth}"), HIRES_OWED, target)).collect();
    let mut healthy_organization = Organization::new("org_well", HIRES, Some(healthy.address));
    let deployment = Deployment::with(&others.iter().chain([&healthy_organization]).collect::<Vec<_>>());
    let mut client = Client::connect(deployment.service.address).unwrap();
    for _ in 0..HIRES_OWED {
        for other in &mut others {
            client.ask(&deployment.hire(other).0).unwrap().expect(200);
        }
    }
    let began = Instant::now();
    while hanging.accepted() < count {
        assert!(began.elapsed() < PATIENCE, "every organization's target is tried");
        std::thread::sleep(Duration::from_millis(5));
    }
    let times = (0..HIRES).map(|nth| {
        // The hires are spread over the poll interval of the delivery worker, which polls every 100 ms and after each
        // attempt.
        std::thread::sleep(Duration::from_millis(nth as u64 * 37 % 100));
        let (request, application) = deployment.hire(&mut healthy_organization);
        client.ask(&request).unwrap().expect(200);
        let answered = Instant::now();
        let message = healthy.next();
        assert!(
            message.body.contains(&format!("{application:?}")),
            "the message is about {application}: {}",
            message.body
        );
        // The message can arrive before the answer.
        message.at.saturating_duration_since(answered)
    });
    Arrivals { hanging: count, figures: Figures::new(times.collect()) }
}

impl Arrivals {
    fn is_met(&self) -> bool {
        self.figures.max() <= LIMIT
    }

    pub(crate) fn json(&self) -> Value {
        let mut seconds = self.figures.json();
        seconds["p99"] = self.figures.p99().as_secs_f64().into();
        let limit = LIMIT.as_secs_f64();
        json!({ "hanging": self.hanging, "seconds": seconds, "limit": limit, "met": self.is_met() })
    }
}

/// Returns the table of all measurements. The target applies only to the first measurement.
pub(crate) fn table(all: &[Arrivals]) -> String {
    let heading = format!("{HIRES} hires, answer to arrival");
    let mut table = format!("{heading:<28}{:>10}{:>10}{:>10}  target: all in {LIMIT:?}\n", "median", "p99", "max");
    for (nth, one) in all.iter().enumerate() {
        let name = format!("{} HR systems hang", one.hanging);
        let times = [one.figures.median(), one.figures.p99(), one.figures.max()];
        let [median, p99, max] = times.map(|one| one.as_secs_f64() * 1e3);
        let verdict = verdict(one.is_met());
        let words = if nth == 0 { verdict.to_owned() } else { format!("for information ({verdict})") };
        let _ = writeln!(table, "  {name:<26}{median:>7.0} ms{p99:>7.0} ms{max:>7.0} ms  {words}");
    }
    table
}
