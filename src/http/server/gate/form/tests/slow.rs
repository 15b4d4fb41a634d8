//! Tests of slow forms: a form below the minimum pace is refused, and a form above it is accepted.

use super::*;

/// A body that arrives in frames of one size, with a pause before each frame.
struct SlowBody {
    rest: Bytes,
    frame_bytes: usize,
    pause: Pin<Box<tokio::time::Sleep>>,
}

const PAUSE: Duration = Duration::from_millis(2);

impl Body for SlowBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        std::task::ready!(self.pause.as_mut().poll(context));
        self.pause = Box::pin(tokio::time::sleep(PAUSE));
        let size = self.frame_bytes.min(self.rest.len());
        let frame = self.rest.split_to(size);
        Poll::Ready((size > 0).then_some(Ok(Frame::data(frame))))
    }
}

/// Reads a form that arrives slowly, with the given parts and idle timeout.
fn read_slowly(fixture: &Fixture, parts: &[Vec<u8>], frame_bytes: usize, idle: Duration) -> Result<Form, Error> {
    let timeouts = FormTimeouts { idle, whole: Duration::from_secs(60) };
    let rest = Bytes::from(whole(parts));
    runtime().block_on(async {
        let body = SlowBody { rest, frame_bytes, pause: Box::pin(tokio::time::sleep(PAUSE)) };
        FormReader::new(&fixture.ctx, &RULES, timeouts, FileUse::Stage).read(body, BOUNDARY).await
    })
}

#[test]
fn a_trickling_form_is_refused() {
    let fixture = Fixture::new();
    for parts in [vec![text("name", &"Ada ".repeat(200))], vec![file("cv.txt", &b"engines ".repeat(100))]] {
        let Err(Error::Refused(refusal)) = read_slowly(&fixture, &parts, 1, Duration::from_millis(200)) else {
            panic!("the form was accepted")
        };
        assert!(refusal.sentence().contains("more slowly than 1024 bytes a second"), "{}", refusal.sentence());
        assert_eq!(fixture.counts(), (0, 0));
    }
}

#[test]
fn a_form_above_the_minimum_pace_may_outlast_the_idle_timeout() {
    let fixture = Fixture::new();
    let parts = [text("name", "Ada"), file("cv.txt", &b"engines ".repeat(5_000))];
    let form = read_slowly(&fixture, &parts, 400, Duration::from_millis(150)).unwrap();
    assert!(matches!(form.upload(), Some(Upload::Staged(_))), "{form:?}");
}
