// Checks the pages and dialogs of the staff console that answer a refused request: forms with wrong values, conflicts
// with changes by others, confirmations, and error pages. Each must follow the accessibility rules in each language,
// light and dark, and must not scroll sideways in a window of 320 px. A short run checks them in English and German,
// and dark mode in English only.

import { LANGUAGES, hasEveryLook, inParallel, screenshot, visitor } from './browser.mjs';
import { base, call } from './company.mjs';
import { organization } from './console-journey.mjs';
import { rulesFor, violations } from './accessible.mjs';
import { serve } from './service.mjs';
import { PASSWORD, inspect, linkOf } from './staff.mjs';
import { totp } from './totp.mjs';

const LONG = 'x'.repeat(5000);

/// Sends a form with these values, without the browser's validation. With `inPlace`, the scripts of the console send
/// the form and show the answer in a dialog; otherwise, the browser sends the form as it would without JavaScript.
/// Throws an error unless the answer has this status or one of these statuses. Returns the status.
async function send(page, form, values, status, { button, inPlace = false, action } = {}) {
  const answered = page.waitForResponse((response) => response.request().method() === 'POST' && !response.url().includes('-options'));
  const shown = inPlace ? page.locator('dialog[open]').waitFor() : page.waitForEvent('load');
  await page.locator(form).first().evaluate((element, { values, button, inPlace, action }) => {
    element.noValidate = true;
    element.toggleAttribute('data-swap', inPlace);
    if (action) {
      element.setAttribute('action', action);
    }
    for (const [name, value] of Object.entries(values)) {
      const field = element.elements[name];
      if (field.type === 'date' || field.type === 'number') {
        field.type = 'text';
      }
      field.value = value;
    }
    element.requestSubmit(button ? element.querySelector(button) : undefined);
  }, { values, button, inPlace, action });
  const [answer] = await Promise.all([answered, shown]);
  if (![status].flat().includes(answer.status())) {
    throw new Error(`${answer.url()} was answered with ${answer.status()}, not ${status}: ${await page.locator('body').innerText()}`);
  }
  return answer.status();
}

/// Creates the organization for one language, with a role and candidates.
async function prepare(lang) {
  const { id, slug, email } = await organization(`refusals-${lang}`);
  const role = await call('POST', `/api/v1/organizations/${id}/roles`, { name: 'Engineer', positions: 1 });
  for (const name of ['Application', 'Interview']) {
    await call('POST', `/api/v1/roles/${role.id}/steps`, { name });
  }
  await call('POST', `/api/v1/roles/${role.id}/open`);
  const people = [];
  for (const name of ['Amélie Byrne', 'Björn Castellanos', 'Chiara Dąbrowski']) {
    const person = { name, email: `${people.length}@people.example`, roleId: role.id };
    const { id: candidate, applications } = await call('POST', `/api/v1/organizations/${id}/candidates`, person);
    people.push({ name, path: `/app/${slug}/candidates/${candidate}`, application: applications[0].id, step: applications[0].steps[0].id });
  }
  return { id, slug, email, role: role.id, people };
}

/// Checks the pages of a sign-in and of the setup of a second factor. Returns the signed-in page, its context and the
/// recovery codes.
async function signingIn(browser, fault, lang, { email }, look) {
  // Chromium logs a line for each refused request of a script.
  const unlessRefused = (what) => /Failed to load resource: .* 40[349] /.test(what) || fault(what);
  const context = await visitor(browser, unlessRefused, { locale: lang, origins: [base] });
  const page = await context.newPage();
  const wrong = (email) => ({ email, password: 'a wrong password' });
  const form = 'form[action="/sign-in"]';
  await page.goto(`${base}/sign-in`);
  await send(page, form, wrong(`nobody.${lang}@people.example`), 401);
  await look(page, 'sign-in-refused');
  // The waiting time grows with each failure. All languages try the same account, because all parts together may cause
  // only 50 failures before the service makes everybody on this network wait.
  while (await send(page, form, wrong('nobody@people.example'), [401, 429]) !== 429);
  await look(page, 'sign-in-throttled');
  await page.goto(await linkOf(email, { base, db: 'jobs.db' }));
  await look(page, 'join');
  await send(page, 'main form', { password: email }, 400);
  await look(page, 'join-refused');
  await send(page, 'main form', { password: PASSWORD }, 303);
  await look(page, 'factor-missing');
  await page.goto(`${base}/app/me/authenticator`);
  const set = 'form[action="/app/me/authenticator"]';
  await send(page, set, { code: '000000' }, 400);
  await look(page, 'authenticator-refused');
  await send(page, set, { code: totp(await page.locator('code.key').innerText()) }, 200);
  await look(page, 'recovery-codes');
  const codes = await page.locator('.codes code').allInnerTexts();
  return { context, page, codes };
}

/// Sends a form after the session has ended, signs in, and arrives at the page that offers to send the form again.
async function carried(page, { email }, code, look) {
  await page.goto(`${base}/app/me`);
  await page.context().clearCookies();
  await send(page, 'form[action="/app/me/preferences"]', {}, 401);
  await look(page, 'carried');
  await send(page, 'form[action="/sign-in"]', { email, password: PASSWORD }, 200);
  await look(page, 'code');
  await send(page, 'form[action="/sign-in/code"]', { code: '000000' }, 401);
  await look(page, 'code-refused');
  await send(page, 'form[action="/sign-in/code"]', { code }, 200);
  await look(page, 'resume');
}

async function account(page, own, look) {
  await page.goto(`${base}/app/me`);
  await send(page, 'form[action="/app/me/password"]', { current: 'a wrong password', new: 'nine lanterns at dusk' }, 400);
  await look(page, 'password-wrong');
  await send(page, 'form[action="/app/me/password"]', { current: PASSWORD, new: 'password1234' }, 400);
  await look(page, 'password-refused');
  await page.goto(`${base}/app/me`);
  const to = `/app/confirm?to=${encodeURIComponent('/app/me/recovery-codes')}`;
  await send(page, 'form[action="/app/sign-out"]', {}, 403, { action: to });
  await look(page, 'confirm');
  await page.goto(`${base}/app/me`);
  await send(page, 'form[action="/app/me/preferences"]', {}, 403, { action: to, inPlace: true });
  await look(page, 'confirm-in-place');
}

async function roles(page, { slug, role }, look) {
  const path = `${base}/app/${slug}/roles`;
  await page.goto(`${path}/new`);
  await send(page, 'main form', { name: '', location: LONG, salaryMin: '-5', description: 'typed' }, 400);
  await look(page, 'role-refused');
  await page.goto(`${path}/${role}/edit`);
  await call('PATCH', `/api/v1/roles/${role}`, { name: 'Engineer (changed)', location: 'Bremen' });
  await send(page, 'form[action$="/edit"]', { name: 'Engineer (mine)', location: 'Oslo' }, 409);
  await look(page, 'role-conflict');
  await page.goto(`${path}/${role}/edit`);
  await send(page, 'form[action$="/close"]', { reason: '' }, 400);
  await look(page, 'close-refused');
  await page.goto(`${path}/${role}/steps`);
  await send(page, 'form[action$="/steps"]', { name: '' }, 400);
  await look(page, 'step-refused');
  await send(page, '.pipeline form.stack', { name: LONG }, 400);
  await look(page, 'step-name-refused');
  await page.goto(`${path}/${role}/steps`);
  await send(page, '.pipeline form.stack', { nameBefore: 'Other', name: 'Third' }, 409);
  await look(page, 'step-conflict');
}

async function people(page, { slug, role, people: [first, second, third] }, look) {
  await page.goto(base + first.path);
  await send(page, 'form[action$="/reject"]', { notes: LONG.repeat(5) }, 400);
  await look(page, 'reject-refused');
  await page.goto(base + first.path);
  await send(page, 'form[action$="/advance"]', {}, 404, { action: `/app/${slug}/applications/app_none/advance`, inPlace: true });
  await look(page, 'absent-in-place');
  await page.goto(base + first.path);
  const why = { outcomeType: 'rejected_by_organization', outcomeReason: 'other', outcomeNotes: 'Elsewhere' };
  await call('POST', `/api/v1/candidate-steps/${first.step}/reject`, why);
  await send(page, 'form[action$="/advance"]', {}, 409, { inPlace: true });
  await look(page, 'decision-conflict-in-place');
  await page.keyboard.press('Escape');
  await send(page, 'form[action$="/advance"]', {}, 409);
  await look(page, 'decision-conflict');
  await page.goto(base + first.path);
  await send(page, 'form[action$="/reopen"]', { reason: '' }, 400);
  await look(page, 'reopen-refused');
  await page.goto(base + second.path);
  await send(page, 'form[action$="/later"]', {}, 400);
  await look(page, 'later-refused');
  // Send the forms of the board as the browser would without JavaScript.
  await page.goto(`${base}/app/${slug}/roles/${role}`);
  await page.locator(`#c-${second.application} input`).check();
  await send(page, '#decide', {}, 200, { button: '[value=ask-reject]' });
  await look(page, 'board-ask');
  await page.goto(`${base}/app/${slug}/roles/${role}`);
  await page.locator(`#c-${second.application} input`).check();
  await call('POST', `/api/v1/candidate-steps/${second.step}/validate`, {});
  await send(page, '#decide', {}, 409, { button: '[value=advance]' });
  await look(page, 'board-conflict');
  const hire = `${base}/app/${slug}/applications/${third.application}/hire`;
  await page.goto(hire);
  await send(page, 'form[action$="/hire"]', { hiredDate: '2999-12-31', notes: LONG.repeat(5) }, 400);
  await look(page, 'hire-refused');
  await page.goto(hire);
  await call('POST', `/api/v1/candidate-steps/${third.step}/hire`, {});
  await send(page, 'form[action$="/hire"]', {}, 409);
  await look(page, 'hire-conflict');
  // The hire has filled the role.
  await page.goto(`${base}/app/${slug}/roles/${role}/close-out`);
  await look(page, 'close-out');
  await page.locator('fieldset.picked input').evaluateAll((boxes) => boxes.forEach((box) => { box.checked = false; }));
  await send(page, 'main form[action$="/close-out"]', {}, 400);
  await look(page, 'close-out-refused');
  await page.goto(`${base}/app/${slug}/candidates?q=${'x'.repeat(300)}`);
  await look(page, 'search-refused');
}

async function members(page, { slug, email }, look) {
  await page.goto(`${base}/app/${slug}/members`);
  const invite = `form[method=post][action="/app/${slug}/members"]`;
  await send(page, invite, { name: '', email: 'nobody', orgRole: 'member' }, 400);
  await look(page, 'invitation-refused');
  await send(page, invite, { name: 'Ingrid', email, orgRole: 'member' }, 409);
  await look(page, 'invitation-conflict');
  await send(page, invite, { name: 'Pia Lund', email: `pia@${slug}.example`, orgRole: 'moderator' }, 200);
  await look(page, 'invitation-link');
  await page.goto(`${base}/app/${slug}/members`);
  await send(page, 'form[action$="/role"]:has(fieldset:enabled)', { before: 'member', orgRole: 'hr_representative' }, 409);
  await look(page, 'member-conflict');
}

async function absent(page, { slug }, look) {
  for (const [name, path] of [['absent', '/app/none/roles'], ['absent-candidate', `/app/${slug}/candidates/cand_none`]]) {
    await page.goto(base + path);
    await look(page, name);
  }
  await page.goto(`${base}/app/${slug}/candidates`);
  await page.keyboard.press('?');
  await page.locator('dialog[open] dl.keys').waitFor();
  await look(page, 'keys');
}

/// Checks the current page or dialog.
async function checkOne(page, name, lang, fault) {
  const at = `${name} in ${lang}`;
  await inspect(page, (what) => ['absent', 'limited'].includes(name) || fault(what));
  const has = await page.locator('html').getAttribute('lang');
  if (has !== lang) {
    fault(`${at} is in ${has}`);
  }
  await page.evaluate(() => document.querySelectorAll('details').forEach((element) => element.setAttribute('open', '')));
  for (const colorScheme of hasEveryLook(lang) ? ['light', 'dark'] : ['light']) {
    await page.emulateMedia({ colorScheme });
    (await violations(page, rulesFor(lang, colorScheme))).forEach((violation) => fault(`${at}, ${colorScheme}: ${violation}`));
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 320, height: 700 });
  const over = await page.evaluate(() => {
    const { clientWidth, scrollWidth } = document.documentElement;
    const wide = [...document.querySelectorAll('body *')].filter((element) => element.checkVisibility() && !element.closest('.hidden, .skip')
      && (element.getBoundingClientRect().right > clientWidth + 1 || element.matches('dialog') && element.scrollWidth > element.clientWidth));
    return scrollWidth > clientWidth || wide.some((element) => element.matches('dialog, dialog *'))
      ? wide.slice(0, 3).map((element) => element.outerHTML.slice(0, 120)).concat(String(scrollWidth)) : [];
  });
  if (over.length > 0) {
    fault(`${at} is wider than 320 px: ${over.join(' | ')}`);
  }
  if (lang === 'de') {
    await screenshot(page, `console-refused-${name}-320`);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
  if (lang === 'en') {
    await screenshot(page, `console-refused-${name}`);
  }
}

/// Checks the page for a user who has sent more requests than the service accepts in a minute.
async function limited(browser, fault) {
  const args = ['--demo', '--db', 'limited.db', '--listen', '127.0.0.1:0', '--rate-limit', '20'];
  const { service, printed } = await serve(args);
  const link = await printed('console: ');
  const { origin } = new URL(link);
  const context = await visitor(browser, fault, { locale: 'en', origins: [origin] });
  const page = await context.newPage();
  await page.goto(link);
  await page.locator('main form button').first().click();
  await page.waitForURL(`${origin}/app`);
  for (const lang of LANGUAGES) {
    while ((await page.goto(`${origin}/app?lang=${lang}`)).status() !== 429);
    await checkOne(page, 'limited', lang, fault);
  }
  await context.close();
  service.kill();
}

export async function check(browser, company, fault) {
  const counts = [];
  await limited(browser, fault);
  await inParallel(2, LANGUAGES, async (lang) => {
    let count = 0;
    const look = async (page, name) => {
      count += 1;
      await checkOne(page, name, lang, fault);
    };
    const own = await prepare(lang);
    const { context, page, codes } = await signingIn(browser, fault, lang, own, look);
    for (const part of [absent, roles, people, members, account]) {
      await part(page, own, look).catch((error) => fault(`${lang}: ${error.stack}`));
    }
    await carried(page, own, codes[0], look);
    counts.push(count);
    await context.close();
  });
  console.log(`  ${counts.join(', ')} refusals in ${LANGUAGES.join(', ')}`);
}
