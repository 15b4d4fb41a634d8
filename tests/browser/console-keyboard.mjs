// The first day of an organization in the staff console, with nothing but a keyboard: an owner signs in with a link,
// sets up a second factor, creates a role, checks its preview and opens it, rejects one candidate, advances one,
// hires one, and finds the decisions in the activity. After every key, something visible has the focus.

import { visitor } from './browser.mjs';
import { base, call } from './company.mjs';
import { organization } from './console-journey.mjs';
import { PASSWORD, inspect, linkOf } from './staff.mjs';
import { totp } from './totp.mjs';
import { typist } from './typist.mjs';

const CANDIDATES = ['Amélie Byrne', 'Björn Castellanos', 'Chiara Dąbrowski'];

const leadsTo = (page, url) => () => page.waitForURL(url);
const shows = (page, selector, hasText) => () => page.locator(selector, { hasText }).first().waitFor();

async function signIn(page, { press, pressBoth, type, tabTo, stopAfter }, email) {
  await page.goto(await linkOf(email, { base, db: 'jobs.db' }));
  await stopAfter('opening the link');
  await type(PASSWORD);
  await press('Enter', leadsTo(page, /second-factor/));
  await tabTo(({ href }) => href?.startsWith('/app/me/authenticator'));
  await press('Enter', leadsTo(page, /authenticator/));
  const key = await page.locator('code.key').innerText();
  await tabTo(({ name }) => name === 'code');
  await type(totp(key));
  await press('Enter', shows(page, '.codes'));
  await tabTo(({ isGo }) => isGo);
  await press('Enter', leadsTo(page, /\/second-factor/));
  await pressBoth('g', 'i', leadsTo(page, /\/app$/));
}

/// Creates a role with steps, checks its preview, and opens it. Returns its path.
async function publish(page, { press, pressBoth, type, tabTo }) {
  await pressBoth('g', 'r', leadsTo(page, /\/roles$/));
  await press('n', leadsTo(page, /\/roles\/new$/));
  for (const [name, text] of [['name', 'Platform Engineer'], ['location', 'Bremen'], ['description', 'You keep the **lights** on.']]) {
    await tabTo((stop) => stop.name === name);
    await type(text);
  }
  await tabTo(({ isGo }) => isGo);
  await press('Enter', leadsTo(page, /\/roles\/role_/));
  const role = new URL(page.url()).pathname.match(/^\/app\/[^/]+\/roles\/[^/]+/)[0];
  if (!new URL(page.url()).pathname.endsWith('/steps')) {
    await tabTo(({ href }) => href === `${role}/steps`);
    await press('Enter', leadsTo(page, /\/steps/));
  }
  await tabTo(({ action }) => action?.endsWith('/steps/default'));
  await press('Enter', shows(page, '.pipeline li'));
  // In the tab order, this link comes before the steps.
  await tabTo(({ href }) => href === `${role}/edit`, 'Shift+Tab');
  await press('Enter', leadsTo(page, /\/edit/));
  await tabTo(({ name }) => name === 'public');
  await press('Space');
  await tabTo(({ html }) => html.includes('formtarget="preview"'));
  await press('Enter', () => page.frameLocator('iframe[name=preview]').locator('strong', { hasText: 'lights' }).waitFor());
  // In the tab order, the button that opens the role comes before the preview.
  await tabTo(({ value }) => value === 'open', 'Shift+Tab');
  await press('Enter', shows(page, '.notice[role=status]'));
  return role;
}

async function decide(page, { press, pressBoth, tabTo }, role) {
  const [rejected, advanced, hired] = CANDIDATES;
  await pressBoth('g', 'r', leadsTo(page, /\/roles$/));
  await tabTo(({ href }) => href === role);
  await press('Enter', leadsTo(page, new RegExp(`${role}$`)));
  await press('v', leadsTo(page, /\/review\?.*begun=/));
  await shows(page, 'h1', rejected)();
  await press('r');
  await press('1');
  await press('Enter', shows(page, 'h1', advanced));
  await press('e', shows(page, 'h1', hired));
  await press('Shift+H', leadsTo(page, /\/hire/));
  await tabTo(({ isGo }) => isGo);
  await press('Enter', leadsTo(page, (url) => !url.pathname.endsWith('/hire')));
  await pressBoth('g', 'c', leadsTo(page, /\/candidates$/));
  await tabTo(({ href }) => href?.endsWith('/activity'));
  await press('Enter', leadsTo(page, /\/activity$/));
}

export async function check(browser, company, fault) {
  const { id, slug, email } = await organization('keyboard');
  const context = await visitor(browser, fault, { width: 1280, locale: 'en', origins: [base] });
  const page = await context.newPage();
  const hand = typist(page, fault);
  await signIn(page, hand, email);
  const role = await publish(page, hand);
  for (const [nth, name] of CANDIDATES.entries()) {
    await call('POST', `/api/v1/organizations/${id}/candidates`, { name, email: `${nth}@people.example`, roleId: role.split('/').pop() });
  }
  await decide(page, hand, role);
  await inspect(page, fault);
  const activity = await page.locator('main').innerText();
  CANDIDATES.filter((name) => !activity.includes(name)).forEach((name) => fault(`the activity of ${slug} does not name ${name}`));
  await context.close();
}
