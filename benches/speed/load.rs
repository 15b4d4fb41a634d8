//! The client: connections with one request under way each, on one thread, with as little work of its own as can be.

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

/// More than most answers have; it grows for others. Reads always have room left, by which tokio knows without asking
/// that all was read.
pub(crate) const BUFFER_BYTES: usize = 64 * 1_024;

/// Which requests are sent, and until when.
#[derive(Clone)]
pub(crate) enum Course {
    /// Any of them, for this long.
    For(Duration),
    /// Any of them, until this is set.
    Until(Arc<AtomicBool>),
    /// Each of them once, in order.
    Through,
}

/// What came of it.
pub(crate) struct Load {
    /// From the first request to the last answer.
    pub(crate) elapsed: Duration,
    /// One a request, in nanoseconds.
    pub(crate) latencies: Vec<u32>,
}

/// Sends requests on this many connections. Every answer has to be a 200.
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
                Course::For(duration) => Turn::UntilTime(Random::new(nth), began + *duration),
                Course::Until(end) => Turn::UntilSet(Random::new(nth), Arc::clone(end)),
                Course::Through => Turn::Through(Arc::clone(&next)),
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

/// Which request is next, from one connection's view.
enum Turn {
    UntilTime(Random, Instant),
    UntilSet(Random, Arc<AtomicBool>),
    Through(Arc<AtomicUsize>),
}

impl Turn {
    fn next(&mut self, requests: usize, now: Instant) -> Option<usize> {
        match self {
            Self::UntilTime(random, end) => (now < *end).then(|| random.below(requests)),
            Self::UntilSet(random, end) => (!end.load(Ordering::Relaxed)).then(|| random.below(requests)),
            Self::Through(next) => Some(next.fetch_add(1, Ordering::Relaxed)).filter(|nth| *nth < requests),
        }
    }
}

/// One connection, to its end; the latencies.
async fn converse(mut stream: TcpStream, requests: Arc<Vec<Vec<u8>>>, mut turn: Turn) -> Vec<u32> {
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut latencies = Vec::new();
    let mut now = Instant::now();
    while let Some(nth) = turn.next(requests.len(), now) {
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

/// A whole answer, of which only its status and its length are looked at.
pub(crate) async fn receive(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<()> {
    let mut read = 0;
    let mut whole = None;
    while whole.is_none_or(|whole| read < whole) {
        let more = poll_fn(|context| {
            let mut room = ReadBuf::new(&mut buffer[read..]);
            ready!(Pin::new(&mut *stream).poll_read(context, &mut room))?;
            Poll::Ready(Ok::<_, io::Error>(room.filled().len()))
        });
        let more = more.await?;
        assert!(more > 0, "an answer ends");
        read += more;
        whole = whole.or_else(|| length(&buffer[..read]));
        if let Some(whole) = whole.filter(|whole| *whole >= buffer.len()) {
            buffer.resize(whole + 1, 0);
        }
    }
    assert_eq!(whole, Some(read), "nothing comes behind an answer");
    let is_good = buffer.starts_with(b"HTTP/1.1 200 ");
    assert!(is_good, "an answer is a 200, and not {}", String::from_utf8_lossy(&buffer[..read]));
    Ok(())
}

/// Of a whole answer, once its head is there.
fn length(answer: &[u8]) -> Option<usize> {
    let head = find(answer, b"\r\n\r\n")?;
    let name = b"\r\ncontent-length: ";
    let value = &answer[find(&answer[..head + 2], name).expect("an answer tells its length") + name.len()..];
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit());
    Some(head + 4 + digits.fold(0, |length, digit| length * 10 + usize::from(digit - b'0')))
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}
