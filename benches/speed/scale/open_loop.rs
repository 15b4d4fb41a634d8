//! A load whose requests come when they come, whether the service keeps up or not.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use super::mix::{Asked, Kind};
use crate::figures::Figures;
use crate::load::{BUFFER_BYTES, receive, send};

/// When requests are sent, and until when.
pub(crate) struct Pace<'a> {
    pub(crate) connections: usize,
    /// Evenly, so many a second.
    pub(crate) rate: f64,
    /// At least this long.
    pub(crate) duration: Duration,
    /// And then until this is set, as long as there are requests.
    pub(crate) end: &'a AtomicBool,
}

/// From when a request should have been sent to its answer.
pub(crate) struct Latencies(Vec<(Kind, Duration)>);

impl Latencies {
    pub(crate) fn of(&self, kind: Kind) -> Figures {
        Figures::new(self.0.iter().filter(|(of, _)| *of == kind).map(|(_, latency)| *latency).collect())
    }

    /// How many requests had a key.
    pub(crate) fn with_keys(&self) -> usize {
        self.0.iter().filter(|(kind, _)| kind.has_key()).count()
    }
}

/// What the connections and the clock share.
struct Queue {
    asked: Vec<Asked>,
    /// A permit for each request whose time has come.
    due: Semaphore,
    next: AtomicUsize,
    /// Requests that there will be, once that is known.
    count: AtomicUsize,
}

/// Sends these in order; what is left is given back. A request whose time has come goes to whichever connection is free, and waits where none is.
pub(crate) fn run(address: SocketAddr, pace: &Pace<'_>, asked: Vec<Asked>) -> (Latencies, Vec<Asked>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let count = AtomicUsize::new(asked.len());
    let queue = Arc::new(Queue { asked, due: Semaphore::new(0), next: AtomicUsize::new(0), count });
    let latencies = runtime.block_on(async {
        let mut streams = Vec::new();
        for _ in 0..pace.connections {
            let stream = TcpStream::connect(address).await.unwrap();
            stream.set_nodelay(true).unwrap();
            streams.push(stream);
        }
        let gap = Duration::from_secs_f64(1.0 / pace.rate);
        let began = Instant::now();
        let converse = |stream| tokio::spawn(converse(stream, Arc::clone(&queue), began, gap));
        let conversations: Vec<_> = streams.into_iter().map(converse).collect();
        keep_time(&queue, pace, began, gap).await;
        let mut latencies = Vec::new();
        for conversation in conversations {
            latencies.extend(conversation.await.unwrap());
        }
        Latencies(latencies)
    });
    let Queue { mut asked, count, .. } = Arc::into_inner(queue).expect("every connection has ended");
    let rest = asked.split_off(count.into_inner());
    (latencies, rest)
}

/// Lets each request go when its time has come. Timers of the runtime are too coarse for that, so it looks at the clock
/// again and again; the core is the client's own.
async fn keep_time(queue: &Queue, pace: &Pace<'_>, began: Instant, gap: Duration) {
    let mut sent = 0;
    while sent < queue.asked.len() && (began.elapsed() < pace.duration || !pace.end.load(Ordering::Relaxed)) {
        if began.elapsed() >= gap * u32::try_from(sent).unwrap() {
            queue.due.add_permits(1);
            sent += 1;
        } else {
            tokio::task::yield_now().await;
        }
    }
    queue.count.store(sent, Ordering::Relaxed);
    // Those that wait learn that nothing comes.
    queue.due.add_permits(pace.connections);
}

async fn converse(mut stream: TcpStream, queue: Arc<Queue>, began: Instant, gap: Duration) -> Vec<(Kind, Duration)> {
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut latencies = Vec::new();
    loop {
        queue.due.acquire().await.unwrap().forget();
        let nth = queue.next.fetch_add(1, Ordering::Relaxed);
        if nth >= queue.count.load(Ordering::Relaxed) {
            return latencies;
        }
        let Asked { kind, request } = &queue.asked[nth];
        send(&mut stream, request).await.unwrap();
        receive(&mut stream, &mut buffer).await.unwrap();
        let due = began + gap * u32::try_from(nth).unwrap();
        latencies.push((*kind, due.elapsed()));
    }
}
