// A browser that reports faults in pages: requests to other origins, dialogs, violations of the content security
// policy, script errors, and content that no page may have.

import { chromium } from 'playwright-core';

import { base } from './company.mjs';

/// Whether this run leaves out what costs much time and seldom finds a fault.
export const IS_SHORT = Boolean(process.env.SHORT);

/// The languages in which this run checks the pages. A short run checks English, and German for its long words.
export const LANGUAGES = IS_SHORT ? ['en', 'de'] : ['en', 'de', 'fr', 'es'];

/// Returns whether this run checks pages in this language in full. A short run does so only in English. In German, it
/// checks pages in one colour scheme and without the rules about colours, because colours do not depend on the
/// language. In addition, the part `accessible` checks these pages at only one width, because their words do not depend
/// on the width.
export const hasEveryLook = (lang) => lang === 'en' || !IS_SHORT;

/// The labels of buttons and links, in each language.
export const WORDS = {
  en: { apply: 'Apply for this role', send: 'Send application', withdraw: 'Withdraw the application', sure: 'Withdraw now' },
  de: { apply: 'Auf diese Stelle bewerben', send: 'Bewerbung absenden', withdraw: 'Bewerbung zurückziehen', sure: 'Jetzt zurückziehen' },
  fr: { apply: 'Postuler à ce poste', send: 'Envoyer ma candidature', withdraw: 'Retirer la candidature', sure: 'Retirer maintenant' },
  es: { apply: 'Presentar mi candidatura', send: 'Enviar candidatura', withdraw: 'Retirar la candidatura', sure: 'Retirar ahora' },
};

/// The minimum time from opening a form to sending it. The service refuses a form that is sent within 3 seconds of
/// being opened, because no person fills it in so fast.
const FORM_MS_MIN = 3200;

/// Starts a browser that can reach only this machine, even if a page requests another host.
export function launch(addresses = []) {
  const excluded = ['127.0.0.1', 'localhost', ...addresses].map((address) => `, EXCLUDE ${address}`).join('');
  const args = ['--no-sandbox', '--disable-gpu', `--host-resolver-rules=MAP * ~NOTFOUND${excluded}`];
  return chromium.launch({ executablePath: process.env.CHROMIUM, args });
}

/// Creates a visitor. Calls `fault` for everything that a page must not do. A page with an error status is not a fault.
export async function visitor(browser, fault, { width = 1280, height = 900, hasScript = true, origins = [base], ...more } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, javaScriptEnabled: hasScript, ...more });
  context.setDefaultTimeout(15000);
  context.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    // To show a PDF, Chromium loads pages of its own.
    if (!origins.includes(origin) && !['data:', 'chrome:', 'chrome-extension:'].includes(protocol)) {
      fault(`${request.frame().url()} loads ${request.url()}`);
    }
  });
  context.on('dialog', (dialog) => {
    fault(`${dialog.page()?.url()} opens a dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  context.on('console', (message) => {
    // Chromium logs a line for each page with an error status.
    const isStatus = message.text().startsWith('Failed to load resource: the server responded with a status of');
    const isPage = isStatus && message.location().url === message.page()?.url();
    if (['error', 'warning'].includes(message.type()) && !isPage) {
      fault(`${message.page()?.url()} logs ${message.type()}: ${message.text()} (${message.location().url})`);
    }
  });
  context.on('weberror', (error) => fault(`${error.page()?.url()} throws ${error.error()}`));
  await context.addInitScript(() => {
    window.__violations = [];
    document.addEventListener('securitypolicyviolation', (event) => {
      window.__violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile ?? ''}`);
    });
  });
  return context;
}

/// Elements that no page may have. Pages of the console may have scripts and frames of their own origin, and empty
/// `style` attributes, which scripts can leave.
const ACTIVE = 'object, embed, base, meta[http-equiv], style';
const ACTIVE_FOR_CANDIDATES = `${ACTIVE}, iframe, [style], script:not([type="application/ld+json"])`;
const ACTIVE_FOR_STAFF = `${ACTIVE}, [style]:not([style=""])`;

/// Reports content that no page may have.
export async function inspect(page, fault, { isConsole = false } = {}) {
  const seen = await page.evaluate((active) => ({
    violations: window.__violations ?? [],
    canary: window.__canary,
    broken: [...document.images].filter((image) => !image.complete || image.naturalWidth === 0).map((image) => image.src),
    links: [...document.querySelectorAll('[href], [src], [action], [formaction]')]
      .flatMap((element) => ['href', 'src', 'action', 'formaction'].map((name) => element.getAttribute(name)))
      .filter((url) => url !== null && /^[\s\u0000-\u001f]*(javascript|data|vbscript|blob):/i.test(url)),
    active: [...document.querySelectorAll(active)].map((e) => e.outerHTML),
    foreign: [...document.querySelectorAll('script[src], iframe')]
      .filter((e) => new URL(e.src, location.href).origin !== location.origin).map((e) => e.outerHTML),
    inline: [...document.scripts].filter((e) => e.type !== 'application/ld+json' && e.textContent.trim() !== '').map((e) => e.outerHTML),
    handlers: [...document.querySelectorAll('*')]
      .filter((element) => [...element.attributes].some(({ name }) => name.startsWith('on')))
      .map((element) => element.outerHTML),
    headings: document.querySelectorAll('h1').length,
  }), isConsole ? ACTIVE_FOR_STAFF : ACTIVE_FOR_CANDIDATES);
  const url = page.url();
  seen.violations.forEach((violation) => fault(`${url}: its policy blocks ${violation}`));
  seen.links.forEach((link) => fault(`${url}: links to ${link}`));
  seen.broken.forEach((image) => fault(`${url}: does not show ${image}`));
  [...seen.active, ...seen.foreign, ...seen.inline, ...seen.handlers]
    .forEach((html) => fault(`${url}: has ${html.slice(0, 200)}`));
  if (seen.canary !== undefined) {
    fault(`${url}: ran the script ${seen.canary}`);
  }
  if (isConsole && seen.headings !== 1) {
    fault(`${url}: has ${seen.headings} headings of level 1`);
  }
}

/// Opens a page of the service. Reports any status other than `status`.
export async function open(page, path, fault, status = 200) {
  const answer = await page.goto(base + path);
  if (answer.status() !== status) {
    fault(`${path} was answered with ${answer.status()}, not ${status}`);
  }
  await inspect(page, fault);
}

/// Takes a screenshot of the whole page, if the run saves screenshots.
export async function screenshot(page, name) {
  if (process.env.SCREENSHOTS) {
    await page.screenshot({ path: `${process.env.ARTEFACTS}/${name}.png`, fullPage: true });
  }
}

export const field = (page, name) => page.locator(`main form [name=${name}]`);

/// Goes from a posting to the application form of its role. Returns the time of arrival.
export async function apply(page, lang) {
  await page.getByRole('button', { name: WORDS[lang].apply, exact: true }).click();
  await page.waitForURL(/\/signup\//);
  return Date.now();
}

/// Sends a form that was opened at `openedAt`, as soon as the service accepts it.
export async function send(page, lang, openedAt) {
  await page.waitForTimeout(Math.max(0, FORM_MS_MIN - (Date.now() - openedAt)));
  const answered = page.waitForEvent('load');
  await page.getByRole('button', { name: WORDS[lang].send, exact: true }).click();
  await answered;
  return Date.now();
}

export async function fill(page, person) {
  for (const [name, value] of Object.entries(person)) {
    await field(page, name).fill(value);
  }
}

/// Applies in a new context. Returns the paths of the form, of the status page, and of the status page with the
/// confirmation.
export async function applied(browser, fault, { slug, role, lang = 'en', person }) {
  const context = await visitor(browser, fault);
  const page = await context.newPage();
  await open(page, `/careers/${slug}/roles/${role.id}?lang=${lang}`, fault);
  const openedAt = await apply(page, lang);
  const form = new URL(page.url()).pathname + new URL(page.url()).search;
  await fill(page, { name: 'Ada Lovelace', ...person });
  await field(page, 'consent').check();
  await send(page, lang, openedAt);
  await inspect(page, fault);
  const { pathname, search } = new URL(page.url());
  if (!pathname.startsWith('/status/')) {
    await screenshot(page, `not-applied-${slug}-${lang}`);
    throw new Error(`an application ended at ${pathname}: ${await page.locator('main').innerText()}`);
  }
  await context.close();
  return { form, status: pathname, confirmation: pathname + search };
}

/// Runs `work` on all items with this many workers. An idle worker takes the next item.
export async function inParallel(workers, items, work) {
  const left = [...items];
  await Promise.all(Array.from({ length: workers }, async () => {
    while (left.length > 0) {
      await work(left.shift());
    }
  }));
}
