// Two people act on the same application or role, each on a page that was opened before the other acted. For each
// ordered pair of acts, the second act succeeds too or is answered with a conflict. If both acts concern the
// application, the conflict page names the other person. Afterwards, the file must be sound.

import { writeFileSync } from 'node:fs';

import { IS_SHORT } from './browser.mjs';
import { run, serve } from './service.mjs';
import { inspect, signedIn } from './staff.mjs';

const FIRST = { email: 'first@two.example', name: 'Ingrid Aalto' };
const SECOND = { email: 'second@two.example', name: 'Tomasz Wolny' };
const STEPS = ['Applied', 'Screening', 'Interview', 'Offer'];

/// For each act: the state in which the application must be, the page with the form, and how to send the form.
export const ACTS = {
  move: {
    page: 'candidate', needs: 'in progress',
    send: async (page) => {
      await page.locator('summary[id^=move-]').click();
      await page.locator('form[action$="/move"] select').selectOption({ index: 1 });
      await page.locator('form[action$="/move"] button').click();
    },
  },
  reject: {
    page: 'candidate', needs: 'in progress',
    send: async (page) => {
      await page.locator('summary[id^=reject-]').click();
      await page.locator('form[action$="/reject"] input[type=radio]').first().check();
      await page.locator('form[action$="/reject"] button').click();
    },
  },
  hire: { page: 'hire', needs: 'in progress', send: (page) => page.locator('form[action$="/hire"] button.go').click() },
  reopen: {
    page: 'candidate', needs: 'rejected',
    send: async (page) => {
      await page.locator('summary[id^=reopen-]').first().click();
      await page.locator('form[action$="/reopen"] textarea').first().fill('It was a mistake.');
      await page.locator('form[action$="/reopen"] button').first().click();
    },
  },
  withdraw: {
    page: 'candidate', needs: 'in progress',
    send: async (page) => {
      await page.locator('summary[id^=withdraw-]').click();
      await page.locator('form[action$="/withdraw"] button').click();
    },
  },
  edit: {
    page: 'edit',
    send: async (page) => {
      await page.locator('[name=department]').fill(`Department ${Math.floor(performance.now() * 1000)}`);
      await page.locator('form[action$="/edit"] button.go').click();
    },
  },
  reorder: { page: 'steps', send: (page) => page.locator('.pipeline li').first().locator('button[value=down]').click() },
};

const NAMES = Object.keys(ACTS);
// In a short run, each pair of acts happens in only one of its two orders.
const isWanted = (first, second) => !IS_SHORT || first <= second === ((first + second) % 2 === 0);
const PAIRS = NAMES.flatMap((one, first) => NAMES.filter((_, second) => isWanted(first, second)).map((other) => [one, other]));

/// Returns an interchange document in which each pair has a role of its own, with one candidate.
function company() {
  const role = (_, nth) => ({
    id: `role_${nth}`, name: `Role ${nth}`, status: 'open', public: true, positions: 2,
    steps: STEPS.map((name, order) => ({ id: `step_${nth}_${order}`, name })),
    candidates: [{
      id: `cand_${nth}`, applicationId: `app_${nth}`, name: `Candidate ${nth}`, email: `candidate.${nth}@people.example`,
      steps: STEPS.map((_, order) => ({
        id: `cstep_${nth}_${order}`, roleStepId: `step_${nth}_${order}`, status: ['validated', 'in_progress', 'pending', 'pending'][order],
      })),
    }],
  });
  const users = [FIRST, SECOND].map((user, nth) => ({ id: `user_${nth}`, ...user }));
  const members = users.map(({ id }) => ({ userId: id, orgRole: 'moderator' }));
  return { users, organizations: [{ id: 'org_two', slug: 'two', name: 'Two', members, roles: PAIRS.map(role) }] };
}

const pathOf = (page, nth) => ({
  candidate: `/app/two/candidates/cand_${nth}`, hire: `/app/two/applications/app_${nth}/hire`,
  edit: `/app/two/roles/role_${nth}/edit`, steps: `/app/two/roles/role_${nth}/steps`,
}[page]);

/// Sends the form. Returns the status of the answer, before any redirect, and the text of the page afterwards.
async function submit(page, act, fault) {
  const answered = page.waitForResponse((response) => response.request().method() === 'POST');
  await act.send(page);
  const status = (await answered).status();
  await page.waitForLoadState();
  await inspect(page, fault);
  return { status, text: await page.locator('body').innerText() };
}

export async function check(browser, _, fault) {
  writeFileSync('two.json', JSON.stringify(company()));
  const key = await run('bootstrap-admin', '--db', 'two.db', '--email', 'admin@two.example');
  await run('import', '--db', 'two.db', 'two.json');
  const { service, base } = await serve(['--db', 'two.db', '--listen', '127.0.0.1:0', '--rate-limit', '0']);
  const options = { base, db: 'two.db', locale: 'en', hasScript: false };
  const [first, second] = await Promise.all([FIRST, SECOND].map(async ({ email }) => (await signedIn(browser, fault, email, options)).newPage()));
  const decide = async (nth, decision, body) => {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const path = `${base}/api/v1/candidate-steps/cstep_${nth}_1/${decision}`;
    const answer = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!answer.ok) {
      throw new Error(`${decision} of candidate ${nth}: ${await answer.text()}`);
    }
  };
  const states = PAIRS.map(() => 'in progress');
  /// Brings the application into the state that the act needs, and opens the page with the form of the act.
  const open = async (page, nth, act) => {
    if (act.needs && act.needs !== states[nth]) {
      await (act.needs === 'rejected' ? decide(nth, 'reject', {}) : decide(nth, 'reopen', { reason: 'Again.' }));
      states[nth] = act.needs;
    }
    await page.goto(base + pathOf(act.page, nth));
  };
  const counts = { both: 0, one: 0 };
  for (const [nth, [one, other]] of PAIRS.entries()) {
    const name = `${one}, then ${other}`;
    await open(second, nth, ACTS[other]);
    await open(first, nth, ACTS[one]);
    const done = await submit(first, ACTS[one], fault);
    if (done.status !== 303) {
      fault(`${name}: the first act was answered with ${done.status}: ${done.text.slice(0, 300)}`);
    }
    const { status, text } = await submit(second, ACTS[other], fault);
    if (status === 303) {
      counts.both += 1;
    } else if (status === 409) {
      counts.one += 1;
      const isApplication = ![one, other].some((act) => ['edit', 'reorder'].includes(act));
      if (isApplication && !text.includes(FIRST.name)) {
        fault(`${name}: the page does not name ${FIRST.name}: ${text.slice(0, 300)}`);
      }
    } else {
      fault(`${name}: the second act was answered with ${status}: ${text.slice(0, 300)}`);
    }
  }
  console.log(`  ${PAIRS.length} pairs: both acts succeeded for ${counts.both}, only the first for ${counts.one}`);
  service.kill();
  await new Promise((resolve) => service.on('exit', resolve));
  await run('check', '--db', 'two.db');
}
