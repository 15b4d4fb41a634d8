//! A load whose requests are due at a fixed rate, even if the service cannot keep up.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use super::mix::{Kind, Request};
use crate::figures::Figures;
use crate::load::{BUFFER_BYTES, receive, send};

/// The connections, the rate and the duration of the load.
pub(crate) struct Pace<'a> {
    pub(crate) connections: usize,
    /// Requests per second, evenly spaced.
    pub(crate) rate: f64,
    /// The minimum duration, unless the requests run out earlier.
    pub(crate) duration: Duration,
    /// After the minimum duration, the load continues until this flag is set or no request is left.
    pub(crate) end: &'a AtomicBool,
}

/// The times from the scheduled start of each request to its answer.
pub(crate) struct Latencies(Vec<(Kind, Duration)>);

impl Latencies {
    pub(crate) fn of(&self, kind: Kind) -> Figures {
        Figures::new(self.0.iter().filter(|(of, _)| *of == kind).map(|(_, latency)| *latency).collect())
    }

    /// Returns the number of requests with a key.
    pub(crate) fn with_keys(&self) -> usize {
        self.0.iter().filter(|(kind, _)| kind.has_key()).count()
    }
}

/// The state that the connections and `keep_time` share.
struct Queue {
    requests: Vec<Request>,
    /// A permit for each request that is due.
    due: Semaphore,
    next: AtomicUsize,
    /// The number of requests. It is reduced when the load ends early.
    count: AtomicUsize,
}

/// Sends these requests in order. Returns the latencies, and the requests that are left. A request that is due is sent
/// on a free connection, or waits until one is free.
pub(crate) fn run(address: SocketAddr, pace: &Pace<'_>, requests: Vec<Request>) -> (Latencies, Vec<Request>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let count = AtomicUsize::new(requests.len());
    let queue = Arc::new(Queue { requests, due: Semaphore::new(0), next: AtomicUsize::new(0), count });
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
    let Queue { mut requests, count, .. } = Arc::into_inner(queue).expect("every connection has ended");
    let rest = requests.split_off(count.into_inner());
    (latencies, rest)
}

/// Releases each request when it is due. Timers of the runtime are too coarse, so this function reads the clock in a
/// loop. The client has its own core.
async fn keep_time(queue: &Queue, pace: &Pace<'_>, began: Instant, gap: Duration) {
    let mut sent = 0;
    while sent < queue.requests.len() && (began.elapsed() < pace.duration || !pace.end.load(Ordering::Relaxed)) {
        if began.elapsed() >= gap * u32::try_from(sent).unwrap() {
            queue.due.add_permits(1);
            sent += 1;
        } else {
            tokio::task::yield_now().await;
        }
    }
    queue.count.store(sent, Ordering::Relaxed);
    // Wakes waiting connections, which then end.
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
        let Request { kind, request } = &queue.requests[nth];
        send(&mut stream, request).await.unwrap();
        receive(&mut stream, &mut buffer).await.unwrap();
        let due = began + gap * u32::try_from(nth).unwrap();
        latencies.push((*kind, due.elapsed()));
    }
}
