// Browsers in which staff are signed in, by default staff of the sample company.

import { inspect as inspectPage, visitor } from './browser.mjs';
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
export function inspect(page, fault) {
  return inspectPage(page, fault, { isConsole: true });
}

/// The maximum number of pages of each kind that a crawl visits.
const PER_KIND_MAX = 2;

/// Returns the kind of a page: its path, with a placeholder for each id.
function kind(path) {
  return path.replace(/\?.*/, '').split('/').map((segment) => (/_|\d/.test(segment) ? '{id}' : segment)).join('/');
}

/// Returns the paths of the console's pages to which this page links.
function links(page) {
  return page.evaluate(() => {
    const urls = [...document.querySelectorAll('a[href]')].map((link) => new URL(link.href));
    const isPage = (url) => url.origin === location.origin && url.pathname.startsWith('/app') && !/\/(file|download)$/.test(url.pathname);
    return [...new Set(urls.filter(isPage).map((url) => url.pathname + url.search))];
  });
}

/// Follows the links of the console from its first page, and calls `visit` with each page and a name for it. Returns
/// the number of pages.
export async function crawl(context, at, fault, visit) {
  const page = await context.newPage();
  const counts = new Map();
  const known = new Set(['/app']);
  let pages = 0;
  // The loop also visits the paths that are added to the set while it runs.
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
