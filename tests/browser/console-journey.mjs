// The first day of an organization in the staff console: an owner signs in with a link, sets up a second factor,
// creates a role and opens it; candidates apply; the owner rejects one, advances one and hires one, and finds the
// decisions in the activity. The HR system of the organization receives the hire. All this happens at the widths of a
// desktop and of a telephone, with JavaScript and without.

import http from 'node:http';

import { IS_SHORT, apply, field, fill, inParallel, screenshot, send, visitor } from './browser.mjs';
import { base, call } from './company.mjs';
import { PASSWORD, inspect, linkOf } from './staff.mjs';
import { totp } from './totp.mjs';

/// A short run makes the first journey and the last, so it uses each width, and pages with and without JavaScript.
const JOURNEYS = [
  { name: 'desktop', width: 1280, height: 900, hasScript: true },
  { name: 'desktop-without-script', width: 1280, height: 900, hasScript: false },
  { name: 'telephone', width: 390, height: 844, hasScript: true },
  { name: 'telephone-without-script', width: 390, height: 844, hasScript: false },
].filter((_, nth, all) => !IS_SHORT || nth === 0 || nth === all.length - 1);

const CANDIDATES = ['Amélie Byrne', 'Björn Castellanos', 'Chiara Dąbrowski'];

/// Starts an HR system that accepts everything. Returns its URL, the messages that it receives, and its server.
async function receiver() {
  const messages = [];
  const server = http.createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) {
      body += chunk;
    }
    messages.push(JSON.parse(body));
    response.end('ok');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${server.address().port}/hires`, messages, server };
}

/// Creates an organization with an owner. `url` is the URL of its HR system, if it has one.
export async function organization(name, url) {
  const slug = `journey-${name}`;
  const portal = { enabled: true, theme: { primaryColor: '#0f766e', showSalary: true } };
  const { id } = await call('POST', '/api/admin/organizations', { name: `Journey ${name}`, slug, timeZone: 'Europe/Berlin', portal });
  const email = `owner@${slug}.example`;
  const user = await call('POST', '/api/admin/users', { email, name: 'Ingrid Aalto' });
  await call('PUT', `/api/admin/organizations/${id}/memberships/${user.id}`, { orgRole: 'owner' });
  if (url) {
    await call('PUT', `/api/admin/organizations/${id}/hr-integration`, { url, enabled: true });
  }
  return { id, slug, email };
}

/// Clicks a control that leads to another page or changes this one, and checks the result.
async function act(page, locator, fault) {
  const isPart = (response) => ['document', 'fetch'].includes(response.request().resourceType());
  const [answer] = await Promise.all([page.waitForResponse(isPart), locator.click()]);
  if (answer.status() >= 400) {
    fault(`${page.url()}: ${answer.url()} was answered with ${answer.status()}`);
  }
  await page.waitForLoadState();
  await inspect(page, fault);
}

async function signIn(page, email, name, fault) {
  await page.goto(await linkOf(email, { base, db: 'jobs.db' }));
  await inspect(page, fault);
  await page.locator('[name=password]').fill(PASSWORD);
  await act(page, page.locator('main form button.go').first(), fault);
  // Owners must have a second factor.
  await page.locator('main a.button.go').first().click();
  await page.locator('main a[href^="/app/me/authenticator"]').click();
  const key = await page.locator('code.key').innerText();
  await page.locator('#code').fill(totp(key));
  await screenshot(page, `console-journey-${name}-1-authenticator`);
  await act(page, page.locator('form[action="/app/me/authenticator"] button.go'), fault);
  await screenshot(page, `console-journey-${name}-2-recovery-codes`);
  await act(page, page.locator('main a.button.go'), fault);
}

/// Creates a role, checks its preview, and opens it. Returns its path.
async function publish(page, slug, name, fault) {
  await page.goto(`${base}/app/${slug}/roles`);
  await act(page, page.locator(`main a[href$="/roles/new"]`).first(), fault);
  await page.locator('[name=name]').fill('Platform Engineer');
  await page.locator('[name=location]').fill('Bremen');
  await page.locator('[name=description]').fill('# Your work\n\nYou keep the lights on for **two million** people.');
  await act(page, page.locator('form button.go').first(), fault);
  const role = new URL(page.url()).pathname.match(/^\/app\/[^/]+\/roles\/[^/]+/)[0];
  await page.goto(`${base}${role}/steps`);
  await act(page, page.locator('form[action$="/steps/default"] button'), fault);
  await screenshot(page, `console-journey-${name}-3-steps`);
  await page.goto(`${base}${role}/edit`);
  await page.locator('[name=public]').check();
  await screenshot(page, `console-journey-${name}-4-role`);
  const preview = page.frameLocator('iframe[name=preview]');
  await page.locator('button[formtarget=preview]').click();
  await preview.locator('strong', { hasText: 'two million' }).waitFor();
  await act(page, page.locator('button[name=then][value=open]'), fault);
  return role;
}

/// Applies as a candidate, with a CV.
export async function candidate(browser, fault, slug, roleId, name, at = base) {
  const context = await visitor(browser, fault, { origins: [at] });
  const page = await context.newPage();
  await page.goto(`${at}/careers/${slug}/roles/${roleId}?lang=en`);
  const openedAt = await apply(page, 'en');
  await fill(page, { name, email: `${name.split(' ')[0].toLowerCase().replace(/[^a-z]/g, '')}@people.example`, note: 'I would like to join.' });
  const buffer = Buffer.from('%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj 3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]>>endobj trailer<</Root 1 0 R>>');
  await field(page, 'cv').setInputFiles({ name: `${name}.pdf`, mimeType: 'application/pdf', buffer });
  await field(page, 'consent').check();
  await send(page, 'en', openedAt);
  await context.close();
}

/// Searches for a candidate and opens the candidate's page.
async function openCandidate(page, slug, name) {
  await page.goto(`${base}/app/${slug}/candidates?q=${encodeURIComponent(name)}`);
  await page.locator('table a', { hasText: name }).click();
  await page.locator('#applications').waitFor();
}

async function decide(page, slug, name, fault) {
  const [rejected, advanced, hired] = CANDIDATES;
  await page.goto(`${base}/app/${slug}/review`);
  await inspect(page, fault);
  await screenshot(page, `console-journey-${name}-5-review`);
  await openCandidate(page, slug, rejected);
  await page.locator('summary[id^=reject-]').click();
  await page.locator('form[action$="/reject"] input[type=radio]').first().check();
  await screenshot(page, `console-journey-${name}-6-reject`);
  await act(page, page.locator('form[action$="/reject"] button.no'), fault);
  await page.getByText('Not selected').first().waitFor();
  await openCandidate(page, slug, advanced);
  await act(page, page.locator('form[action$="/advance"] button'), fault);
  await page.locator('form[action$="/undo"]').waitFor();
  await openCandidate(page, slug, hired);
  await act(page, page.locator('a[href*="/hire"]'), fault);
  await screenshot(page, `console-journey-${name}-7-hire`);
  await act(page, page.locator('form[action$="/hire"] button.go'), fault);
  await page.goto(`${base}/app/${slug}/activity`);
  await inspect(page, fault);
  await screenshot(page, `console-journey-${name}-8-activity`);
  const activity = await page.locator('main').innerText();
  for (const one of CANDIDATES) {
    if (!activity.includes(one)) {
      fault(`the activity does not name ${one}: ${activity}`);
    }
  }
}

async function travel(browser, { name, ...size }, hr, fault) {
  const { slug, email } = await organization(name, hr.url);
  const context = await visitor(browser, fault, { ...size, locale: 'en', origins: [base] });
  const page = await context.newPage();
  await signIn(page, email, name, fault);
  const role = await publish(page, slug, name, fault);
  await inParallel(3, CANDIDATES, (one) => candidate(browser, fault, slug, role.split('/').pop(), one));
  await decide(page, slug, name, fault);
  await page.goto(base + role);
  await inspect(page, fault);
  await screenshot(page, `console-journey-${name}-9-board`);
  await context.close();
}

export async function check(browser, company, fault) {
  const hr = await receiver();
  for (const journey of JOURNEYS) {
    const began = Date.now();
    const before = hr.messages.length;
    await travel(browser, journey, hr, (message) => fault(`${journey.name}: ${message}`));
    while (hr.messages.length === before && Date.now() - began < 60000) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const hires = hr.messages.slice(before).filter((message) => JSON.stringify(message).includes(CANDIDATES[2]));
    if (hires.length !== 1) {
      fault(`${journey.name}: the HR system received ${JSON.stringify(hr.messages.slice(before))}`);
    }
    console.log(`  ${journey.name}: ${((Date.now() - began) / 1000).toFixed(1)} s`);
  }
  hr.server.close();
  hr.server.closeAllConnections();
}
