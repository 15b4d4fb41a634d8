// The review queue: fetches the next two candidates in advance, and shows them without loading a page. Files are not
// fetched in advance: a file that nobody has viewed must not be recorded as opened.

const AHEAD = 2;
const fetched = new Map();

/** The next `AHEAD` links after the current one that lead to candidates without a decision. */
function queueAhead() {
  const links = [...document.querySelectorAll(".queue a[data-queue]:not(.done)")];
  return links.slice(links.findIndex((link) => link.ariaCurrent === "true") + 1).slice(0, AHEAD);
}

async function fetchParts(url) {
  const answer = await fetch(url, { headers: { "X-Part": "1" } });
  return answer.ok ? answer.text() : undefined;
}

function prefetchQueue({ detail } = {}) {
  const review = document.getElementById("review");
  if (!review) return;
  if (detail?.isLive) fetched.clear();
  else if (review.dataset.url) history.replaceState(null, "", review.dataset.url);
  const urls = queueAhead().map((link) => link.getAttribute("href"));
  for (const url of [...fetched.keys()]) if (!urls.includes(url)) fetched.delete(url);
  for (const url of urls) if (!fetched.has(url)) fetched.set(url, fetchParts(url).catch(() => undefined));
  if (!detail?.isLive) document.getElementById("here")?.scrollIntoView({ block: "nearest" });
}
// A decision changes the list, so the parts that were fetched before the decision are out of date.
document.addEventListener("submit", () => fetched.clear());
document.addEventListener("swapped", prefetchQueue);
prefetchQueue();

document.addEventListener("click", async (event) => {
  const link = event.target.closest?.("a[data-queue]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const url = link.getAttribute("href");
  const text = await (fetched.get(url) ?? fetchParts(url).catch(() => undefined));
  fetched.delete(url);
  if (!text || !swapParts(text)) location.assign(url);
});
