// Puts candidates aside with keys, sees one who has come back, closes out a role and reopens an application. Also puts
// candidates aside with plain forms and at the width of a telephone.

import { writeFileSync } from 'node:fs';

import { screenshot } from './browser.mjs';
import { oneRole } from './one-role.mjs';
import { run, serve } from './service.mjs';
import { inspect, signedIn } from './staff.mjs';

const STAFF = 'moderator@later.example';
const STEPS = ['Applied', 'Interview', 'Offer'];
const BOARD = '/app/later/roles/role_later';

/// Returns an interchange document with an organization. One of its candidates has come back.
function company() {
  const document = oneRole({ slug: 'later', staff: STAFF, steps: STEPS, count: 6, portal: { enabled: true } });
  document.organizations[0].roles[0].candidates[0].laterDueOn = '2026-01-05';
  return document;
}

async function shows(page, text, fault) {
  await page.locator('body', { hasText: text }).waitFor().catch(() => fault(`${page.url()} does not show “${text}”`));
}

async function checkMessage(page, text, fault) {
  await page.locator('#say', { hasText: text }).waitFor().catch(() => fault(`no message says “${text}”`));
}

async function hasFocus(page, selector, fault) {
  const name = await page.evaluate(() => document.activeElement.id || document.activeElement.tagName);
  if (!await page.evaluate((one) => document.activeElement.matches(one), selector)) {
    fault(`the focus is on ${name} instead of ${selector}`);
  }
}

/// A candidate who came back is put aside again, on the candidate's page.
async function candidate(page, base, fault) {
  await page.goto(`${base}/app`);
  await shows(page, 'Came back', fault);
  await inspect(page, fault);
  await screenshot(page, 'console-later-inbox');
  await page.locator('a', { hasText: 'Candidate 0' }).click();
  await shows(page, 'back since 5 January 2026', fault);
  await page.keyboard.press('h');
  await page.locator('details[open] input[name=dueOn]').waitFor();
  await screenshot(page, 'console-later-form');
  await page.keyboard.press('Escape');
  await page.locator('details[open]').waitFor({ state: 'detached' });
  await hasFocus(page, 'summary[id^=later-]', fault);
  await page.keyboard.press('h');
  await page.keyboard.press('1');
  await checkMessage(page, 'Candidate 0 is put aside until', fault);
  const mark = page.locator('.tag', { hasText: 'put aside until' });
  await mark.waitFor().catch(() => fault('no mark says “put aside until”'));
  await page.keyboard.press('z');
  await shows(page, 'back since 5 January 2026', fault);
  await page.keyboard.press('h');
  await page.keyboard.press('3');
  await checkMessage(page, 'Candidate 0 is put aside until', fault);
  await page.keyboard.press('Escape');
  await page.locator('#say:empty').waitFor({ state: 'attached' });
  await page.goto(`${base}/app`);
  if (await page.getByText('Came back').count() > 0) {
    fault('the inbox still shows the candidate who was put aside again');
  }
}

/// Several candidates are put aside on the board, and the marks are undone.
async function board(page, base, fault) {
  await page.goto(base + BOARD);
  await page.locator('#n-app_2').focus();
  await page.keyboard.press('x');
  await page.keyboard.press('Shift+J');
  await page.keyboard.press('h');
  await page.locator('dialog[open] input[name=dueOn]').waitFor();
  await screenshot(page, 'console-later-dialog');
  await page.keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
  await page.keyboard.press('h');
  await page.locator('dialog[open] input[name=dueOn]').waitFor();
  await page.keyboard.press('2');
  await checkMessage(page, '2 candidates were put aside.', fault);
  await screenshot(page, 'console-later-board');
  const marks = () => page.locator('#c-app_2 .mark, #c-app_3 .mark').count();
  if (await marks() !== 2) {
    fault('the cards do not show the marks');
  }
  await page.keyboard.press('z');
  await checkMessage(page, 'The decision to put 2 candidates aside was undone.', fault);
  if (await marks() !== 0) {
    fault('the cards still show the marks');
  }
  await page.locator('#say .close').click();
  await page.locator('#say:empty').waitFor({ state: 'attached' });
}

/// The role is closed and then closed out: five of its six candidates are rejected together, these rejections are
/// undone, and then all six candidates are rejected.
async function closeOut(page, base, key, fault) {
  const options = { method: 'POST', headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' } };
  await fetch(`${base}/api/v1/roles/role_later/close`, { ...options, body: JSON.stringify({ reason: 'a hiring freeze' }) });
  await page.goto(base + BOARD);
  await shows(page, '6 candidates are still in progress here.', fault);
  await screenshot(page, 'console-close-out-notice');
  await page.locator('a[href$="/close-out"]').click();
  await inspect(page, fault);
  await screenshot(page, 'console-close-out');
  await page.getByLabel('Candidate 5').uncheck();
  await page.locator('button.no').click();
  await shows(page, '5 candidates were rejected.', fault);
  await page.keyboard.press('z');
  await shows(page, '5 decisions were undone.', fault);
  await page.locator('button.no').click();
  await shows(page, '6 candidates were rejected.', fault);
  await shows(page, 'No application is in progress here anymore.', fault);
  await screenshot(page, 'console-close-out-done');
}

/// An application is reopened from the list of candidates who were not selected.
async function reopen(page, base, fault) {
  await page.goto(base + BOARD);
  await page.locator('a[href$="/not-selected"]').click();
  await inspect(page, fault);
  await screenshot(page, 'console-not-selected');
  const row = page.locator('.rows > li', { hasText: 'Candidate 4' });
  await row.locator('summary').click();
  await row.locator('textarea').fill('a mistake');
  await row.locator('textarea').press('Escape');
  await page.locator('details[open]').waitFor({ state: 'detached' });
  await hasFocus(page, 'summary[id^=reopen-]', fault);
  await page.keyboard.press('Enter');
  await row.locator('details button').click();
  await shows(page, 'Candidate 4 is back at Applied.', fault);
  if (await row.count() > 0) {
    fault('the list still has the candidate whose application was reopened');
  }
}

/// The message after an act covers no control at the width of a telephone, at the top and at the end of the page.
async function telephone(browser, base, fault) {
  const context = await signedIn(browser, fault, STAFF, { base, db: 'later.db', locale: 'de', width: 390, colorScheme: 'dark' });
  const page = await context.newPage();
  await page.goto(base + BOARD);
  await page.locator('#n-app_4').focus();
  await page.keyboard.press('h');
  await page.locator('dialog[open] input[name=dueOn]').waitFor();
  await screenshot(page, 'console-later-dialog-390');
  await page.keyboard.press('1');
  await page.locator('#say form').waitFor();
  await screenshot(page, 'console-later-message-390');
  for (const isAtEnd of [false, true]) {
    const covered = await page.evaluate((end) => {
      scrollTo(0, end ? document.documentElement.scrollHeight : 0);
      const box = document.getElementById('say').getBoundingClientRect();
      const controls = [...document.querySelectorAll('a, button, input, summary')].filter((one) => !one.closest('#say') && one.checkVisibility() && !one.matches('.skip'));
      const isUnder = (one) => [...one.getClientRects()].some((r) => r.width > 0 && r.left < box.right && r.right > box.left && r.top < box.bottom && r.bottom > box.top);
      return end && box.top === 0 ? [] : controls.filter(isUnder).map((one) => one.textContent.trim() || one.outerHTML.slice(0, 80));
    }, isAtEnd);
    covered.forEach((name) => fault(`the message covers ${name}`));
  }
  await context.close();
}

/// A candidate is put aside and the mark is undone, with plain forms.
async function withoutScript(browser, base, fault) {
  const context = await signedIn(browser, fault, STAFF, { base, db: 'later.db', locale: 'en', hasScript: false });
  const page = await context.newPage();
  await page.goto(base + BOARD);
  await page.locator('#c-app_4 input').check();
  await page.locator('button[value=ask-later]').click();
  await page.locator('input[name=dueOn]').fill('2020-01-01');
  await page.locator('.day button').click();
  await page.locator('button[name=days]').first().click();
  await shows(page, 'Candidate 4 is put aside until', fault);
  await page.locator('form[action$="/later/undo"] button').click();
  await shows(page, 'Candidate 4 is no longer put aside.', fault);
  await context.close();
}

export async function check(browser, _, fault) {
  writeFileSync('later.json', JSON.stringify(company()));
  const key = await run('bootstrap-admin', '--db', 'later.db', '--email', 'admin@later.example');
  await run('import', '--db', 'later.db', 'later.json');
  const { service, base } = await serve(['--db', 'later.db', '--listen', '127.0.0.1:0', '--rate-limit', '0']);
  // Each sign-in with a link ends the user's earlier sessions.
  const withPage = async (...acts) => {
    const context = await signedIn(browser, fault, STAFF, { base, db: 'later.db', locale: 'en' });
    const page = await context.newPage();
    for (const act of acts) {
      await act(page);
    }
    await context.close();
  };
  await withPage((page) => candidate(page, base, fault), (page) => board(page, base, fault));
  await telephone(browser, base, fault);
  await withoutScript(browser, base, fault);
  await withPage((page) => closeOut(page, base, key, fault), (page) => reopen(page, base, fault));
  service.kill();
  await new Promise((resolve) => service.on('exit', resolve));
  const findings = await run('check', '--db', 'later.db').catch((error) => error.stdout);
  if (findings) {
    fault(`check: ${findings}`);
  }
}
