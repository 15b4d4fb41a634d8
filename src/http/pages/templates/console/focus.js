// For people who use the keyboard, a visible element always has the focus. If a key has opened another page, or has
// removed the element with the focus, the element that the URL names gets the focus, or else the content of the page,
// so that Tab continues there.

const BY_KEY = "by key";
let isByKey = sessionStorage.getItem(BY_KEY) !== null;
sessionStorage.removeItem(BY_KEY);

addEventListener("keydown", () => (isByKey = true), true);
addEventListener("pointerdown", () => (isByKey = false), true);
addEventListener("pagehide", () => isByKey && sessionStorage.setItem(BY_KEY, "1"));

function keepFocus() {
  if (!isByKey || document.activeElement !== document.body || document.querySelector("dialog[open]")) return;
  const target = document.getElementById(location.hash.slice(1)) ?? document.getElementById("main");
  if (target.tabIndex < 0) target.tabIndex = -1;
  target.focus({ preventScroll: true });
}
document.addEventListener("swapped", keepFocus);
// The browser focuses a field with `autofocus` only after this script has run.
if (!document.querySelector("[autofocus]")) keepFocus();
