//! Forms that arrive slowly: a trickle is cut off, a telephone line is not.

use super::*;

/// A body that comes in frames of a size, one every two milliseconds.
struct Slow {
    rest: Bytes,
    frame_bytes: usize,
    pause: Pin<Box<tokio::time::Sleep>>,
}

const PAUSE: Duration = Duration::from_millis(2);

impl Body for Slow {
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

/// Reads a form of these parts that may pause for this long.
fn read_slowly(place: &Place, parts: &[Vec<u8>], frame_bytes: usize, idle: Duration) -> Result<Form, Error> {
    let patience = Patience { idle, whole: Duration::from_secs(60) };
    let rest = Bytes::from(whole(parts));
    runtime().block_on(async {
        let body = Slow { rest, frame_bytes, pause: Box::pin(tokio::time::sleep(PAUSE)) };
        Reading::new(&place.ctx, &RULES, patience, FileUse::Stage).read(body, BOUNDARY).await
    })
}

#[test]
fn a_form_that_trickles_in_is_cut_off() {
    let place = Place::new();
    for parts in [vec![text("name", &"Ada ".repeat(200))], vec![file("cv.txt", &b"engines ".repeat(100))]] {
        let Err(Error::Refused(refusal)) = read_slowly(&place, &parts, 1, Duration::from_millis(200)) else {
            panic!("it was read")
        };
        assert!(refusal.sentence().contains("more slowly than 1024 bytes a second"), "{}", refusal.sentence());
        assert_eq!(place.counts(), (0, 0));
    }
}

#[test]
fn a_form_that_keeps_the_pace_may_take_longer_than_a_pause() {
    let place = Place::new();
    let parts = [text("name", "Ada"), file("cv.txt", &b"engines ".repeat(5_000))];
    let form = read_slowly(&place, &parts, 400, Duration::from_millis(150)).unwrap();
    assert!(matches!(form.upload(), Some(Upload::Staged(_))), "{form:?}");
}
