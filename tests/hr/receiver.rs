//! An HR system: takes messages, answers them well or badly, is killed and comes back on the same port. It remembers
//! what came on which connection and what it accepted, in one order.

use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use socket2::{Domain, Socket, Type};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::dice::Dice;
use crate::message::Message;
use crate::moment::{Moment, Trigger};
use crate::service::PATIENCE;

/// What it does on a connection.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Behaviour {
    /// Accepts the message.
    Accept,
    /// Answers 500.
    Refuse,
    /// Takes the message and says nothing for as long as the other side waits.
    Hang,
    /// Takes the message, waits until [`Receiver::release`], accepts it then.
    Hold,
    /// Closes the connection before it has read anything.
    HangUpFirst,
    /// Closes the connection once it has the message.
    HangUp,
    /// Begins a good answer and closes the connection before its end, so the message is not accepted.
    BreakOff,
    /// Answers with this head and the message itself as the body.
    Echo(&'static str),
}

/// How it chooses.
enum Mood {
    Always(Behaviour),
    /// Anything, and some messages it never accepts: those whose ids say so.
    Wild(Dice),
}

/// What is between the connection and the messages.
#[derive(Clone)]
pub(crate) enum Layer {
    /// Nothing.
    Plain,
    /// TLS.
    Tls(Arc<ServerConfig>),
    /// Whatever comes first is answered as a server of plain HTTP answers what it does not understand.
    NotTls,
    /// Something that never says a word.
    Mute,
}

/// A message that came. Both times are places in the one order of everything that happened here.
#[derive(Debug, Clone)]
pub(crate) struct Arrival {
    pub(crate) message: Message,
    /// What the published library says of its signature.
    pub(crate) verified: Result<(), String>,
    /// When its connection was accepted. A service that is killed leaves messages behind that are read late, so when a
    /// message was read tells nothing.
    pub(crate) connected: u64,
    /// Just before the first byte of the answer that accepts it, where there was one.
    pub(crate) accepted: Option<u64>,
}

struct State {
    is_up: bool,
    mood: Mood,
    layer: Layer,
    is_released: bool,
    /// The secret of each path.
    secrets: HashMap<String, String>,
    now: u64,
    open: HashMap<u64, TcpStream>,
    arrivals: Vec<Arrival>,
    /// The host that each TLS handshake named.
    names: Vec<Option<String>>,
    tally: BTreeMap<Behaviour, usize>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    trigger: Arc<Trigger>,
}

/// A receiver on a port of its own.
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    listening: Option<JoinHandle<()>>,
    /// Bound and not listening: nobody else gets the port while the receiver is down.
    _reserved: Socket,
}

impl Receiver {
    /// One that accepts everything.
    pub(crate) fn start() -> Self {
        Self::with(Arc::default())
    }

    /// The same, which tells the trigger what happens.
    pub(crate) fn with(trigger: Arc<Trigger>) -> Self {
        let reserved = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        reserved.set_reuse_address(true).unwrap();
        reserved.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        let address = reserved.local_addr().unwrap().as_socket().unwrap();
        let state = State {
            is_up: false,
            mood: Mood::Always(Behaviour::Accept),
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

    /// Listens again, on the port that it had.
    pub(crate) fn up(&mut self) {
        let listener = TcpListener::bind(self.address).unwrap();
        self.shared.lock().is_up = true;
        let shared = Arc::clone(&self.shared);
        self.listening = Some(std::thread::spawn(move || listen(&listener, &shared)));
    }

    /// Ends as a process that is killed does: nobody listens, every connection is closed.
    pub(crate) fn down(&mut self) {
        {
            let mut state = self.shared.lock();
            state.is_up = false;
            state.open.drain().for_each(|(_, stream)| drop(stream.shutdown(Shutdown::Both)));
        }
        // Otherwise it would only notice with the next connection.
        drop(TcpStream::connect(self.address));
        self.listening.take().unwrap().join().unwrap();
    }

    /// What it does from now on.
    pub(crate) fn will(&self, behaviour: Behaviour) {
        self.shared.lock().mood = Mood::Always(behaviour);
    }

    /// From now on it does anything, as the dice fall.
    pub(crate) fn goes_wild(&self, dice: Dice) {
        self.shared.lock().mood = Mood::Wild(dice);
    }

    /// What new connections meet first.
    pub(crate) fn speaks(&self, layer: Layer) {
        self.shared.lock().layer = layer;
    }

    /// What comes at this path is signed with this secret.
    pub(crate) fn expects(&self, path: &str, secret: &str) {
        self.shared.lock().secrets.insert(path.to_owned(), secret.to_owned());
    }

    /// Everything that is held is accepted.
    pub(crate) fn release(&self) {
        self.shared.lock().is_released = true;
        self.shared.changed.notify_all();
    }

    /// Everything that came, once it is at least so much.
    #[track_caller]
    pub(crate) fn wait_for(&self, count: usize) -> Vec<Arrival> {
        let too_few = |state: &mut State| state.arrivals.len() < count;
        let waited = self.shared.changed.wait_timeout_while(self.shared.lock(), PATIENCE, too_few).unwrap().0;
        assert!(waited.arrivals.len() >= count, "{} of {count} messages came", waited.arrivals.len());
        waited.arrivals.clone()
    }

    /// Everything that came until now.
    pub(crate) fn arrivals(&self) -> Vec<Arrival> {
        self.wait_for(0)
    }

    /// The host that each TLS handshake named, where it named one.
    pub(crate) fn names(&self) -> Vec<Option<String>> {
        self.shared.lock().names.clone()
    }

    /// How often it did what.
    pub(crate) fn tally(&self) -> BTreeMap<Behaviour, usize> {
        self.shared.lock().tally.clone()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no connection's thread failed")
    }
}

impl State {
    fn tick(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    /// What it does on the next connection.
    fn choose(&mut self) -> Behaviour {
        let Mood::Wild(dice) = &mut self.mood else { return self.always() };
        match dice.below(100) {
            0..45 => Behaviour::Accept,
            45..67 => Behaviour::Refuse,
            67..73 => Behaviour::Hang,
            73..82 => Behaviour::HangUpFirst,
            82..92 => Behaviour::HangUp,
            _ => Behaviour::BreakOff,
        }
    }

    fn always(&self) -> Behaviour {
        match &self.mood {
            Mood::Always(behaviour) => behaviour.clone(),
            Mood::Wild(_) => Behaviour::Refuse,
        }
    }

    /// Whether it never accepts this one while it is wild: about one of eight.
    fn detests(&self, id: &str) -> bool {
        matches!(self.mood, Mood::Wild(_)) && id.bytes().map(usize::from).sum::<usize>().is_multiple_of(8)
    }
}

/// One thread takes all connections, so they are taken in the order in which they were made.
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
            // Whoever ends the connection first, the rest of it concerns nobody.
            let _ = meet(&shared, stream, layer, connected, behaviour);
            shared.lock().open.remove(&connected);
        });
    }
}

fn meet(
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
            let shaken = connection.complete_io(&mut stream);
            shared.lock().names.push(connection.server_name().map(str::to_owned));
            shaken?;
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
        let behaviour = if state.detests(&id) { Behaviour::Refuse } else { behaviour };
        let verified = message.verify(state.secrets.get(&message.target));
        state.arrivals.push(Arrival { message, verified, connected, accepted: None });
        (state.arrivals.len() - 1, behaviour)
    };
    shared.changed.notify_all();
    shared.trigger.at(Moment::Taken);
    match behaviour {
        Behaviour::Accept => accept(shared, index, stream),
        Behaviour::Hold => {
            let held = shared.changed.wait_timeout_while(shared.lock(), PATIENCE, |state| !state.is_released);
            drop(held.expect("no connection's thread failed"));
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

/// Accepts a message. It is noted first, for with the answer's last byte the next message may come.
fn accept(shared: &Shared, index: usize, mut stream: impl Write) -> std::io::Result<()> {
    {
        let mut state = shared.lock();
        let now = state.tick();
        state.arrivals[index].accepted = Some(now);
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")?;
    stream.flush()?;
    shared.trigger.at(Moment::Accepted);
    Ok(())
}

/// Says nothing until the other side has enough.
fn until_closed(mut stream: impl Read) -> std::io::Result<()> {
    while stream.read(&mut [0; 4_096])? > 0 {}
    Ok(())
}

/// Looks again and again until something is there.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = std::time::Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "in {PATIENCE:?} not: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
