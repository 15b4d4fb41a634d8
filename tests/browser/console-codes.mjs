// Second factors without a passkey: an authenticator app is set up with the secret that the page shows. Wrong codes,
// used codes, and codes of other times are refused. One step of drift is accepted. After too many wrong codes, the user
// must wait. Each recovery code works once, and used recovery codes are refused.

import { visitor } from './browser.mjs';
import { base } from './company.mjs';
import { organization } from './console-journey.mjs';
import { PASSWORD, inspect, linkOf } from './staff.mjs';
import { totp } from './totp.mjs';

const STEP_MS = 30000;

/// The time that must be left in a step, so that a code reaches the service in the step for which it was computed.
const LEFT_MS_MIN = 10_000;

/// Returns the code of an app whose clock is this many steps ahead.
async function codeOf(key, steps) {
  while (STEP_MS - (Date.now() % STEP_MS) < LEFT_MS_MIN) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return totp(key, Date.now() + steps * STEP_MS);
}

/// Enters a code. Returns the status of the answer.
async function enter(page, form, code) {
  await page.locator('#code').fill(code);
  const answered = page.waitForResponse((response) => response.request().method() === 'POST');
  const [answer] = await Promise.all([answered, page.waitForEvent('load'), page.locator(`form[action="${form}"] button.go`).click()]);
  return answer.status();
}

/// Enters the address and the password in a browser without cookies, and then a code. Returns the status of the answer.
async function signIn(page, email, code) {
  await page.context().clearCookies();
  await page.goto(`${base}/sign-in`);
  await page.locator('#email').fill(email);
  await page.locator('#password').fill(PASSWORD);
  await page.locator('form[action="/sign-in"] button.go').click();
  await page.locator('form[action="/sign-in/code"]').waitFor();
  return enter(page, '/sign-in/code', code);
}

/// Sets up an app. Returns its key, the code that was accepted, and the recovery codes.
async function setUp(page, email, expect) {
  await page.goto(await linkOf(email, { base, db: 'jobs.db' }));
  await page.locator('[name=password]').fill(PASSWORD);
  await page.locator('main form button.go').first().click();
  await page.locator('main a[href^="/app/me/authenticator"]').click();
  const key = await page.locator('code.key').innerText();
  const form = '/app/me/authenticator';
  expect('a wrong code at the setup', await enter(page, form, '000000'), 400);
  for (const steps of [-2, 2]) {
    expect(`a code off by ${steps} steps at the setup`, await enter(page, form, await codeOf(key, steps)), 400);
  }
  expect('the secret after wrong codes', await page.locator('code.key').innerText(), key);
  const first = await codeOf(key, -1);
  expect('the code of the previous step at the setup', await enter(page, form, first), 200);
  return { key, first, recovery: await page.locator('.codes code').allInnerTexts() };
}

export async function check(browser, company, fault) {
  const { email } = await organization('codes');
  const context = await visitor(browser, fault, { locale: 'en', origins: [base] });
  const page = await context.newPage();
  const expect = (what, seen, wanted) => seen === wanted || fault(`${what}: ${seen} instead of ${wanted}`);
  const { key, first, recovery } = await setUp(page, email, expect);

  expect('the code of the setup once more', await signIn(page, email, first), 401);
  for (const steps of [-2, 2]) {
    expect(`a code off by ${steps} steps`, await enter(page, '/sign-in/code', await codeOf(key, steps)), 401);
  }
  const now = await codeOf(key, 0);
  expect('the code of this step', await enter(page, '/sign-in/code', now), 303);
  expect('the same code once more', await signIn(page, email, now), 401);
  expect('the code of the next step', await enter(page, '/sign-in/code', await codeOf(key, 1)), 303);
  expect('the code of an earlier step', await signIn(page, email, now), 401);
  await inspect(page, fault);

  expect('the number of recovery codes', new Set(recovery).size, 10);
  for (const [nth, code] of recovery.entries()) {
    expect(`recovery code ${nth + 1}`, await signIn(page, email, nth % 2 === 0 ? code : code.toUpperCase()), 303);
    // After 50 failures, everybody on a network must wait, so only three used codes are tried again.
    if (nth < 3) {
      expect(`recovery code ${nth + 1} once more`, await signIn(page, email, code), 401);
    }
  }

  let tries = 1;
  for (let status = await signIn(page, email, '000000'); status === 401 && tries < 20; tries += 1) {
    status = await enter(page, '/sign-in/code', '000000');
  }
  expect('wrong codes before the first wait', tries - 1, 5);
  const message = await page.locator('[role=alert]').innerText();
  if (!/wait \d+ s,/.test(message)) {
    fault(`too many wrong codes are answered with: ${message}`);
  }
  await context.close();
  console.log(`  accepted 1 code of the current step, 2 of adjacent steps and ${recovery.length} recovery codes; throttled after ${tries - 1} wrong codes`);
}
