// Loads embed.js on a page of another origin in Chromium and checks the list that people see. The argument is the base
// URL of the service. The variable CHROMIUM names the browser. Run this script in the directory with the packages.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

import puppeteer from 'puppeteer-core';

const [base] = process.argv.slice(2);
const WAIT = { timeout: 20000 };

// The other site. The query of its page sets the portal (`slug`), the language of the page (`lang`), the attribute
// data-lang (`own`), and whether the page has a content security policy (`policy`).
const site = createServer((request, response) => {
  const query = new URL(request.url, 'http://site').searchParams;
  const [slug, lang] = [query.get('slug'), query.get('lang') ?? 'en'];
  const own = query.get('own') === null ? '' : ` data-lang="${query.get('own')}"`;
  if (query.get('policy') !== null) {
    response.setHeader('Content-Security-Policy', `default-src 'none'; script-src ${base}; connect-src ${base}`);
  }
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  response.end(`<!doctype html><html lang="${lang}"><title>Site</title><h1>Site</h1><div id="jobs">soon</div>
    <script src="${base}/careers/${slug}/embed.js" data-target="jobs"${own} async></script>`);
});
await new Promise((done) => site.listen(0, '127.0.0.1', done));
// The host name differs from that of the service, so this page has another origin and belongs to another site.
const origin = `http://localhost:${site.address().port}`;

const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'], headless: true });
// The browser must not outlive this process, even after an exception.
process.on('exit', () => browser.process().kill('SIGKILL'));
const page = await browser.newPage();
const faults = [];
page.on('pageerror', (error) => faults.push(String(error)));

// Returns the visible part of the list.
const visible = () => page.evaluate(() => {
  const root = document.querySelector('#jobs > div')?.shadowRoot;
  if (!root) {
    return null;
  }
  const isVisible = (element) => element.getClientRects().length > 0;
  const section = root.querySelector('section');
  return {
    label: section.getAttribute('aria-label'),
    lang: section.lang,
    isBusy: section.getAttribute('aria-busy') === 'true',
    status: [...root.querySelectorAll('[role=status]')].filter(isVisible).map((element) => element.textContent).join(),
    links: [...root.querySelectorAll('li a')].filter(isVisible).map((link) => ({ text: link.textContent, url: link.href })),
    facts: [...root.querySelectorAll('li p')].filter(isVisible).map((element) => element.textContent),
    retry: [...root.querySelectorAll('button')].filter(isVisible).map((element) => element.textContent).join(),
    elements: [...new Set([...root.querySelectorAll('*')].map((element) => element.localName))].sort().join(),
  };
});
// Checks the accessibility of the list by the rules of axe-core.
const axe = readFileSync('node_modules/axe-core/axe.min.js', 'utf8');
const check = async () => {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run('#jobs'));
  assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]), []);
};
const visit = async (query) => {
  await page.goto(`${origin}/?${query}`);
  await page.waitForFunction(() => {
    const section = document.querySelector('#jobs > div')?.shadowRoot?.querySelector('section');
    return section && !section.hasAttribute('aria-busy');
  }, WAIT);
  return visible();
};

// The list on a page with a policy that allows only the service.
const globals = () => page.evaluate(() => Object.keys(window));
await page.goto(`${origin}/none`);
const before = await globals();
const list = await visit('slug=halmwind&policy');
const { roles } = await (await fetch(`${base}/api/public/portal/halmwind`)).json();
assert.deepEqual(list.links, roles.map(({ id, name }) => ({ text: name, url: `${base}/careers/halmwind/roles/${id}?lang=en` })));
assert.deepEqual([list.label, list.lang, list.status, list.retry], ['Open roles', 'en', '', '']);
assert.ok(list.facts.includes('Engineering · Rostock, Germany · Hybrid · €68,000 – €86,000 a year'), list.facts.join('\n'));
for (const { closesOn } of roles.filter((role) => role.closesOn)) {
  const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' }).format(new Date(closesOn));
  assert.ok(list.facts.some((fact) => fact.endsWith(`Apply by ${day}`)), `${closesOn}: ${list.facts.join('\n')}`);
}
// puppeteer defines its own globals.
const names = (await globals()).filter((name) => !before.includes(name) && !/^(puppeteer_|__aria)/.test(name));
assert.deepEqual(names, [], 'the script must not define a global');
assert.deepEqual(await browser.cookies(), []);
const placeholder = await page.evaluate(() => document.querySelector('#jobs').textContent);
assert.equal(placeholder, '', 'the script must replace the placeholder');

// Languages: the language of the page, a language in data-lang, and an unsupported language.
assert.equal((await visit('slug=halmwind&lang=de-AT')).label, 'Offene Stellen');
await check();
assert.equal((await visit('slug=halmwind&lang=de&own=fr')).label, 'Postes à pourvoir');
const other = await visit('slug=halmwind&lang=nl');
assert.equal(other.label, 'Open roles');
assert.ok(!other.links[0].url.includes('lang='), 'the link must leave the language to the browser');
assert.match((await visit('slug=halmwind&lang=es')).facts.join(), /al año/);

// A portal without roles.
const empty = await visit('slug=empty');
assert.deepEqual([empty.status, empty.links, empty.retry], ['There are no open roles right now.', [], '']);
await check();

// Hostile texts.
const hostile = await visit('slug=Hostile-1');
assert.ok(hostile.links.length > 10 && hostile.links[0].url.startsWith(`${base}/careers/Hostile-1/roles/`));
assert.equal(hostile.elements, 'a,button,div,li,p,section,ul');
assert.equal(await page.evaluate(() => window.canary), undefined);

// The list while it loads, after a failure, and after a retry.
let mode = 'wait';
const held = [];
await page.setRequestInterception(true);
page.on('request', (request) => {
  const isData = request.url().includes('/api/public/portal/');
  if (isData && mode === 'fail') {
    request.abort();
  } else if (isData && mode === 'wait') {
    held.push(request);
  } else {
    request.continue();
  }
});
await page.goto(`${origin}/?slug=halmwind&lang=de`);
await page.waitForFunction(() => document.querySelector('#jobs > div')?.shadowRoot, WAIT);
const waiting = await visible();
assert.deepEqual([waiting.isBusy, waiting.status, waiting.retry], [true, 'Offene Stellen werden geladen …', '']);
mode = 'fail';
await Promise.all(held.map((request) => request.abort()));
const status = (text) => page.waitForFunction((text) => {
  const root = document.querySelector('#jobs > div').shadowRoot;
  return root.querySelector('[role=status]').textContent === text && !root.querySelector('[aria-busy]');
}, WAIT, text);
await status('Die offenen Stellen konnten nicht geladen werden.');
assert.equal((await visible()).retry, 'Erneut versuchen');
await check();
mode = 'pass';
await page.evaluate(() => document.querySelector('#jobs > div').shadowRoot.querySelector('button').click());
await page.waitForFunction(() => document.querySelector('#jobs > div').shadowRoot.querySelector('li'), WAIT);
const retried = await visible();
assert.deepEqual([retried.links.length, retried.status, retried.retry], [roles.length, '', '']);

assert.deepEqual(faults, []);
await browser.close();
site.close();
console.log('embed.js: checked the list, four languages, a portal without roles, hostile texts, loading, a failure and a retry');
