//! An HR system for tests. It receives messages, answers them correctly or incorrectly, goes down, and listens again on
//! the same port. It records all arrivals and acceptances in one order.

use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use socket2::{Domain, Socket, Type};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::kill_point::{KillPoint, Trigger};
use super::message::Message;
use super::random::RandomNumbers;
use super::service::PATIENCE;

/// The behaviour of the receiver on a connection.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Behaviour {
    /// Accepts the message.
    Accept,
    /// Answers with a 500.
    Refuse,
    /// Reads the message and does not answer.
    Hang,
    /// Reads the message, waits for [`Receiver::release`] and accepts it.
    Hold,
    /// Closes the connection without reading.
    HangUpFirst,
    /// Closes the connection after reading the message.
    HangUp,
    /// Begins an answer with status 200 and closes the connection before the answer ends. The service must not treat
    /// that as acceptance.
    BreakOff,
    /// Answers with this head, and with the body of the message as the body.
    Echo(&'static str),
}

/// The way in which the receiver chooses its behaviour.
enum Choice {
    Always(Behaviour),
    /// Behaves randomly, and never accepts messages with certain ids.
    Random(RandomNumbers),
}

/// The layer between the connection and the messages.
#[derive(Clone)]
pub(crate) enum Layer {
    /// Plain HTTP.
    Plain,
    /// TLS.
    Tls(Arc<ServerConfig>),
    /// A plain HTTP server that answers a TLS handshake with a 400.
    NotTls,
    /// A server that never answers.
    Mute,
}

/// A message that arrived. Both times are positions in the order of all events at the receiver.
#[derive(Debug, Clone)]
pub(crate) struct Arrival {
    pub(crate) message: Message,
    /// The result of verifying its signature.
    pub(crate) verified: Result<(), String>,
    /// The time at which its connection was accepted. The time of reading is not used, because the message of a killed
    /// service can be read late.
    pub(crate) connected: u64,
    /// The time just before the first byte of the accepting answer, if there was one.
    pub(crate) accepted: Option<u64>,
}

struct State {
    is_up: bool,
    choice: Choice,
    layer: Layer,
    is_released: bool,
    /// The secret of each path.
    secrets: HashMap<String, String>,
    now: u64,
    open: HashMap<u64, TcpStream>,
    arrivals: Vec<Arrival>,
    /// The server name of each TLS handshake.
    names: Vec<Option<String>>,
    tally: BTreeMap<Behaviour, usize>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    trigger: Arc<Trigger>,
}

/// A receiver on its own port.
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    listening: Option<JoinHandle<()>>,
    /// A socket that is bound but not listening. It reserves the port while the receiver is down.
    _reserved: Socket,
}

impl Receiver {
    /// Starts a receiver that accepts every message.
    pub(crate) fn start() -> Self {
        Self::with(Arc::default())
    }

    /// Starts a receiver that accepts every message and reports events to this trigger.
    pub(crate) fn with(trigger: Arc<Trigger>) -> Self {
        let reserved = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        reserved.set_reuse_address(true).unwrap();
        reserved.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        let address = reserved.local_addr().unwrap().as_socket().unwrap();
        let state = State {
            is_up: false,
            choice: Choice::Always(Behaviour::Accept),
            layer: Layer::Plain,
            is_released: false,
            secrets: HashMap::new(),
            now: 0,
            open: HashMap::new(),
            arrivals: Vec::new(),
            names: Vec::new(),
            tally: BTreeMap::new(),
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new(), trigger });
        let mut receiver = Self { address, shared, listening: None, _reserved: reserved };
        receiver.up();
        receiver
    }

    /// Listens again on the same port.
    pub(crate) fn up(&mut self) {
        let listener = TcpListener::bind(self.address).unwrap();
        self.shared.lock().is_up = true;
        let shared = Arc::clone(&self.shared);
        self.listening = Some(std::thread::spawn(move || listen(&listener, &shared)));
    }

    /// Stops in the same way as a killed process: the port does not listen, and every connection is closed.
    pub(crate) fn down(&mut self) {
        {
            let mut state = self.shared.lock();
            state.is_up = false;
            state.open.drain().for_each(|(_, stream)| drop(stream.shutdown(Shutdown::Both)));
        }
        // The listening thread checks `is_up` only when a connection arrives.
        drop(TcpStream::connect(self.address));
        self.listening.take().unwrap().join().unwrap();
    }

    /// Sets the behaviour on all later connections.
    pub(crate) fn set_behaviour(&self, behaviour: Behaviour) {
        self.shared.lock().choice = Choice::Always(behaviour);
    }

    /// Makes the receiver behave randomly.
    pub(crate) fn behave_randomly(&self, random: RandomNumbers) {
        self.shared.lock().choice = Choice::Random(random);
    }

    /// Sets the layer of new connections.
    pub(crate) fn set_layer(&self, layer: Layer) {
        self.shared.lock().layer = layer;
    }

    /// Sets the secret of the expected signatures at this path.
    pub(crate) fn expect_secret(&self, path: &str, secret: &str) {
        self.shared.lock().secrets.insert(path.to_owned(), secret.to_owned());
    }

    /// Accepts all held messages.
    pub(crate) fn release(&self) {
        self.shared.lock().is_released = true;
        self.shared.changed.notify_all();
    }

    /// Waits for at least this many messages and returns all messages.
    #[track_caller]
    pub(crate) fn wait_for(&self, count: usize) -> Vec<Arrival> {
        let too_few = |state: &mut State| state.arrivals.len() < count;
        let waited = self.shared.changed.wait_timeout_while(self.shared.lock(), PATIENCE, too_few).unwrap().0;
        assert!(waited.arrivals.len() >= count, "{} of {count} messages arrived", waited.arrivals.len());
        waited.arrivals.clone()
    }

    /// Returns all messages so far.
    pub(crate) fn arrivals(&self) -> Vec<Arrival> {
        self.wait_for(0)
    }

    /// Returns the server name of each TLS handshake, if it had one.
    pub(crate) fn names(&self) -> Vec<Option<String>> {
        self.shared.lock().names.clone()
    }

    /// Returns the number of connections for which each behaviour was chosen. A message that is never accepted is
    /// refused in spite of the choice.
    pub(crate) fn tally(&self) -> BTreeMap<Behaviour, usize> {
        self.shared.lock().tally.clone()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread of a connection panicked")
    }
}

impl State {
    fn tick(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    /// Returns the behaviour on the next connection.
    fn choose(&mut self) -> Behaviour {
        let Choice::Random(random) = &mut self.choice else { return self.always() };
        match random.below(100) {
            0..45 => Behaviour::Accept,
            45..67 => Behaviour::Refuse,
            67..73 => Behaviour::Hang,
            73..82 => Behaviour::HangUpFirst,
            82..92 => Behaviour::HangUp,
            _ => Behaviour::BreakOff,
        }
    }

    fn always(&self) -> Behaviour {
        match &self.choice {
            Choice::Always(behaviour) => behaviour.clone(),
            Choice::Random(_) => Behaviour::Refuse,
        }
    }

    /// Returns whether a randomly behaving receiver never accepts this message. This applies to about one message in
    /// eight.
    fn never_accepts(&self, id: &str) -> bool {
        matches!(self.choice, Choice::Random(_)) && id.bytes().map(usize::from).sum::<usize>().is_multiple_of(8)
    }
}

/// Accepts all connections on one thread, in the order in which they were opened.
fn listen(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        let stream = stream.unwrap();
        let mut state = shared.lock();
        if !state.is_up {
            return;
        }
        let (connected, behaviour, layer) = (state.tick(), state.choose(), state.layer.clone());
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        state.open.insert(connected, stream.try_clone().unwrap());
        *state.tally.entry(behaviour.clone()).or_default() += 1;
        drop(state);
        let shared = Arc::clone(shared);
        std::thread::spawn(move || {
            // Either side can close the connection first, so an error is not a failure.
            let _ = handle(&shared, stream, layer, connected, behaviour);
            shared.lock().open.remove(&connected);
        });
    }
}

fn handle(
    shared: &Shared,
    mut stream: TcpStream,
    layer: Layer,
    connected: u64,
    behaviour: Behaviour,
) -> std::io::Result<()> {
    match layer {
        Layer::Plain => serve(shared, stream, connected, behaviour),
        Layer::Tls(config) => {
            let mut connection = ServerConnection::new(config).map_err(std::io::Error::other)?;
            let handshake = connection.complete_io(&mut stream);
            shared.lock().names.push(connection.server_name().map(str::to_owned));
            handshake?;
            serve(shared, StreamOwned::new(connection, stream), connected, behaviour)
        }
        Layer::NotTls => {
            let _ = stream.read(&mut [0; 4_096])?;
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        }
        Layer::Mute => until_closed(stream),
    }
}

fn serve(shared: &Shared, mut stream: impl Read + Write, connected: u64, behaviour: Behaviour) -> std::io::Result<()> {
    if behaviour == Behaviour::HangUpFirst {
        return Ok(());
    }
    let Some(message) = Message::read(&mut stream) else { return Ok(()) };
    let (id, body) = (message.id(), message.body.clone());
    let (index, behaviour) = {
        let mut state = shared.lock();
        let behaviour = if state.never_accepts(&id) { Behaviour::Refuse } else { behaviour };
        let verified = message.verify(state.secrets.get(&message.target));
        state.arrivals.push(Arrival { message, verified, connected, accepted: None });
        (state.arrivals.len() - 1, behaviour)
    };
    shared.changed.notify_all();
    shared.trigger.reached(KillPoint::Taken);
    match behaviour {
        Behaviour::Accept => accept(shared, index, stream),
        Behaviour::Hold => {
            let held = shared.changed.wait_timeout_while(shared.lock(), PATIENCE, |state| !state.is_released);
            drop(held.expect("no thread of a connection panicked"));
            accept(shared, index, stream)
        }
        Behaviour::Refuse => stream.write_all(b"HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n"),
        Behaviour::Hang => until_closed(stream),
        Behaviour::HangUp | Behaviour::HangUpFirst => Ok(()),
        Behaviour::BreakOff => stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"),
        Behaviour::Echo(head) => {
            stream.write_all(format!("{head}\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes())?;
            stream.write_all(&body)
        }
    }
}

/// Accepts a message. The time is recorded first, because the next message can arrive as soon as the answer is sent.
fn accept(shared: &Shared, index: usize, mut stream: impl Write) -> std::io::Result<()> {
    {
        let mut state = shared.lock();
        let now = state.tick();
        state.arrivals[index].accepted = Some(now);
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")?;
    stream.flush()?;
    shared.trigger.reached(KillPoint::Accepted);
    Ok(())
}

/// Reads until the other side closes the connection.
fn until_closed(mut stream: impl Read) -> std::io::Result<()> {
    while stream.read(&mut [0; 4_096])? > 0 {}
    Ok(())
}

/// Polls until there is a result.
#[track_caller]
pub(crate) fn wait_until<T>(description: &str, mut poll: impl FnMut() -> Option<T>) -> T {
    let began = std::time::Instant::now();
    loop {
        if let Some(found) = poll() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "not within {PATIENCE:?}: {description}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
