// Passkeys (WebAuthn). A form whose `data-passkey` is `create` or `get` is sent with the answer of an authenticator.
// The URL in `data-options` returns the options and the challenge. Where the browser offers no passkeys, the form is
// hidden, and the element after the form says why.

const PASSKEY_PREFIX = "confirmation.";
const PASSKEY_REFRESH_MS = 240_000;
let passkeyRequest = new AbortController();

function fromBase64url(text) {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
}

function toBase64url(buffer) {
  const text = Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join("");
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Gets the options with a new challenge, as the browser's API expects them. */
async function passkeyOptions(form) {
  const answer = await fetch(form.dataset.options, { method: "POST", body: new URLSearchParams() });
  if (answer.status === 409) throw new DOMException("", "SecurityError");
  const retryAfter = answer.headers.get("retry-after");
  if (!answer.ok) throw Object.assign(new Error(), { status: answer.status, retryAfter });
  const options = await answer.json();
  options.challenge = fromBase64url(options.challenge);
  if (options.user) options.user.id = fromBase64url(options.user.id);
  for (const list of [options.excludeCredentials, options.allowCredentials]) {
    for (const one of list ?? []) one.id = fromBase64url(one.id);
  }
  return options;
}

/** Puts the answer of the authenticator into hidden fields, and sends the form. */
function sendPasskey(form, { rawId, response }) {
  const answer = {
    credential_id: rawId,
    client_data: response.clientDataJSON,
    authenticator_data: response.authenticatorData ?? response.getAuthenticatorData(),
    signature: response.signature,
    user_handle: response.userHandle,
    public_key: response.getPublicKey?.(),
  };
  form.querySelectorAll("[data-answer]").forEach((field) => field.remove());
  const add = (name, value) => {
    const field = document.createElement("input");
    field.type = "hidden";
    field.name = PASSKEY_PREFIX + name;
    field.value = value;
    field.dataset.answer = "";
    form.append(field);
  };
  for (const [name, value] of Object.entries(answer)) if (value) add(name, toBase64url(value));
  if (response.getPublicKeyAlgorithm) add("algorithm", response.getPublicKeyAlgorithm());
  sendAnswered(form);
}

function sendAnswered(form) {
  form.dataset.answered = "";
  form.requestSubmit();
  delete form.dataset.answered;
}

/** Hides the form and shows the note about passkeys. Called if the base URL of the service rules out passkeys, or if
    the page is open at an address other than the base URL. */
function hidePasskeys(form) {
  form.hidden = true;
  const note = form.nextElementSibling;
  if (note?.matches("[data-passkey-note]")) note.hidden = false;
}

function showPasskeyFault(form, fault) {
  if (fault.name === "SecurityError") return hidePasskeys(form);
  // The session has ended. The answer to the form is the sign-in page, which carries the fields of the form through
  // the sign-in.
  if (fault.status === 401) return sendAnswered(form);
  const line = form.querySelector("[data-passkey-fault]");
  const { cancelled, exists, throttled } = form.dataset;
  if (fault.retryAfter && throttled) line.textContent = throttled.replace("{seconds}", fault.retryAfter);
  else line.textContent = (fault.name === "InvalidStateError" && exists) || cancelled;
  line.hidden = false;
}

/** Requests an answer from the authenticator after a click. Aborts the request in the background, if there is one. */
async function usePasskey(form) {
  passkeyRequest.abort();
  passkeyRequest = new AbortController();
  const { signal } = passkeyRequest;
  form.setAttribute("aria-busy", "true");
  try {
    const publicKey = await passkeyOptions(form);
    sendPasskey(form, await navigator.credentials[form.dataset.passkey]({ publicKey, signal }));
  } catch (fault) {
    showPasskeyFault(form, fault);
  } finally {
    form.removeAttribute("aria-busy");
  }
}

/** Offers passkeys in the list of the field with `autocomplete="username webauthn"`. Renews expiring challenges. */
async function offerPasskeys(form) {
  const controller = new AbortController();
  passkeyRequest = controller;
  let renews = false;
  const timer = setTimeout(() => ((renews = true), controller.abort()), PASSKEY_REFRESH_MS);
  try {
    const publicKey = await passkeyOptions(form);
    sendPasskey(form, await navigator.credentials.get({ publicKey, mediation: "conditional", signal: controller.signal }));
  } catch (fault) {
    const isCurrent = passkeyRequest === controller;
    if (fault.name === "SecurityError") hidePasskeys(form);
    else if (renews && isCurrent) offerPasskeys(form);
    else if (fault.retryAfter && isCurrent) setTimeout(() => passkeyRequest === controller && offerPasskeys(form), fault.retryAfter * 1000);
  } finally {
    clearTimeout(timer);
  }
}

async function showPasskeyForms() {
  // Browsers offer no passkeys at an IP address.
  if (!globalThis.PublicKeyCredential || /^\[|^[\d.]+$/.test(location.hostname)) return;
  for (const form of document.querySelectorAll("form[data-passkey]:not([data-ready])")) {
    form.dataset.ready = "";
    form.hidden = false;
    if (form.nextElementSibling?.matches("[data-passkey-note]")) form.nextElementSibling.hidden = true;
    if ("conditional" in form.dataset && (await PublicKeyCredential.isConditionalMediationAvailable?.())) offerPasskeys(form);
  }
}
showPasskeyForms();
document.addEventListener("swapped", showPasskeyForms);

document.addEventListener(
  "submit",
  (event) => {
    const form = event.target;
    if (!("passkey" in form.dataset) || "answered" in form.dataset) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (form.getAttribute("aria-busy") !== "true") usePasskey(form);
  },
  true,
);
