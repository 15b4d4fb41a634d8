// Two people work at the same time. One acts, and the open page of the other shows the act without a reload. The focus,
// the selection, the scroll position and typed text are preserved.

import { writeFileSync } from 'node:fs';

import { screenshot } from './browser.mjs';
import { ACTS } from './console-two.mjs';
import { run, serve } from './service.mjs';
import { inspect, signedIn } from './staff.mjs';

const INGRID = { email: 'ingrid@live.example', name: 'Ingrid Aalto' };
const TOMASZ = { email: 'tomasz@live.example', name: 'Tomasz Wolny' };
const STEPS = ['Applied', 'Screening', 'Interview', 'Offer'];
const ROLE = '/app/live/roles/role_live';
const CANDIDATES = 60;
/// A little more than the pause between two requests for changes.
const PAUSE_MS = 5100;

/// Returns an interchange document with a role whose candidates are at its first step.
function company() {
  const candidate = (_, nth) => ({
    id: `cand_${nth}`, applicationId: `app_${nth}`, name: `Candidate ${nth}`, email: `candidate.${nth}@people.example`,
    appliedAt: new Date(Date.UTC(2026, 9, 1, 8, nth)).toISOString(),
    steps: STEPS.map((_, order) => ({ id: `cstep_${nth}_${order}`, roleStepId: `step_${order}`, status: order === 0 ? 'in_progress' : 'pending' })),
  });
  const role = {
    id: 'role_live', name: 'Engineer', status: 'open', public: true, positions: 3,
    steps: STEPS.map((name, order) => ({ id: `step_${order}`, name })),
    candidates: Array.from({ length: CANDIDATES }, candidate),
  };
  const users = [INGRID, TOMASZ].map((user, nth) => ({ id: `user_${nth}`, ...user }));
  const members = users.map(({ id }) => ({ userId: id, orgRole: 'moderator' }));
  const portal = { enabled: true, theme: {} };
  return { users, organizations: [{ id: 'org_live', slug: 'live', name: 'Live', portal, members, roles: [role] }] };
}

/// Lets the page ask for changes, and waits until it shows this message about the acts of others.
async function hear(page, message) {
  await Promise.all([answered(page), page.clock.runFor(PAUSE_MS)]);
  await page.locator('#news').filter({ hasText: message }).waitFor();
  await settle(page);
}

const answered = (page) => page.waitForResponse((response) => response.url().includes('/changes'));
/// The page handles an answer in tasks of its own. When a request that is sent later has been answered, these tasks
/// have run.
const settle = (page) => page.evaluate(() => fetch('/healthz').then((answer) => answer.text()));

/// Opens a page whose clock the test controls. The jump of the clock lets the page ask for changes once. The next
/// request of the page is due after a pause.
async function watch(context, url) {
  const page = await context.newPage();
  await page.clock.install();
  await page.goto(url);
  await Promise.all([answered(page), page.clock.pauseAt(Date.now() + 60_000)]);
  await settle(page);
  return page;
}

const focusOf = (page) => page.evaluate(() => document.activeElement.id);

/// Watches the board while Ingrid, a candidate and callers of the API act.
async function board({ first, second, base, api, fault }) {
  const page = await watch(second, base + ROLE);
  const acts = await first.newPage();
  const act = async (name, path) => {
    await acts.goto(base + path);
    await ACTS[name].send(acts);
    await acts.waitForLoadState();
  };
  const card = (nth) => page.locator(`#c-app_${nth}`);
  const list = page.locator('.column[data-step=step_0] .cards');
  await page.locator('#n-app_30').focus();
  await page.keyboard.press('x');
  await list.evaluate((element) => (element.scrollTop = 600));
  const before = await list.evaluate((element) => element.scrollTop);
  const unchanged = async (what) => {
    if (await focusOf(page) !== 'n-app_30') {
      fault(`${what}: the focus is on ${await focusOf(page)}`);
    }
    if (!await card(30).locator('input').isChecked() || await page.locator('#selected').innerText() === '') {
      fault(`${what}: the selection is lost`);
    }
  };
  const is = async (what, promise) => await promise || fault(`the board does not show ${what}`);

  await act('move', '/app/live/candidates/cand_50');
  await hear(page, `${INGRID.name} moved Candidate 50 to`);
  await is('a move', card(50).evaluate((element) => element.closest('.column').dataset.step !== 'step_0'));
  await unchanged('a move');
  const after = await list.evaluate((element) => element.scrollTop);
  if (after !== before) {
    fault(`a move scrolls the list from ${before} to ${after}`);
  }
  await screenshot(page, 'console-live-board');
  await act('reject', '/app/live/candidates/cand_51');
  await hear(page, `${INGRID.name} rejected Candidate 51`);
  await is('a rejection', card(51).count().then((count) => count === 0));
  await unchanged('a rejection');
  await act('hire', '/app/live/applications/app_52/hire');
  await hear(page, `${INGRID.name} hired Candidate 52`);
  await is('a hire', page.locator('#hired').filter({ hasText: 'Candidate 52' }).isVisible());
  await is('the free positions', page.locator('#seats').filter({ hasText: '2 of 3' }).isVisible());
  await act('reopen', '/app/live/candidates/cand_51');
  await hear(page, `Candidate 51: Reopened at Applied, by ${INGRID.name}`);
  await is('a reopened application', card(51).count().then((count) => count === 1));
  await unchanged('a reopened application');

  const { data: { url } } = await api('POST', '/api/v1/candidate-roles/app_53/status-link');
  await acts.goto(url);
  await acts.locator('details summary, a, button').filter({ hasText: 'Withdraw the application' }).first().click();
  await acts.getByRole('button', { name: 'Withdraw now' }).click();
  await hear(page, 'Candidate 53 withdrew');
  await is('a withdrawal', card(53).count().then((count) => count === 0));
  await api('DELETE', '/api/v1/candidates/cand_54');
  await hear(page, 'The data of a candidate was erased');
  await is('an erasure', card(54).count().then((count) => count === 0));
  await api('PATCH', '/api/v1/candidates/cand_55', { name: 'Amélie Byrne' });
  await hear(page, 'Amélie Byrne');
  await is('a new name', card(55).filter({ hasText: 'Amélie Byrne' }).isVisible());
  await act('edit', `${ROLE}/edit`);
  await hear(page, `${INGRID.name} changed this role (`);
  await is('a change of the role', page.locator('#changed').filter({ hasText: INGRID.name }).isVisible());
  await act('reorder', `${ROLE}/steps`);
  await hear(page, `${INGRID.name} changed the steps of this role (`);
  await unchanged('a change of the steps');

  // When the card with the focus leaves the board, its neighbour gets the focus.
  await page.keyboard.press('x');
  await act('reject', '/app/live/candidates/cand_30');
  await hear(page, `${INGRID.name} rejected Candidate 30`);
  if (await focusOf(page) !== 'n-app_31') {
    fault(`after the card with the focus has left, the focus is on ${await focusOf(page)}`);
  }
  await inspect(page, fault);

  // An act on a card that somebody else has just moved is refused with a message on the board.
  await act('move', '/app/live/candidates/cand_31');
  await page.keyboard.press('e');
  await page.locator('#say').filter({ hasText: INGRID.name }).waitFor();
  await is('the card of a refused act in its new place', card(31).evaluate((element) => element.closest('.column').dataset.step !== 'step_0'));
  await page.close();
  await acts.close();
}

/// Watches a candidate's page while somebody fills in a form on it, and while nobody does.
async function candidate({ first, second, base, fault }) {
  const page = await watch(second, `${base}/app/live/candidates/cand_1`);
  const acts = await first.newPage();
  await acts.goto(`${base}/app/live/candidates/cand_1`);
  await ACTS.move.send(acts);
  await hear(page, `${INGRID.name} moved Candidate 1 to`);
  if (!await page.locator('.log').filter({ hasText: INGRID.name }).isVisible()) {
    fault('the activity does not name Ingrid');
  }
  await page.locator('summary[id^=reject-]').click();
  await page.locator('textarea[name=notes]').fill('My own words');
  await acts.goto(`${base}/app/live/candidates/cand_1`);
  await ACTS.move.send(acts);
  await hear(page, `${INGRID.name} moved Candidate 1 to`);
  await page.locator('.held').filter({ hasText: 'Your form below is unchanged' }).waitFor();
  await screenshot(page, 'console-live-candidate');
  await inspect(page, fault);
  if (await page.locator('textarea[name=notes]').inputValue() !== 'My own words') {
    fault('the note is lost');
  }
  await page.locator('form[action$="/reject"] input[type=radio]').first().check();
  await page.locator('form[action$="/reject"] button').click();
  await page.locator('dialog').filter({ hasText: INGRID.name }).waitFor();
  await page.close();
  await acts.close();
}

/// Watches a queue: a decided entry is marked, and the queue and the shown candidate stay the same.
async function review({ first, second, base, fault }) {
  const page = await watch(second, `${base}/app/live/review?role=role_live&step=step_0`);
  const [heading, count] = [await page.locator('h1').innerText(), await page.locator('.queue li').count()];
  const acts = await first.newPage();
  await acts.goto(`${base}/app/live/candidates/cand_20`);
  await ACTS.reject.send(acts);
  await hear(page, `${INGRID.name} rejected Candidate 20`);
  await page.locator('#q-app_20 a.done').filter({ hasText: `rejected by ${INGRID.name}` }).waitFor();
  if (await page.locator('.queue li').count() !== count || await page.locator('h1').innerText() !== heading) {
    fault('the queue has lost entries, or shows somebody else');
  }
  await acts.goto(`${base}/app/live/candidates/${heading.replace('Candidate ', 'cand_')}`);
  await ACTS.move.send(acts);
  await hear(page, `${INGRID.name} moved ${heading} to`);
  await page.locator('#meanwhile').filter({ hasText: 'Somebody was faster' }).waitFor();
  await screenshot(page, 'console-live-review');
  await page.keyboard.press('e');
  await page.locator('dialog').filter({ hasText: INGRID.name }).waitFor();
  await page.close();
  await acts.close();
}

/// Watches the forms of a role: typed text stays, and an attempt to save it shows both versions.
async function forms({ first, second, base, fault }) {
  const acts = await first.newPage();
  const steps = await watch(second, `${base}${ROLE}/steps`);
  await steps.locator('form[action$="/steps"] [name=name]').fill('Trial day');
  const edit = await watch(second, `${base}${ROLE}/edit`);
  await edit.locator('[name=department]').fill('My department');
  await edit.locator('[name=department]').focus();
  await acts.goto(`${base}${ROLE}/edit`);
  await ACTS.edit.send(acts);
  await hear(edit, `${INGRID.name} changed this role (`);
  await edit.locator('#changed').filter({ hasText: 'Load the page again' }).waitFor();
  await screenshot(edit, 'console-live-role');
  if (await edit.locator('[name=department]').inputValue() !== 'My department' || !await edit.locator('[name=department]').evaluate((field) => field === document.activeElement)) {
    fault('the form of the role has lost typed text or the focus');
  }
  await hear(steps, `${INGRID.name} changed this role (`);
  await acts.goto(`${base}${ROLE}/steps`);
  await ACTS.reorder.send(acts);
  await hear(steps, `${INGRID.name} changed the steps of this role (`);
  if (await steps.locator('form[action$="/steps"] [name=name]').inputValue() !== 'Trial day') {
    fault('the form of a step has lost typed text');
  }
  await edit.locator('form[action$="/edit"] button.go').click();
  await edit.locator('table.versions').waitFor();
  const versions = await edit.locator('table.versions').innerText();
  if (!versions.includes('My department') || !/Department \d/.test(versions)) {
    fault(`the page does not show both versions: ${versions}`);
  }
  await inspect(edit, fault);
  await Promise.all([steps, edit, acts].map((page) => page.close()));
}

/// Checks that a page does not ask for changes while it is hidden, and that it asks less and less often after errors,
/// even if more changes are ready (`hasMore`).
async function pauses({ second, base, fault }, hasMore = false) {
  const page = await watch(second, base + ROLE);
  const questions = [];
  page.on('request', (request) => request.url().includes('/changes') && questions.push(request.url()));
  const asks = async (what, count, ms) => {
    await page.clock.runFor(ms);
    if (questions.length !== count) {
      fault(`${what}: the page has asked ${questions.length} times instead of ${count}`);
    }
  };
  const setHidden = (isHidden) => page.evaluate((value) => {
    Object.defineProperty(document, 'hidden', { value, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, isHidden);
  await setHidden(true);
  await asks('a hidden page', 0, 60_000);
  await Promise.all([answered(page), setHidden(false)]);
  await settle(page);
  await asks('a page that is shown again', 1, 0);
  await page.route('**/changes*', (route) => route.fulfill({ status: 503 }));
  if (hasMore) {
    await page.evaluate(() => { document.getElementById('live').dataset.more = ''; });
  }
  let count = 1;
  for (const seconds of [5, 10, 20, 40, 60, 60]) {
    await asks(`less than ${seconds} s after an error`, count, seconds * 1000 - 500);
    count += 1;
    await Promise.all([answered(page), page.clock.runFor(600)]);
    await settle(page);
    await asks(`${seconds} s after an error`, count, 0);
  }
  await page.unroute('**/changes*');
  await page.close();
}

const pausesWithMore = (visit) => pauses(visit, true);

/// Checks that a page reports the end of its session, and that it does not ask for changes again.
async function signedOut({ second, base, fault }) {
  const page = await watch(second, base + ROLE);
  const questions = [];
  page.on('request', (request) => request.url().includes('/changes') && questions.push(request.url()));
  const other = await second.newPage();
  await other.goto(`${base}/app/me`);
  await other.locator('form[action="/app/sign-out"] button').click();
  await other.waitForURL(/sign-in/);
  await hear(page, 'You have been signed out');
  await page.clock.runFor(20 * PAUSE_MS);
  if (questions.length !== 1) {
    fault(`the page asks ${questions.length} times after its session has ended`);
  }
  await page.close();
  await other.close();
}

export async function check(browser, _, fault) {
  writeFileSync('live.json', JSON.stringify(company()));
  const key = await run('bootstrap-admin', '--db', 'live.db', '--email', 'admin@live.example');
  await run('import', '--db', 'live.db', 'live.json');
  const { service, base } = await serve(['--db', 'live.db', '--listen', '127.0.0.1:0', '--rate-limit', '0']);
  const api = async (method, path, body) => {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const answer = await fetch(base + path, { method, headers, body: body && JSON.stringify(body) });
    if (!answer.ok) {
      throw new Error(`${method} ${path}: ${await answer.text()}`);
    }
    return answer.json();
  };
  // Chromium logs each answer with an error status. Conflicts, overload and the end of the session are expected here.
  const report = (text) => /the server responded with a status of (401|409|503)/.test(text) || fault(text);
  const options = { base, db: 'live.db', locale: 'en' };
  const first = await signedIn(browser, report, INGRID.email, { ...options, hasScript: false });
  const second = await signedIn(browser, report, TOMASZ.email, options);
  for (const part of [board, candidate, review, forms, pausesWithMore, pauses, signedOut]) {
    await part({ first, second, base, api, fault });
  }
  await first.close();
  await second.close();
  service.kill();
  await new Promise((resolve) => service.on('exit', resolve));
  await run('check', '--db', 'live.db');
}
