// Browsers in which staff of the sample company are signed in.

import { visitor } from './browser.mjs';
import { run } from './service.mjs';

/// The address of the service with the sample company.
export const { CONSOLE: base } = process.env;

export const PASSWORD = 'a quite different sentence';

/// Returns a link by which this user signs in once.
export function linkOf(email, { base: at = base, db = 'demo.db' } = {}) {
  return run('sign-in-link', '--db', db, '--email', email, '--base-url', at);
}

/// Returns a browser context in which the user with this address is signed in.
export async function signedIn(browser, fault, email, { base: at = base, db, ...options } = {}) {
  const context = await visitor(browser, fault, { ...options, origins: [at] });
  const page = await context.newPage();
  await page.goto(await linkOf(email, { base: at, db }));
  await page.locator('[name=password]').fill(PASSWORD);
  await page.locator('main form button').first().click();
  await page.waitForURL(/\/app/);
  await page.close();
  return context;
}

/// Reports content that no page of the console may have.
export async function inspect(page, fault) {
  const seen = await page.evaluate(() => ({
    violations: window.__violations ?? [],
    canary: window.__canary,
    broken: [...document.images].filter((image) => !image.complete || image.naturalWidth === 0).map((image) => image.src),
    links: [...document.querySelectorAll('[href], [src], [action], [formaction]')]
      .flatMap((element) => ['href', 'src', 'action', 'formaction'].map((name) => element.getAttribute(name)))
      .filter((url) => url !== null && /^[\s\u0000-\u001f]*(javascript|data|vbscript|blob):/i.test(url)),
    active: [...document.querySelectorAll('object, embed, base, meta[http-equiv], style, [style]:not([style=""])')].map((e) => e.outerHTML),
    foreign: [...document.querySelectorAll('script, iframe')].filter((e) => new URL(e.src, location.href).origin !== location.origin)
      .map((e) => e.outerHTML),
    inline: [...document.scripts].filter((e) => e.textContent.trim() !== '').map((e) => e.outerHTML),
    handlers: [...document.querySelectorAll('*')]
      .filter((element) => [...element.attributes].some(({ name }) => name.startsWith('on')))
      .map((element) => element.outerHTML),
    headings: document.querySelectorAll('h1').length,
  }));
  const url = page.url();
  seen.violations.forEach((violation) => fault(`${url}: its policy blocks ${violation}`));
  seen.links.forEach((link) => fault(`${url}: links to ${link}`));
  seen.broken.forEach((image) => fault(`${url}: does not show ${image}`));
  [...seen.active, ...seen.foreign, ...seen.inline, ...seen.handlers]
    .forEach((html) => fault(`${url}: has ${html.slice(0, 200)}`));
  if (seen.canary !== undefined) {
    fault(`${url}: ran the script ${seen.canary}`);
  }
  if (seen.headings !== 1) {
    fault(`${url}: has ${seen.headings} first headings`);
  }
}

/// The maximum number of pages of each kind that a crawl visits.
const PER_KIND_MAX = 2;

/// Returns the kind of a page: its path, with a placeholder for each id.
function kind(path) {
  return path.replace(/\?.*/, '').split('/').map((segment) => (/_|\d/.test(segment) ? '{id}' : segment)).join('/');
}

/// Returns the paths to which a page of the console links.
function links(page) {
  return page.evaluate(() => {
    const urls = [...document.querySelectorAll('a[href]')].map((link) => new URL(link.href));
    const isPage = (url) => url.origin === location.origin && url.pathname.startsWith('/app') && !/\/(file|download)$/.test(url.pathname);
    return [...new Set(urls.filter(isPage).map((url) => url.pathname + url.search))];
  });
}

/// Follows the links of the console from its first page, and calls `visit` with each page and a name for it. Returns the
/// number of pages.
export async function crawl(context, at, fault, visit) {
  const page = await context.newPage();
  const counts = new Map();
  const known = new Set(['/app']);
  let pages = 0;
  // A set grows while it is iterated.
  for (const path of known) {
    const count = counts.get(kind(path)) ?? 0;
    if (count === PER_KIND_MAX) {
      continue;
    }
    counts.set(kind(path), count + 1);
    const answer = await page.goto(at + path);
    if (answer.status() !== 200) {
      fault(`${path} was answered with ${answer.status()}`);
      continue;
    }
    pages += 1;
    (await links(page)).forEach((link) => known.add(link));
    const name = kind(path).replaceAll('/', '-').slice(1).replaceAll(/[{}]/g, '');
    await visit(page, count === 0 ? name : `${name}-${count + 1}`, path);
  }
  return pages;
}
