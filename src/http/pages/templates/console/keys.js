// Keyboard shortcuts. The keys are on the page's own controls (`data-key="e"`, or `data-key="g i"` for two keys in a
// row), so the list that `?` shows cannot be out of date. Modules use `addKey` to add keys that have no control.

const KEY_PAUSE_MS = 1500;
const extraKeys = new Map();
let firstKey = "";
let firstKeyAt = 0;

/** Adds a key that has no control of its own. `act` gets the event. */
function addKey(key, label, act) {
  extraKeys.set(key, { label, act });
}

function isVisible(element) {
  return element.checkVisibility({ visibilityProperty: true }) && !element.disabled;
}

/** The controls with a key that are usable now: those of the open dialog, or those of the page. */
function keyedControls() {
  const root = document.querySelector("dialog[open]") ?? document;
  return [...root.querySelectorAll("[data-key]")].filter(isVisible);
}

function labelOf(element) {
  if (element.getAttribute("aria-label")) return element.getAttribute("aria-label");
  const copy = element.cloneNode(true);
  copy.querySelectorAll("kbd, .hidden").forEach((part) => part.remove());
  return copy.textContent.trim();
}

const isCapital = (key) => key.length === 1 && key !== key.toLowerCase();

/** The symbols for keys that keyboards do not label with the key's name. */
const KEY_SIGNS = { ArrowDown: "↓", ArrowUp: "↑", ArrowRight: "→", ArrowLeft: "←", Escape: "Esc" };
function keyNames(key) {
  return key.split(" ").map((one) => {
    const name = document.createElement("kbd");
    name.textContent = isCapital(one) ? `⇧${one}` : (KEY_SIGNS[one] ?? one.toUpperCase());
    return name;
  });
}

/** Shows the keys of this page. */
function showKeys() {
  const entries = new Map([...extraKeys].map(([key, { label }]) => [key, label]));
  for (const control of keyedControls()) if (!entries.has(control.dataset.key)) entries.set(control.dataset.key, labelOf(control));
  const heading = document.createElement("h2");
  heading.textContent = document.body.dataset.keysTitle;
  const list = document.createElement("dl");
  list.className = "keys";
  for (const [key, label] of entries) {
    const term = document.createElement("dt");
    term.append(...keyNames(key));
    const text = document.createElement("dd");
    text.textContent = label;
    list.append(term, text);
  }
  const close = document.createElement("button");
  close.textContent = document.body.dataset.close;
  close.dataset.dismiss = "";
  const content = document.createDocumentFragment();
  content.append(heading, list, close);
  openDialog(content);
}

/** Activates the control with this key, or else runs the act that a module added. Returns false if there is neither. */
function press(key, event) {
  const control = keyedControls().find((candidate) => candidate.dataset.key === key);
  if (control) {
    // Tab then continues in the form that the control opens or belongs to.
    if (control.matches("input, textarea, select, summary")) control.focus();
    if (!control.matches("input:not([type=checkbox], [type=radio]), textarea, select")) control.click();
    return true;
  }
  const extra = document.querySelector("dialog[open]") ? undefined : extraKeys.get(key);
  extra?.act(event);
  return extra !== undefined;
}

document.addEventListener("keydown", (event) => {
  if (document.body.dataset.keys === "off" || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target.matches("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]")) return;
  const now = performance.now();
  const isSecond = firstKey !== "" && now - firstKeyAt < KEY_PAUSE_MS;
  const key = isSecond ? `${firstKey} ${event.key}` : event.key;
  firstKey = "";
  if (key === "?" && !document.querySelector("dialog[open]")) {
    event.preventDefault();
    showKeys();
  } else if (press(key, event)) {
    event.preventDefault();
  } else if (!isSecond && keyedControls().some((control) => control.dataset.key.startsWith(`${event.key} `))) {
    firstKey = event.key;
    firstKeyAt = now;
    event.preventDefault();
  }
});

// Escape closes the open form that has the focus, or else the last open form on the page. If no form is open, Escape
// closes the messages about acts. The browser itself closes a dialog.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]")) return;
  const own = document.activeElement.closest("details[open]:has(form)");
  const form = own ?? [...document.querySelectorAll("main details[open]:has(form)")].at(-1);
  if (form) {
    form.open = false;
    form.querySelector("summary").focus();
  } else {
    document.getElementById("news")?.replaceChildren();
    if (document.getElementById("say")?.hasChildNodes()) unsay();
  }
});

/** Announces the keys to assistive technology (WAI-ARIA 1.2 §6.6), except two keys in a row, which `aria-keyshortcuts`
    cannot express. */
function announceKeys() {
  if (document.body.dataset.keys === "off") return;
  for (const control of document.querySelectorAll("[data-key]")) {
    const { key } = control.dataset;
    if (!key.includes(" ")) control.setAttribute("aria-keyshortcuts", isCapital(key) ? `Shift+${key}` : key);
  }
}
announceKeys();
document.addEventListener("swapped", announceKeys);
