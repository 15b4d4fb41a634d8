// Checks that candidates see nothing of decisions that are undone: an advance, a rejection, and a decision batch that
// rejects 200 candidates. The status page and the download must be the same before each decision, after it, and after
// its undo.

import { writeFileSync } from 'node:fs';

import { oneRole } from './one-role.mjs';
import { run, serve } from './service.mjs';
import { signedIn } from './staff.mjs';

const CANDIDATES = 210;
const CHOSEN = 200;
/// The candidates whose pages are compared.
const WATCHED = [0, 1, 2, 3, 4];
const STAFF = 'moderator@undo.example';
const STEPS = ['Applied', 'Screening', 'Offer'];

/// Creates a link to the status page of an application. Returns its path.
async function statusLink(base, key, nth) {
  const options = { method: 'POST', headers: { Authorization: `Bearer ${key}` } };
  const answer = await fetch(`${base}/api/v1/candidate-roles/app_${nth}/status-link`, options);
  return new URL((await answer.json()).data.url).pathname;
}

/// Returns the status pages and the downloads of the watched candidates.
async function seen(base, paths) {
  const texts = [];
  for (const path of paths) {
    for (const url of [path, `${path}/data`]) {
      const answer = await fetch(base + url, { headers: { 'Accept-Language': 'en' } });
      // The download contains the time at which it was made.
      const text = (await answer.text()).replace(/"exportedAt":"[^"]*"/, '"exportedAt":""');
      texts.push(`${answer.status} ${text}`);
    }
  }
  return texts.join('\n');
}

/// Chooses this many cards, in the order of their candidates. Returns how many are chosen.
function choose(page, count) {
  return page.evaluate((count) => {
    const boxes = [...document.querySelectorAll('#board .card input')].sort((one, other) => one.value.localeCompare(other.value, 'en', { numeric: true }));
    boxes.slice(0, count).forEach((box) => { box.checked = true; });
    return document.querySelectorAll('#board .card input:checked').length;
  }, count);
}

async function message(page, act) {
  const before = await page.locator('#say').innerText();
  await act();
  await page.waitForFunction((text) => !['', text].includes(document.getElementById('say').innerText), before);
  return page.locator('#say').innerText();
}

export async function check(browser, _, fault) {
  writeFileSync('undo.json', JSON.stringify(oneRole({ slug: 'undo', staff: STAFF, steps: STEPS, count: CANDIDATES, portal: { enabled: true } })));
  const key = await run('bootstrap-admin', '--db', 'undo.db', '--email', 'admin@undo.example');
  await run('import', '--db', 'undo.db', 'undo.json');
  const { service, base } = await serve(['--db', 'undo.db', '--listen', '127.0.0.1:0', '--rate-limit', '0']);
  const paths = [];
  for (const nth of WATCHED) {
    paths.push(await statusLink(base, key, nth));
  }
  const context = await signedIn(browser, fault, STAFF, { base, db: 'undo.db', locale: 'en' });
  const page = await context.newPage();
  const before = await seen(base, paths);
  const compare = async (when) => {
    if (await seen(base, paths) !== before) {
      const [was, is] = [before.split('\n'), (await seen(base, paths)).split('\n')];
      const nth = was.findIndex((line, nth) => line !== is[nth]);
      fault(`candidates see a difference ${when}: ${is[nth]} instead of ${was[nth]}`);
    }
  };
  const reject = async () => {
    await page.keyboard.press('r');
    await page.locator('dialog[open]').waitFor();
    await page.keyboard.press('1');
    await page.keyboard.press('Enter');
  };
  for (const [name, count, act] of [
    ['an advance', 1, () => page.keyboard.press('e')],
    ['a rejection', 1, reject],
    [`a rejection of ${CHOSEN}`, CHOSEN, reject],
  ]) {
    await page.goto(`${base}/app/undo/roles/role_undo`);
    await page.locator('#board .card a[id]').first().focus();
    const chosen = await choose(page, count);
    if (chosen !== count) {
      fault(`${chosen} cards are chosen for ${name}`);
    }
    const began = Date.now();
    await message(page, act);
    const decided = Date.now();
    await compare(`after ${name}`);
    const back = Date.now();
    await message(page, () => page.keyboard.press('z'));
    console.log(`  ${name}: ${decided - began} ms, undone in ${Date.now() - back} ms`);
    await compare(`after the undo of ${name}`);
  }
  await context.close();
  service.kill();
  await new Promise((resolve) => service.on('exit', resolve));
  await run('check', '--db', 'undo.db');
}
