//! The client. It has one request in progress on each connection, uses one thread, and does little work per request.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Poll, ready};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::random::Random;

/// The initial size of the buffer. It is larger than most answers, and the buffer grows for the others. Because each
/// read leaves room in the buffer, tokio needs no further system call to detect that it has read everything.
pub(crate) const BUFFER_BYTES: usize = 64 * 1_024;

/// The requests that the client sends, and the end of the load.
#[derive(Clone)]
pub(crate) enum Course {
    /// Random requests, for this long.
    For(Duration),
    /// Random requests, until this flag is set.
    Until(Arc<AtomicBool>),
    /// Each request once, in order.
    Through,
}

/// The results of a load.
pub(crate) struct Load {
    /// The time from the first request to the last answer.
    pub(crate) elapsed: Duration,
    /// The latency of each request, in nanoseconds.
    pub(crate) latencies: Vec<u32>,
}

/// Sends requests on this many connections. Panics if an answer does not have the status 200.
pub(crate) fn run(address: SocketAddr, connections: usize, requests: &Arc<Vec<Vec<u8>>>, course: &Course) -> Load {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    runtime.block_on(async {
        let mut streams = Vec::new();
        for _ in 0..connections {
            let stream = TcpStream::connect(address).await.unwrap();
            stream.set_nodelay(true).unwrap();
            streams.push(stream);
        }
        let next = Arc::new(AtomicUsize::new(0));
        let began = Instant::now();
        let converse = |(nth, stream)| {
            let course = match course {
                Course::For(duration) => Schedule::UntilTime(Random::new(nth), began + *duration),
                Course::Until(end) => Schedule::UntilSet(Random::new(nth), Arc::clone(end)),
                Course::Through => Schedule::Through(Arc::clone(&next)),
            };
            tokio::spawn(converse(stream, Arc::clone(requests), course))
        };
        let conversations: Vec<_> = (0..).zip(streams).map(converse).collect();
        let mut latencies = Vec::new();
        for conversation in conversations {
            latencies.extend(conversation.await.unwrap());
        }
        Load { elapsed: began.elapsed(), latencies }
    })
}

/// Chooses the next request of a connection.
enum Schedule {
    UntilTime(Random, Instant),
    UntilSet(Random, Arc<AtomicBool>),
    Through(Arc<AtomicUsize>),
}

impl Schedule {
    fn next(&mut self, requests: usize, now: Instant) -> Option<usize> {
        match self {
            Self::UntilTime(random, end) => (now < *end).then(|| random.below(requests)),
            Self::UntilSet(random, end) => (!end.load(Ordering::Relaxed)).then(|| random.below(requests)),
            Self::Through(next) => Some(next.fetch_add(1, Ordering::Relaxed)).filter(|nth| *nth < requests),
        }
    }
}

/// Sends the requests of one connection and returns their latencies.
async fn converse(mut stream: TcpStream, requests: Arc<Vec<Vec<u8>>>, mut schedule: Schedule) -> Vec<u32> {
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut latencies = Vec::new();
    let mut now = Instant::now();
    while let Some(nth) = schedule.next(requests.len(), now) {
        send(&mut stream, &requests[nth]).await.unwrap();
        receive(&mut stream, &mut buffer).await.unwrap();
        let answered = Instant::now();
        latencies.push(u32::try_from((answered - now).as_nanos()).unwrap_or(u32::MAX));
        now = answered;
    }
    latencies
}

pub(crate) async fn send(stream: &mut TcpStream, mut request: &[u8]) -> io::Result<()> {
    while !request.is_empty() {
        let written = poll_fn(|context| Pin::new(&mut *stream).poll_write(context, request)).await?;
        request = &request[written..];
    }
    Ok(())
}

/// Receives a complete answer. Checks only its status and its length.
pub(crate) async fn receive(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<()> {
    let mut read = 0;
    let mut total = None;
    while total.is_none_or(|total| read < total) {
        let more = poll_fn(|context| {
            let mut room = ReadBuf::new(&mut buffer[read..]);
            ready!(Pin::new(&mut *stream).poll_read(context, &mut room))?;
            Poll::Ready(Ok::<_, io::Error>(room.filled().len()))
        });
        let more = more.await?;
        assert!(more > 0, "the connection stays open until the end of an answer");
        read += more;
        total = total.or_else(|| length(&buffer[..read]));
        if let Some(total) = total.filter(|total| *total >= buffer.len()) {
            buffer.resize(total + 1, 0);
        }
    }
    assert_eq!(total, Some(read), "no bytes follow an answer");
    let is_good = buffer.starts_with(b"HTTP/1.1 200 ");
    assert!(is_good, "the status is 200: {}", String::from_utf8_lossy(&buffer[..read]));
    Ok(())
}

/// Returns the length of the complete answer, or `None` if its head has not arrived.
fn length(answer: &[u8]) -> Option<usize> {
    let head = find(answer, b"\r\n\r\n")?;
    let name = b"\r\ncontent-length: ";
    let value = &answer[find(&answer[..head + 2], name).expect("an answer has a content length") + name.len()..];
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit());
    Some(head + 4 + digits.fold(0, |length, digit| length * 10 + usize::from(digit - b'0')))
}

fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).position(|window| window == needle)
}
