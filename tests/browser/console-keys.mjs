// Keyboard shortcuts of the staff console: `?` lists the expected keys on each kind of page, and each key has the
// listed effect on at least one page. While single-letter keys are switched off, pressing the keys has no effect.

import { readFileSync } from 'node:fs';

import { candidate } from './console-journey.mjs';
import { base, inspect, signedIn } from './staff.mjs';
import { typist } from './typist.mjs';

const STAFF = 'ingrid.aalto@halmwind.example.com';
const ORGANIZATION = '/app/halmwind';
const BOARD = `${ORGANIZATION}/roles/role_controls-engineer`;

/// The keys that the list shows as a symbol or an abbreviation, and the names that Playwright gives them.
const SIGNS = { '↓': 'ArrowDown', '↑': 'ArrowUp', '→': 'ArrowRight', '←': 'ArrowLeft', Esc: 'Escape' };

/// Returns Playwright's names for the keys of an entry in the list of keys, in the order in which to press them.
function presses(key) {
  return key.split(' ').map((one) => SIGNS[one] ?? (one.startsWith('⇧') ? `Shift+${one[1]}` : one.toLowerCase()));
}

// The effects of keys. Each function returns a promise that resolves when the page shows the effect.
const leadsTo = (path) => (page) => page.waitForURL((url) => (path instanceof RegExp ? path.test(url.pathname + url.search) : url.pathname === path));
const opensDialog = (page) => page.locator('dialog[open] form').first().waitFor();
const focuses = (selector) => (page) => page.waitForFunction((one) => document.activeElement.matches(one), selector);
const checks = (selector) => (page) => page.waitForFunction((one) => document.querySelector(one)?.checked, selector);
const says = (page, before) => page.waitForFunction((text) => document.getElementById('say').innerText !== text, before.said);
const shows = (selector) => (page) => page.locator(selector).first().waitFor();
/// The focus moves to another card: down, up, right or left.
const walks = (dx, dy) => (page, before) => page.waitForFunction(([dx, dy, old]) => {
  const { x, y } = document.activeElement.closest('.card')?.getBoundingClientRect() ?? old;
  return Math.sign(Math.round(x - old.x)) === dx && (dx !== 0 || Math.sign(Math.round(y - old.y)) === dy);
}, [dx, dy, before.card]);
const shownAfter = (page, before) => page.waitForFunction((url) => document.getElementById('review').dataset.url !== url, before.shown);

const EVERYWHERE = {
  'G I': leadsTo('/app'),
  'G R': leadsTo(`${ORGANIZATION}/roles`),
  'G C': leadsTo(`${ORGANIZATION}/candidates`),
  'G M': leadsTo(`${ORGANIZATION}/members`),
  'G S': leadsTo('/app/me'),
};

/// Keys for the nine reasons in the rejection form.
const REASONS = Object.fromEntries(Array.from({ length: 9 }, (_, nth) => [
  String(nth + 1), checks(`details[open] .choices label:nth-of-type(${nth + 1}) input`),
]));

/// Keys for the decisions on a candidate.
const DECISIONS = {
  E: says,
  '⇧E': shows('details[open] select[name=step]'),
  R: shows('details[open] input[name=reason]'),
  H: shows('details[open] input[name=dueOn]'),
  '⇧H': leadsTo(/\/hire/),
};

/// A role with so many candidates at each of its first three steps that a card in the middle has cards on all sides.
const CROWDED = `${ORGANIZATION}/roles/role_treasury-analyst`;
const AT_EACH_STEP = 8;

/// Adds candidates to the role through the API.
async function crowd() {
  const key = /^key: (.*)$/m.exec(readFileSync('demo.txt', 'utf8'))[1];
  const call = async (path, body) => {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const answer = await fetch(base + path, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!answer.ok) {
      throw new Error(`${path} was answered with ${answer.status}: ${await answer.text()}`);
    }
    return answer.json();
  };
  for (let nth = 0; nth < 3 * AT_EACH_STEP; nth += 1) {
    const person = { name: `Crowd ${nth}`, email: `crowd.${nth}@people.example`, roleId: CROWDED.split('/').pop() };
    const { data } = await call('/api/v1/organizations/org_halmwind/candidates', person);
    const steps = data.applications.at(-1).steps;
    for (const step of steps.slice(0, nth % 3)) {
      await call(`/api/v1/candidate-steps/${step.id}/validate`, {});
    }
  }
}

/// Moves the focus to a card with cards on all sides.
const onMiddleCard = (page) => page.locator('#board .column:nth-of-type(2) .card > a[id^=n-]').nth(1).focus();

/// Opens the page of the candidate whose card `onMiddleCard` focuses.
const openCandidate = async (page) => {
  await onMiddleCard(page);
  await page.keyboard.press('Enter');
  await page.locator('[data-key=e]').waitFor();
};

/// A candidate with a CV.
const WITH_CV = 'Chiara Dąbrowski';

/// The kinds of pages: how to open each, and its keys besides those in `EVERYWHERE`. `only` has the keys of a page that
/// also has the keys of the board; the test then presses only the keys in `only`. With `isPartly`, `?` may also list
/// the keys of decisions and of the queue, which the test does not press.
const KINDS = [
  { name: 'inbox', path: '/app', keys: {} },
  { name: 'account', path: '/app/me', keys: {} },
  { name: 'members', path: `${ORGANIZATION}/members`, keys: { '/': focuses('[type=search]') } },
  { name: 'security', path: `${ORGANIZATION}/settings/security`, keys: {} },
  { name: 'activity', path: `${ORGANIZATION}/activity`, keys: {} },
  { name: 'roles', path: `${ORGANIZATION}/roles`, keys: { N: leadsTo(`${ORGANIZATION}/roles/new`) } },
  { name: 'role', path: `${BOARD}/edit`, keys: {} },
  { name: 'new role', path: `${ORGANIZATION}/roles/new`, keys: {} },
  { name: 'steps', path: `${BOARD}/steps`, keys: {} },
  { name: 'not selected', path: `${BOARD}/not-selected`, keys: {} },
  { name: 'close-out', path: `${BOARD}/close-out`, keys: {} },
  { name: 'put aside', path: `${ORGANIZATION}/later`, keys: {} },
  { name: 'candidates', path: `${ORGANIZATION}/candidates`, keys: { '/': focuses('#q') } },
  {
    name: 'board', path: CROWDED, prepare: onMiddleCard,
    keys: {
      J: walks(0, 1), K: walks(0, -1), '↓': walks(0, 1), '↑': walks(0, -1), '→': walks(1, 0), '←': walks(-1, 0),
      X: checks('.card:has(a:focus) input'),
      '⇧J': (page) => page.waitForFunction(() => document.querySelectorAll('#board :checked').length === 2 && document.activeElement.closest('.card')),
      '⇧K': (page) => page.waitForFunction(() => document.querySelectorAll('#board :checked').length === 2 && document.activeElement.closest('.card')),
      E: says, '⇧E': opensDialog, R: opensDialog, H: opensDialog, V: leadsTo(/\/review\?.*begun=/),
    },
  },
  {
    name: 'board after a decision', path: CROWDED,
    prepare: async (page) => {
      await onMiddleCard(page);
      await page.keyboard.press('e');
      await page.locator('#say [data-key=z]').waitFor();
    },
    only: { Z: (page) => page.locator('#say [data-key=z]').waitFor({ state: 'detached' }) },
  },
  { name: 'candidate', path: CROWDED, prepare: openCandidate, keys: DECISIONS },
  {
    name: 'days', path: CROWDED,
    prepare: async (page) => {
      await openCandidate(page);
      await page.locator('summary[id^=later-]').click();
      await page.locator('details[open] button[name=days]').first().waitFor();
    },
    keys: { 1: says, 2: says, 3: says }, isPartly: true,
  },
  {
    name: 'review', path: `${ORGANIZATION}/review`,
    prepare: async (page) => {
      await page.locator('.queue a').nth(1).click();
      await page.waitForFunction(() => document.querySelector('.queue li:nth-child(2) [aria-current]'));
    },
    keys: { ...DECISIONS, E: shownAfter, J: shownAfter, K: shownAfter },
  },
  {
    name: 'rejection', path: `${ORGANIZATION}/review`,
    prepare: async (page) => {
      await page.waitForURL(/begun=/);
      await page.locator('summary[id^=reject-]').click();
    },
    keys: REASONS, isPartly: true,
  },
  {
    name: 'later', path: `${ORGANIZATION}/review`,
    prepare: async (page) => {
      await page.waitForURL(/begun=/);
      await page.locator('summary[id^=later-]').click();
    },
    keys: { 1: shownAfter, 2: shownAfter, 3: shownAfter }, isPartly: true,
  },
  {
    name: 'attachment', path: `${ORGANIZATION}/candidates?q=${encodeURIComponent(WITH_CV)}`,
    prepare: async (page) => {
      await page.locator('table a').first().press('Enter');
      await page.locator('a[href*="/documents/"]').first().press('Enter');
      await page.waitForURL(/\/documents\//);
    },
    keys: { Esc: leadsTo(/\/candidates\//) },
  },
];

async function open(page, kind) {
  await page.goto(base + kind.path);
  await kind.prepare?.(page);
}

/// Returns the keys that `?` lists on the current page.
async function listed(page, press, fault) {
  await press('?', () => page.locator('dialog[open] dl.keys').waitFor());
  await inspect(page, fault);
  const keys = await page.locator('dl.keys dt').evaluateAll((terms) => terms.map((term) => [...term.children].map((one) => one.textContent).join(' ')));
  await press('Escape', () => page.locator('dialog').waitFor({ state: 'detached' }));
  return keys;
}

function before(page) {
  return page.evaluate(() => {
    const { x, y } = document.activeElement.getBoundingClientRect();
    const card = document.activeElement.closest('.card')?.getBoundingClientRect();
    return {
      said: document.getElementById('say').innerText,
      card: card ? { x: card.x, y: card.y } : { x, y },
      shown: document.getElementById('review')?.dataset.url,
    };
  });
}

async function everyKey(page, kind, fault) {
  const hand = typist(page, fault);
  const expected = kind.only ? { ...KINDS.find(({ name }) => name === 'board').keys, ...EVERYWHERE, ...kind.only } : { ...EVERYWHERE, ...kind.keys };
  await open(page, kind);
  const keys = await listed(page, hand.press, fault);
  const ignored = kind.isPartly ? Object.keys(DECISIONS).concat('J', 'K') : [];
  keys.filter((key) => !expected[key] && !ignored.includes(key)).forEach((key) => fault(`${kind.name}: ? lists ${key}, which this test does not expect`));
  Object.keys(expected).filter((key) => !keys.includes(key)).forEach((key) => fault(`${kind.name}: ? does not list ${key}`));
  // The keys of the navigation are the same everywhere, so the test presses them on one page only.
  const everywhere = kind.name === 'activity' ? Object.entries(EVERYWHERE) : [];
  for (const [key, effect] of Object.entries(kind.only ?? kind.keys).concat(everywhere)) {
    await open(page, kind);
    const was = await before(page);
    const all = presses(key);
    const happens = () => effect(page, was);
    await (all.length === 1 ? hand.press(all[0], happens) : hand.pressBoth(...all, happens)).catch((error) => fault(`${kind.name}: ${key} does not have the listed effect (${error.message.split('\n')[0]})`));
  }
  return keys;
}

/// Presses all keys while single-letter keys are switched off, and checks that nothing changes.
async function noKey(page, kind, keys, fault) {
  await open(page, kind);
  const state = () => page.evaluate(async () => {
    await new Promise(requestAnimationFrame);
    const focus = document.activeElement;
    return [location.href, document.body.innerHTML, focus.id || focus.tagName, document.querySelectorAll(':checked, [open]').length].join('\n');
  });
  const was = await state();
  const requests = [];
  // Frames with a preview or an attachment can still be loading, and the browser loads the icon after the page.
  const isOfKey = (request) => request.frame() === page.mainFrame() && ['document', 'fetch', 'xhr'].includes(request.resourceType());
  const record = (request) => isOfKey(request) && requests.push(request.url());
  page.on('request', record);
  for (const key of new Set([...keys, '?'])) {
    for (const one of presses(key)) {
      await page.keyboard.press(one);
    }
    if (await state() !== was || requests.length > 0) {
      fault(`${kind.name}: ${key} does something although keys are switched off: ${requests}`);
      break;
    }
  }
  page.off('request', record);
}

/// Switches single-letter keys on or off on the account page, with the keyboard.
async function switchKeys(page, isOn, fault) {
  await page.goto(`${base}/app/me`);
  const { press, tabTo } = typist(page, fault);
  await tabTo(({ id }) => id === 'single-keys');
  if (await page.locator('#single-keys').isChecked() !== isOn) {
    await press('Space');
  }
  await press('Enter', () => page.waitForURL(/done=preferences/));
}

export async function check(browser, company, fault) {
  await crowd();
  await candidate(browser, fault, 'halmwind', CROWDED.split('/').pop(), WITH_CV, base);
  const context = await signedIn(browser, fault, STAFF, { locale: 'en' });
  const page = await context.newPage();
  const lists = new Map();
  for (const kind of KINDS) {
    lists.set(kind, await everyKey(page, kind, fault));
  }
  await switchKeys(page, false, fault);
  for (const kind of KINDS.filter(({ only }) => !only)) {
    await noKey(page, kind, lists.get(kind), fault);
  }
  await switchKeys(page, true, fault);
  await context.close();
  const count = new Set([...lists.values()].flat()).size;
  console.log(`  ${count} keys on ${KINDS.length} kinds of pages`);
}
