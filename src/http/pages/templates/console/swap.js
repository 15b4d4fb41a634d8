// Sends forms with fetch and replaces parts of the page with the answer. A form with `data-swap` is sent this way. The
// server renders every part as HTML. The answer has templates:
//
//   <template data-for="ID">   replaces the element with this id, or removes it if the template is empty. If the
//                              element does not exist, the other attributes apply
//   <template data-before="ID">
//                              adds content before this element. If the element does not exist, `data-append` applies
//   <template data-append="ID">
//                              adds content at the end of this element
//   <template data-say>        shows the message about the act, which screen readers also announce
//   <template data-news>       shows the message about acts of others
//   <template data-dialog>     shows a dialog
//   <template data-focus="ID"> moves the focus to this element
//
// If an answer has no templates, the browser opens the page of the link or, after a form, the page to which the service
// redirected. Without a redirect, the browser loads the current page again.

/** The only place where text becomes HTML (Trusted Types policy `console`). */
const html = globalThis.trustedTypes?.createPolicy("console", { createHTML: (text) => text }) ?? { createHTML: (text) => text };

/** The time for which an act can be undone. */
const UNDO_MS = 10 * 60 * 1000;
let sayTimer;

/** Removes the message. If it had the focus, the content of the page gets the focus. */
function unsay() {
  const region = document.getElementById("say");
  const hadFocus = region.contains(document.activeElement);
  region.replaceChildren();
  clearTimeout(sayTimer);
  if (hadFocus) document.getElementById("main").focus({ preventScroll: true });
}

/** Shows a message until somebody closes it or its act can no longer be undone. `nodes` may contain an undo form. */
function say(...nodes) {
  const close = document.createElement("button");
  close.className = "close";
  close.ariaLabel = document.body.dataset.close;
  close.textContent = "✕";
  close.addEventListener("click", unsay);
  document.getElementById("say").replaceChildren(...nodes, close);
  clearTimeout(sayTimer);
  sayTimer = setTimeout(unsay, UNDO_MS);
}

/** Shows `content` in a dialog that closes with Escape. The focus then returns to where it was. */
function openDialog(content) {
  const opener = document.activeElement;
  const dialog = document.createElement("dialog");
  dialog.append(content);
  dialog.addEventListener("close", () => {
    dialog.remove();
    // An answer may have moved the focus already.
    if (document.activeElement === document.body && opener?.isConnected) opener.focus();
    keepFocus();
  });
  document.body.append(dialog);
  dialog.querySelectorAll("[data-here]").forEach((field) => (field.value = location.pathname + location.search));
  dialog.querySelectorAll("[data-dismiss]").forEach((button) => button.addEventListener("click", () => dialog.close()));
  dialog.showModal();
  return dialog;
}

/** Replaces parts of the page with the templates of an answer. Keeps the focus on the element with the same id. For
    changes by others, callers pass `hold`: elements for which `hold` returns true are not replaced, and selected cards
    stay selected. */
function swapParts(text, hold) {
  const answer = new DOMParser().parseFromString(html.createHTML(text), "text/html");
  const templates = [...answer.querySelectorAll("template")];
  const focused = document.activeElement;
  const checked = hold ? [...document.querySelectorAll(".card:has(input:checked)")].map((card) => card.id) : [];
  document.dispatchEvent(new Event("swapping"));
  for (const { dataset, content } of templates) {
    const nodes = document.importNode(content, true);
    const old = dataset.for && document.getElementById(dataset.for);
    const before = dataset.before && document.getElementById(dataset.before);
    if (old) hold?.(old, dataset) || old.replaceWith(nodes);
    else if (before) before.before(nodes);
    else if (dataset.append) document.getElementById(dataset.append)?.append(nodes);
    else if ("say" in dataset) say(...nodes.childNodes);
    else if ("news" in dataset) document.getElementById("news").replaceChildren(nodes);
    else if ("dialog" in dataset) openDialog(nodes);
  }
  for (const id of checked) {
    const box = document.getElementById(id)?.querySelector("input");
    if (box) box.checked = true;
  }
  const wanted = templates.find(({ dataset }) => dataset.focus)?.dataset.focus ?? focused?.id;
  const target = wanted && document.getElementById(wanted);
  if (target && target !== document.activeElement) target.focus({ preventScroll: false });
  const detail = { isLive: Boolean(hold), isFocusLost: !focused?.isConnected && document.activeElement === document.body };
  document.dispatchEvent(new CustomEvent("swapped", { detail }));
  return templates.length > 0;
}

/** Sends a form and shows the answer. */
async function sendForm(form, submitter) {
  const body = new URLSearchParams(new FormData(form, submitter));
  const action = submitter?.getAttribute("formaction") ?? form.getAttribute("action");
  form.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(action, { method: "POST", body, headers: { "X-Part": "1" } });
    const text = await answer.text();
    // Nothing outside an open dialog can get the focus.
    if (text.includes("<template")) form.closest("dialog")?.close();
    if (!swapParts(text)) location.assign(answer.redirected ? answer.url : location.href);
    document.dispatchEvent(new CustomEvent("sent", { detail: { form, ok: answer.ok } }));
  } catch {
    say(document.body.dataset.offline);
  } finally {
    form.removeAttribute("aria-busy");
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!("swap" in form.dataset) || event.defaultPrevented) return;
  event.preventDefault();
  if (form.getAttribute("aria-busy") !== "true") sendForm(form, event.submitter);
});

/** Links with `data-swap` lead to a page of their own, or to a dialog with the same content. */
document.addEventListener("click", async (event) => {
  const link = event.target.closest?.("a[data-swap]");
  if (!link || event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  try {
    const answer = await fetch(link.href, { headers: { "X-Part": "1" } });
    if (!swapParts(await answer.text())) location.assign(link.href);
  } catch {
    say(document.body.dataset.offline);
  }
});
