// While the page is visible, shows what others change: asks the service every few seconds, and replaces only the parts
// that have changed. Focus, selection, scroll position and typed text are preserved. The element with the id `live` has
// the URL to poll.

const LIVE_PAUSE_MS = 5000;
const LIVE_PAUSE_MS_MAX = 60_000;
/** The statuses after which another request is useless, each with the name of its message. */
const LIVE_ENDS = { 401: "signedOut", 403: "gone", 404: "gone", 410: "gone" };
let livePause = LIVE_PAUSE_MS;
let liveTimer;
/** The controller that can abort the request under way. */
let liveRequest;

const liveSource = () => document.getElementById("live");
/** Whether a form is being sent or an item is being dragged. Both change the page themselves. */
const isBusy = () => Boolean(document.querySelector("form[aria-busy], .ghost"));
const isTyped = (field) => field.value !== field.defaultValue || field.checked !== field.defaultChecked;
/** Whether a form of this part is open, has the focus or has been changed. */
const isInUse = (part) =>
  Boolean(part.querySelector("details[open] form, form :is(input, textarea, select):focus")) || [...part.querySelectorAll("input, textarea")].some(isTyped);

/** If the template has `data-held` and the user is using a form of the part, shows the text of `data-held` as a notice
    in the part, and returns true. */
function holdPart(part, { held }) {
  if (held === undefined || !isInUse(part)) return false;
  part.querySelector(".held")?.remove();
  const notice = document.createElement("p");
  notice.className = "notice held";
  notice.append(`${held} `, liveLink(document.body.dataset.load, location.href));
  part.prepend(notice);
  return true;
}

function liveLink(text, url) {
  const link = document.createElement("a");
  link.href = url;
  link.textContent = text;
  return link;
}

/** Says why the page no longer shows changes. */
function endLive(status) {
  const { dataset } = document.body;
  const here = location.pathname + location.search;
  const link = status === 401 ? liveLink(dataset.signIn, `/sign-in?next=${encodeURIComponent(here)}`) : liveLink(dataset.load, here);
  const message = document.createElement("p");
  message.append(`${dataset[LIVE_ENDS[status]]} `, link);
  document.getElementById("news").replaceChildren(message);
}

/** Shows an answer, unless the page has changed since the request. */
async function showChanges(source, answer) {
  const text = answer.status === 200 ? await answer.text() : "";
  if (source !== liveSource()) return;
  if (text) swapParts(text, holdPart);
  livePause = LIVE_PAUSE_MS;
}

async function askForChanges() {
  const source = liveSource();
  if (isBusy()) return waitForChanges();
  const request = (liveRequest = new AbortController());
  try {
    const answer = await fetch(source.dataset.url, { headers: { "X-Part": "1" }, signal: request.signal });
    if (LIVE_ENDS[answer.status]) return endLive(answer.status);
    if (!answer.ok) throw new Error(answer.status);
    await showChanges(source, answer);
  } catch {
    if (!request.signal.aborted) livePause = Math.min(2 * livePause, LIVE_PAUSE_MS_MAX);
  }
  if (liveRequest === request) waitForChanges();
}

function waitForChanges() {
  clearTimeout(liveTimer);
  const source = liveSource();
  if (!source || document.hidden) return;
  // After an error, or while the page is busy, the next request waits even if more changes are ready.
  const asksAtOnce = "more" in source.dataset && livePause === LIVE_PAUSE_MS && !isBusy();
  liveTimer = setTimeout(askForChanges, asksAtOnce ? 0 : livePause);
}

function stopLive() {
  clearTimeout(liveTimer);
  liveRequest?.abort();
  liveRequest = undefined;
}

// Sending a form aborts a request for changes that is under way, because the answer to that request could show the
// state before the act.
document.addEventListener("submit", () => {
  document.getElementById("news")?.replaceChildren();
  stopLive();
  waitForChanges();
});
document.addEventListener("visibilitychange", () => {
  stopLive();
  if (!document.hidden && liveSource()) askForChanges();
});
waitForChanges();
